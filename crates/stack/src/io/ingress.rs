//! A program in the kernel that drops NDP's packets before the kernel's own IP sees them.
//!
//! Packet sockets have their copy by then. Otherwise the kernel would route, sum and discard every packet again, in the
//! sender's time. The program is attached through a descriptor of this process (a TCX link, Linux 6.6), so the kernel
//! detaches it when the process ends in any way.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

/// Values from linux/bpf.h.
const PROG_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const SCHED_CLS: u32 = 3;
const TCX_INGRESS: u32 = 46;
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// An instruction (linux/bpf.h, struct bpf_insn).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// The source register above the destination register.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn step(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers, offset, immediate }
}

/// The packets to hide from the kernel: packets to these addresses and this port, and headers that came back to them,
/// with the port as their source and a DSCP of their own.
#[derive(Clone, Debug)]
pub(crate) struct Own<'a> {
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) port: u16,
    pub(crate) returned_dscp: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    V4,
    V6,
    Ports,
    Leave,
    Drop,
    /// Behind the address with this index.
    Address(usize),
}

#[derive(Debug, Default)]
struct Program {
    steps: Vec<Instruction>,
    jumps: Vec<(usize, Label)>,
    places: Vec<(Label, usize)>,
}

impl Program {
    fn step(&mut self, code: u8, registers: u8, immediate: i32) {
        self.steps.push(step(code, registers, 0, immediate));
    }

    fn jump(&mut self, code: u8, registers: u8, immediate: i32, to: Label) {
        self.jumps.push((self.steps.len(), to));
        self.step(code, registers, immediate);
    }

    fn here(&mut self, label: Label) {
        self.places.push((label, self.steps.len()));
    }

    /// Returns the instructions, with jumps as the number of skipped instructions.
    fn finish(mut self) -> io::Result<Vec<Instruction>> {
        for (from, to) in self.jumps {
            let place = self.places.iter().find(|&&(label, _)| label == to).map(|&(_, at)| at);
            let distance = place.and_then(|at| i16::try_from(at - from - 1).ok());
            self.steps[from].offset = distance.ok_or(io::ErrorKind::InvalidInput)?;
        }
        Ok(self.steps)
    }
}

/// Instruction codes, from linux/bpf.h and linux/filter.h.
mod code {
    pub(super) const MOVE: u8 = 0xbf;
    pub(super) const MOVE_NUMBER: u8 = 0xb7;
    pub(super) const AND: u8 = 0x57;
    pub(super) const SHIFT_LEFT: u8 = 0x67;
    pub(super) const SHIFT_RIGHT: u8 = 0x77;
    pub(super) const LOAD_WORD: u8 = 0x20;
    pub(super) const LOAD_HALF: u8 = 0x28;
    pub(super) const LOAD_BYTE: u8 = 0x30;
    pub(super) const HALF_AT_INDEX: u8 = 0x48;
    pub(super) const IF_EQUAL: u8 = 0x15;
    pub(super) const IF_NOT_EQUAL: u8 = 0x55;
    // These compare the lower 32 bits, so a word is not sign-extended.
    pub(super) const IF_WORD_EQUAL: u8 = 0x16;
    pub(super) const IF_WORD_NOT_EQUAL: u8 = 0x56;
    pub(super) const GO: u8 = 0x05;
    pub(super) const EXIT: u8 = 0x95;
}

/// Returns a program that drops the packets of [`Own`] and passes on all else: other addresses and ports, fragments,
/// and short packets.
fn program(own: &Own<'_>) -> io::Result<Vec<Instruction>> {
    let mut p = Program::default();
    // Loads read the packet of register 6 into register 0; register 7 is the length of the IP header, 8 the DSCP.
    p.step(code::MOVE, 0x16, 0);
    p.step(code::LOAD_HALF, 0, 12);
    p.jump(code::IF_NOT_EQUAL, 0, 0x0800, Label::V6);
    p.match_v4(own.addresses);
    p.here(Label::V6);
    p.match_v6(own.addresses);
    p.here(Label::Ports);
    p.step(code::HALF_AT_INDEX, 0x70, 16);
    p.jump(code::IF_EQUAL, 0, i32::from(own.port), Label::Drop);
    p.jump(code::IF_NOT_EQUAL, 8, i32::from(own.returned_dscp), Label::Leave);
    p.step(code::HALF_AT_INDEX, 0x70, 14);
    p.jump(code::IF_EQUAL, 0, i32::from(own.port), Label::Drop);
    p.here(Label::Leave);
    p.step(code::MOVE_NUMBER, 0, TCX_NEXT);
    p.step(code::EXIT, 0, 0);
    p.here(Label::Drop);
    p.step(code::MOVE_NUMBER, 0, TCX_DROP);
    p.step(code::EXIT, 0, 0);
    p.finish()
}

impl Program {
    /// Jumps to the ports of whole UDP packets over IPv4 to these addresses.
    fn match_v4(&mut self, addresses: &[IpAddr]) {
        const FRAGMENT: i32 = 0x3fff;
        self.step(code::LOAD_BYTE, 0, 23);
        self.jump(code::IF_NOT_EQUAL, 0, 17, Label::Leave);
        self.step(code::LOAD_HALF, 0, 20);
        self.step(code::AND, 0, FRAGMENT);
        self.jump(code::IF_NOT_EQUAL, 0, 0, Label::Leave);
        self.step(code::LOAD_WORD, 0, 30);
        for address in addresses {
            if let IpAddr::V4(address) = address {
                self.jump(code::IF_WORD_EQUAL, 0, u32::from(*address) as i32, Label::V4);
            }
        }
        self.jump(code::GO, 0, 0, Label::Leave);
        self.here(Label::V4);
        self.step(code::LOAD_BYTE, 0, 15);
        self.step(code::SHIFT_RIGHT, 0, 2);
        self.step(code::MOVE, 0x08, 0);
        self.step(code::LOAD_BYTE, 0, 14);
        self.step(code::AND, 0, 15);
        self.step(code::SHIFT_LEFT, 0, 2);
        self.step(code::MOVE, 0x07, 0);
        self.jump(code::GO, 0, 0, Label::Ports);
    }

    /// Checks the ports of whole UDP packets over IPv6 to these addresses.
    fn match_v6(&mut self, addresses: &[IpAddr]) {
        self.jump(code::IF_NOT_EQUAL, 0, 0x86dd, Label::Leave);
        // A fragment has another header there.
        self.step(code::LOAD_BYTE, 0, 20);
        self.jump(code::IF_NOT_EQUAL, 0, 17, Label::Leave);
        self.step(code::LOAD_HALF, 0, 14);
        self.step(code::SHIFT_RIGHT, 0, 6);
        self.step(code::AND, 0, 63);
        self.step(code::MOVE, 0x08, 0);
        self.step(code::MOVE_NUMBER, 7, 40);
        for (number, address) in addresses.iter().enumerate() {
            let IpAddr::V6(address) = address else { continue };
            for (word, place) in u128_words(u128::from(*address)).into_iter().zip([38, 42, 46, 50])
            {
                self.step(code::LOAD_WORD, 0, place);
                self.jump(code::IF_WORD_NOT_EQUAL, 0, word as i32, Label::Address(number));
            }
            self.jump(code::GO, 0, 0, Label::Ports);
            self.here(Label::Address(number));
        }
        self.jump(code::GO, 0, 0, Label::Leave);
    }
}

fn u128_words(number: u128) -> [u32; 4] {
    [96, 64, 32, 0].map(|shift| (number >> shift) as u32)
}

/// Runs a command of bpf(2), with attributes as in linux/bpf.h.
fn bpf(command: libc::c_long, attributes: &mut [u32; 32]) -> io::Result<libc::c_int> {
    let (pointer, bytes): (*mut u32, _) = (attributes.as_mut_ptr(), size_of_val(attributes));
    // SAFETY: the attributes, and what they point to, live through the call.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, bytes) };
    checked(done as libc::c_int)
}

/// Runs a command of bpf(2) that creates an object.
fn made(command: libc::c_long, mut attributes: [u32; 32]) -> io::Result<OwnedFd> {
    let fd = bpf(command, &mut attributes)?;
    // SAFETY: it is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn halves(address: u64) -> [u32; 2] {
    let bytes = address.to_ne_bytes();
    let half =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [half(0), half(4)]
}

fn load(own: &Own<'_>) -> io::Result<OwnedFd> {
    let program = program(own)?;
    let license = c"GPL";
    let mut load = [0; 32];
    (load[0], load[1]) = (SCHED_CLS, program.len() as u32);
    load[2..4].copy_from_slice(&halves(program.as_ptr().expose_provenance() as u64));
    load[4..6].copy_from_slice(&halves(license.as_ptr().expose_provenance() as u64));
    made(PROG_LOAD, load)
}

/// Hides packets from the kernel's own protocols on an interface, until the returned descriptor is dropped. Fails on an
/// older kernel, and without CAP_BPF and CAP_NET_ADMIN.
pub(crate) fn drop_own(interface: u32, own: &Own<'_>) -> io::Result<OwnedFd> {
    let program = load(own)?;
    let mut link = [0; 32];
    (link[0], link[1], link[2]) = (program.as_raw_fd() as u32, interface, TCX_INGRESS);
    // The link keeps the program.
    made(LINK_CREATE, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROG_TEST_RUN: libc::c_long = 10;
    const PORT: u16 = 47_847;
    const LEFT_TO_OTHERS: u32 = TCX_NEXT as u32;
    const DROPPED: u32 = TCX_DROP as u32;

    /// Returns the program's verdict, from a test run in the kernel.
    fn verdict(program: &OwnedFd, frame: &[u8]) -> u32 {
        let mut run = [0; 32];
        (run[0], run[2]) = (program.as_raw_fd() as u32, frame.len() as u32);
        run[4..6].copy_from_slice(&halves(frame.as_ptr().expose_provenance() as u64));
        bpf(PROG_TEST_RUN, &mut run).expect("a program that was loaded can be tried");
        run[1]
    }

    fn frame(ethertype: u16, network: &[u8], ports: [u16; 2]) -> Vec<u8> {
        let ports = ports.map(u16::to_be_bytes).concat();
        [&[2; 12], &ethertype.to_be_bytes()[..], network, &ports, &[0; 40]].concat()
    }

    const RETURNED: u8 = 54;
    const V6: u128 = 0xfd00_0000_8000_0001_ffff_ffff_8000_0002;

    fn own_addresses() -> [IpAddr; 3] {
        // The highest bit of each word is set somewhere.
        [[192, 168, 0, 1].into(), [10, 0, 0, 1].into(), std::net::Ipv6Addr::from(V6).into()]
    }

    fn v4(protocol: u8, words: u8, to: [u8; 4], dscp: u8, fragment: u16) -> Vec<u8> {
        let mut header = vec![0; usize::from(words) * 4];
        (header[0], header[1], header[9]) = (0x40 | words, dscp << 2, protocol);
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        header[16..20].copy_from_slice(&to);
        header
    }

    fn v6(next_header: u8, to: u128, dscp: u8) -> Vec<u8> {
        let mut header = vec![0; 40];
        (header[0], header[1], header[6]) = (0x60 | dscp >> 2, dscp << 6, next_header);
        header[24..40].copy_from_slice(&to.to_be_bytes());
        header
    }

    #[test]
    fn the_kernel_filter_drops_only_packets_of_this_host() {
        let addresses = own_addresses();
        let own = Own { addresses: &addresses, port: PORT, returned_dscp: RETURNED };
        let program = match load(&own) {
            Ok(program) => program,
            Err(error) => return println!("SKIPPED: {error} (loading a program needs CAP_BPF)"),
        };
        let check = |ethertype: u16,
                     header: Vec<u8>,
                     ports: [u16; 2],
                     expected: u32,
                     what: &str| {
            assert_eq!(verdict(&program, &frame(ethertype, &header, ports)), expected, "{what}");
        };
        let (mine, other) = ([192, 168, 0, 1], [192, 168, 0, 2]);
        for (to, expected) in [(mine, DROPPED), ([10, 0, 0, 1], DROPPED), (other, LEFT_TO_OTHERS)] {
            for words in [5, 8, 15] {
                check(0x0800, v4(17, words, to, 10, 0), [5000, PORT], expected, "IPv4");
                // A header that came back has the port as its source, and its own DSCP.
                check(0x0800, v4(17, words, to, RETURNED, 0), [PORT, 5000], expected, "returned");
            }
        }
        for (to, expected) in
            [(V6, DROPPED), (V6 ^ 1 << 127, LEFT_TO_OTHERS), (V6 ^ 1, LEFT_TO_OTHERS)]
        {
            check(0x86dd, v6(17, to, 10), [5000, PORT], expected, "IPv6");
            check(0x86dd, v6(17, to, RETURNED), [PORT, 5000], expected, "IPv6, returned");
        }
        let left = LEFT_TO_OTHERS;
        check(
            0x0800,
            v4(17, 5, mine, 0, 0),
            [PORT, 53],
            left,
            "a server that has the port elsewhere",
        );
        check(0x0800, v4(17, 5, mine, 10, 0), [53, 5000], left, "another service");
        check(0x0800, v4(6, 5, mine, 10, 0), [5000, PORT], left, "TCP");
        for fragment in [0x2000, 0x0001, 0x1fff, 0x20b9] {
            check(0x0800, v4(17, 5, mine, 10, fragment), [5000, PORT], left, "a fragment");
        }
        // "Do not fragment" bits do not make a fragment.
        check(0x0800, v4(17, 5, mine, 10, 0x4000), [5000, PORT], DROPPED, "not a fragment");
        check(0x86dd, v6(44, V6, 10), [5000, PORT], left, "an IPv6 fragment");
        check(0x86dd, v6(6, V6, 10), [5000, PORT], left, "TCP over IPv6");
        check(0x0806, v4(17, 5, mine, 10, 0), [5000, PORT], left, "ARP");
        // A packet that ends before its ports is passed on: zero is TCX_PASS.
        assert_eq!(verdict(&program, &frame(0x0800, &v4(17, 5, mine, 10, 0), [1, 2])[..34]), 0);
    }
}
