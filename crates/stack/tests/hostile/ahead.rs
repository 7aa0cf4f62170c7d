//! Bounds on data that arrives ahead of its order.

use super::*;

/// Bytes on this thread's heap, counted by a test allocator.
mod heap {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    pub(super) struct Counting;

    thread_local! {
        static HELD: Cell<isize> = const { Cell::new(0) };
    }

    fn add(bytes: isize) {
        // The thread may be ending.
        let _ = HELD.try_with(|held| held.set(held.get() + bytes));
    }

    // SAFETY: every call is the system's allocator's own.
    #[allow(unsafe_code)]
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            add(layout.size() as isize);
            unsafe { System.alloc(layout) }
        }
        unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
            add(-(layout.size() as isize));
            unsafe { System.dealloc(place, layout) }
        }
    }

    #[global_allocator]
    static COUNTING: Counting = Counting;

    /// Returns the bytes that this thread holds.
    pub(crate) fn held() -> isize {
        HELD.with(Cell::get)
    }
}

/// Returns what a server holds after this many one-byte packets, one per connection.
fn held_after(packets: u32, sequence: u32, peers: bool) -> isize {
    let mut server = server(|_| {});
    let before = heap::held();
    for number in 0..packets {
        let source = if peers { address(number as u8 | 1) } else { address(9) };
        let forged = Forged { sequence, ..Forged::syn(source, number) };
        server.receive_frame(ms(1), &forged.frame(b"x", &[]));
    }
    let held = heap::held() - before;
    drop(server);
    held
}

#[test]
fn a_packet_far_ahead_uses_no_more_memory_than_one_in_order() {
    for sequence in [1, 63, 64, 1000, 5000, 32_766, 32_767, 1 << 31, u32::MAX] {
        for peers in [false, true] {
            let held = held_after(1000, sequence, peers);
            println!("sequence {sequence}: {held} B for 1000 packets");
            assert!(held < 4 << 20, "sequence {sequence}: {held} B for 1000 packets");
        }
    }
}

/// The first packet is left out, all others are sent.
#[test]
fn data_that_waits_for_one_packet_is_bounded() {
    let mut server = server(|config| config.limits.early_bytes = 8 << 20);
    let before = heap::held();
    let mut forged = Forged::syn(address(9), 1);
    let payload = [7; 1400];
    for sequence in 1..30_000 {
        forged.sequence = sequence;
        if sequence > 30 {
            forged.flags = Flags::FROM_OPENER;
        }
        server.receive_frame(ms(1 + u64::from(sequence) / 100), &forged.frame(&payload, &[]));
        sent(&mut server, ms(1 + u64::from(sequence) / 100));
    }
    let held = heap::held() - before;
    assert!(held < 12 << 20, "{held} B of 42 MB");
}

/// Many connections of one peer, or of many peers, share a total limit.
#[test]
fn the_memory_of_a_host_is_bounded() {
    for peers in [1, 200] {
        let mut server = server(|config| {
            config.limits.peer_bytes = 16 << 20;
            config.limits.host_bytes = 64 << 20;
        });
        let before = heap::held();
        let payload = [7; 1400];
        let mut number = 0u64;
        for connection in 0..400 {
            let source = Ipv4Addr::new(10, 1, 0, (connection % peers) as u8 + 1).into();
            let mut forged = Forged::syn(source, connection);
            for sequence in 1..400 {
                forged.sequence = sequence;
                number += 1;
                server.receive_frame(ms(1 + number / 1000), &forged.frame(&payload, &[]));
                sent(&mut server, ms(1 + number / 1000));
            }
        }
        let held = heap::held() - before;
        let max = if peers == 1 { 24 << 20 } else { 80 << 20 };
        assert!(held < max, "{held} B of 223 MB, of {peers} peers");
    }
}

/// A trimmed header has no payload to keep, and a copy's payload is there.
#[test]
fn headers_and_duplicates_are_accepted_by_a_full_buffer() {
    let mut server = server(|config| config.limits.early_bytes = 3000);
    let mut forged = Forged::syn(address(9), 1);
    for sequence in [1, 2, 1, 2, 2] {
        forged.sequence = sequence;
        server.receive_frame(ms(1), &forged.frame(&[7; 1200], &[]));
    }
    forged.sequence = 3;
    let mut cut = forged.frame(&[7; 1200], &[]);
    let profile = &Profile::PAPER;
    let left = Frame::trim(&mut cut, profile, false, trimline_packet::wire::Lengths::Updated);
    cut.truncate(left.unwrap());
    server.receive_frame(ms(1), &cut);
    assert_eq!(server.statistics().without_room, 0);
    server.receive_frame(ms(1), &forged.frame(&[7; 1200], &[]));
    assert_eq!(server.statistics().without_room, 1);
}

/// An application that only uses `accept` has no list.
#[test]
fn unused_event_lists_do_not_grow() {
    // A connection is remembered for a second, and its number comes again after five.
    let mut server = server(|config| config.ndp.follows_path = None);
    let mut now = ms(1);
    let mut serve = |count: u32| {
        for number in 0..count {
            now += TimeDelta::from_ms(1);
            server.receive_frame(now, &request(address(9), number % 5000, b"x"));
            let connection = server.accept().expect("a new connection");
            server.receive(connection).unwrap();
            server.abandon(now, connection);
            // The server's answers go before the next request comes.
            run_to(&mut server, now + TimeDelta::from_us(500));
        }
        heap::held()
    };
    let before = serve(20_000);
    let grown = serve(100_000) - before;
    assert!(grown < 100_000, "{grown} B for 100,000 connections");
}
