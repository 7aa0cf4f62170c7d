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

fn bpf(command: libc::c_long, attributes: &[u32; 32]) -> io::Result<OwnedFd> {
    let (pointer, bytes): (*const u32, _) = (attributes.as_ptr(), size_of_val(attributes));
    // SAFETY: the attributes, and what they point to, live through the call; a descriptor that is not
    // negative is new and ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_bpf, command, pointer, bytes);
        Ok(OwnedFd::from_raw_fd(checked(fd as libc::c_int)?))
    }
}

fn halves(address: u64) -> [u32; 2] {
    let bytes = address.to_ne_bytes();
    let half =
        |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [half(0), half(4)]
}

/// Keeps UDP packets with this port from the kernel's own protocols, on an interface of this network
/// namespace, until what is given is dropped.
///
/// # Errors
/// An older kernel, or no right to do that (CAP_BPF and CAP_NET_ADMIN).
pub(crate) fn drop_port(interface: u32, port: u16) -> io::Result<OwnedFd> {
    let program = program(port);
    let license = c"GPL";
    let mut load = [0; 32];
    (load[0], load[1]) = (SCHED_CLS, program.len() as u32);
    load[2..4].copy_from_slice(&halves(program.as_ptr().addr() as u64));
    load[4..6].copy_from_slice(&halves(license.as_ptr().addr() as u64));
    let program = bpf(PROG_LOAD, &load)?;
    let mut link = [0; 32];
    (link[0], link[1], link[2]) = (program.as_raw_fd() as u32, interface, TCX_INGRESS);
    // The link keeps the program.
    bpf(LINK_CREATE, &link)
}
