//! A program in the kernel that throws NDP's packets away before the kernel's own IP sees them.
//!
//! Packet sockets have their copy by then. Without it the kernel routes, sums and discards every packet
//! again, in the time of whoever sent it. The program hangs on a descriptor of this process (a TCX link, Linux
//! 6.6): when the process ends, however it ends, the kernel takes it off.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

/// As linux/bpf.h has them.
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

/// Drops UDP over IPv4 or IPv6 with this port at either end, and leaves everything else to others. A packet
/// that ends before what is asked for is left, too.
fn program(port: u16) -> [Instruction; 22] {
    const MOVE: u8 = 0xbf;
    const MOVE_NUMBER: u8 = 0xb7;
    const AND: u8 = 0x57;
    const SHIFT_LEFT: u8 = 0x67;
    const LOAD_HALF: u8 = 0x28;
    const LOAD_BYTE: u8 = 0x30;
    const HALF_AT_INDEX: u8 = 0x48;
    const IF_EQUAL: u8 = 0x15;
    const IF_NOT_EQUAL: u8 = 0x55;
    const GO: u8 = 0x05;
    const EXIT: u8 = 0x95;
    let port = i32::from(port);
    // A jump counts the steps that it leaves out. Loads read the packet of register 6 into register 0.
    [
        step(MOVE, 0x16, 0, 0),
        step(LOAD_HALF, 0, 0, 12),
        step(IF_NOT_EQUAL, 0, 7, 0x0800),
        step(LOAD_BYTE, 0, 0, 23),
        step(IF_NOT_EQUAL, 0, 13, 17),
        // The length of the IPv4 header, into register 7.
        step(LOAD_BYTE, 0, 0, 14),
        step(AND, 0, 0, 15),
        step(SHIFT_LEFT, 0, 0, 2),
        step(MOVE, 0x07, 0, 0),
        step(GO, 0, 4, 0),
        step(IF_NOT_EQUAL, 0, 7, 0x86dd),
        step(LOAD_BYTE, 0, 0, 20),
        step(IF_NOT_EQUAL, 0, 5, 17),
        step(MOVE_NUMBER, 7, 0, 40),
        step(HALF_AT_INDEX, 0x70, 0, 16),
        step(IF_EQUAL, 0, 4, port),
        step(HALF_AT_INDEX, 0x70, 0, 14),
        step(IF_EQUAL, 0, 2, port),
        step(MOVE_NUMBER, 0, 0, TCX_NEXT),
        step(EXIT, 0, 0, 0),
        step(MOVE_NUMBER, 0, 0, TCX_DROP),
        step(EXIT, 0, 0, 0),
    ]
}

/// A command of bpf(2), with its attributes as linux/bpf.h lays them out.
fn bpf(command: libc::c_long, attributes: &mut [u32; 32]) -> io::Result<libc::c_int> {
    let (pointer, bytes): (*mut u32, _) = (attributes.as_mut_ptr(), size_of_val(attributes));
    // SAFETY: the attributes, and what they point to, live through the call.
    let done = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, bytes) };
    checked(done as libc::c_int)
}

/// The same for a command that makes something.
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

/// The program, checked by the kernel.
fn load(port: u16) -> io::Result<OwnedFd> {
    let program = program(port);
    let license = c"GPL";
    let mut load = [0; 32];
    (load[0], load[1]) = (SCHED_CLS, program.len() as u32);
    load[2..4].copy_from_slice(&halves(program.as_ptr().addr() as u64));
    load[4..6].copy_from_slice(&halves(license.as_ptr().addr() as u64));
    made(PROG_LOAD, load)
}

/// Keeps UDP packets with this port from the kernel's own protocols, on an interface of this network
/// namespace, until what is given is dropped.
///
/// # Errors
/// An older kernel, or no right to do that (CAP_BPF and CAP_NET_ADMIN).
pub(crate) fn drop_port(interface: u32, port: u16) -> io::Result<OwnedFd> {
    let program = load(port)?;
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

    /// What the program says of a frame, run by the kernel.
    fn verdict(program: &OwnedFd, frame: &[u8]) -> u32 {
        let mut run = [0; 32];
        (run[0], run[2]) = (program.as_raw_fd() as u32, frame.len() as u32);
        run[4..6].copy_from_slice(&halves(frame.as_ptr().addr() as u64));
        bpf(PROG_TEST_RUN, &mut run).expect("a program that was loaded can be tried");
        run[1]
    }

    fn frame(ethertype: u16, network: &[u8], ports: [u16; 2]) -> Vec<u8> {
        let ports = ports.map(u16::to_be_bytes).concat();
        [&[2; 12], &ethertype.to_be_bytes()[..], network, &ports, &[0; 40]].concat()
    }

    fn v4(protocol: u8, words: u8) -> Vec<u8> {
        let mut header = vec![0; usize::from(words) * 4];
        (header[0], header[9]) = (0x40 | words, protocol);
        header
    }

    fn v6(next_header: u8) -> Vec<u8> {
        let mut header = vec![0; 40];
        (header[0], header[6]) = (0x60, next_header);
        header
    }

    #[test]
    fn only_udp_with_the_port_is_dropped() {
        let program = match load(PORT) {
            Ok(program) => program,
            Err(error) => return println!("SKIPPED: {error} (loading a program needs CAP_BPF)"),
        };
        let other = [5000, 53];
        for ports in [[PORT, 9], [9, PORT], [PORT, PORT]] {
            for (ethertype, udp, tcp) in [
                (0x0800, v4(17, 5), v4(6, 5)),
                (0x0800, v4(17, 8), v4(6, 8)),
                (0x86dd, v6(17), v6(6)),
            ] {
                assert_eq!(verdict(&program, &frame(ethertype, &udp, ports)), DROPPED);
                assert_eq!(verdict(&program, &frame(ethertype, &udp, other)), LEFT_TO_OTHERS);
                assert_eq!(verdict(&program, &frame(ethertype, &tcp, ports)), LEFT_TO_OTHERS);
                // ARP, or anything else.
                assert_eq!(verdict(&program, &frame(0x0806, &udp, ports)), LEFT_TO_OTHERS);
            }
        }
        // What ends before its ports is passed on: zero is TCX_PASS.
        assert_eq!(verdict(&program, &frame(0x0800, &v4(17, 5), other)[..34]), 0);
    }
}
