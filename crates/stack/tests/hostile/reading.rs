//! Flow control: NDP's receiver pulls no packets for an application that does not read.

use super::two::Two;
use super::*;

/// A client writes until its buffers are full. Then the server reads.
#[test]
fn a_receiver_that_does_not_read_stops_pulling_until_it_reads() {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"0");
    let (mut given, mut stalled) = (1u64, 0);
    let byte = |at: u64| (at % 251) as u8;
    while stalled < 200 {
        let bytes: Vec<u8> = (given..given + 65_536).map(byte).collect();
        match two.client.write(near, &bytes).unwrap() {
            0 => stalled += 1,
            count => (given, stalled) = (given + count as u64, 0),
        }
        two.run_for(TimeDelta::from_ms(1));
    }
    let (kept, limit) = (two.server.buffered_bytes(), 4 << 20);
    assert!(kept <= 2 * limit, "{kept} B are kept");
    assert!(given < 10 << 20, "{given} B were taken");
    // Without pulls there is no data: for two seconds the sender only probes for its owed pull.
    let before = two.data;
    two.run_for(TimeDelta::from_ms(2000));
    assert!(two.data - before < 20, "{} packets", two.data - before);
    // Half a minute later both are still there.
    two.run_for(TimeDelta::from_ms(60_000));
    let (mut got, mut bytes) = (0u64, vec![0; 1 << 16]);
    let max = two.now + TimeDelta::from_ms(20_000);
    let total = 20 << 20;
    while got < total && two.now < max {
        let count = two.server.read(far, &mut bytes).unwrap();
        for &one in &bytes[..count] {
            assert!(one == if got == 0 { b'0' } else { byte(got) }, "byte {got}");
            got += 1;
        }
        if given < total {
            let next: Vec<u8> = (given..given + 65_536).map(byte).collect();
            given += two.client.write(near, &next).unwrap() as u64;
        }
        two.run_for(TimeDelta::from_us(50));
    }
    assert!(got >= total, "{got} B after it began to read");
}

/// Waiting messages count like bytes; a message longer than the buffer still arrives.
#[test]
fn unread_messages_stop_the_sender() {
    let mut two = Two::new(|config| config.limits.receive_buffer = 100_000);
    let (near, far) = two.open(&[7; 500_000]);
    two.run_for(TimeDelta::from_ms(1000));
    assert!(two.server.buffered_bytes() <= 200_000);
    let mut got = None;
    for _ in 0..200 {
        got = got.or(two.server.receive(far).unwrap());
        two.run_for(TimeDelta::from_ms(10));
    }
    assert_eq!(got.map(|message| message.len()), Some(500_000));
    let mut sent = 0;
    for _ in 0..1000 {
        sent += u64::from(two.client.send(near, &[1; 10_000]) == Ok(()));
        two.run_for(TimeDelta::from_ms(1));
    }
    // And the beginning of a message.
    let kept = two.server.buffered_bytes();
    assert!(kept <= 215_000 && sent < 140, "{kept} B, {sent} messages");
    assert_eq!(two.client.send(near, &[1; 10_000]), Err(Failure::Full), "the sender hears of it");
}

/// Whole messages exceed the peer's limit. The one without room fails, and makes room for the others.
#[test]
fn long_messages_of_one_peer_do_not_wait_for_each_other() {
    let mut two = Two::new(|config| config.limits.peer_unacked = 1 << 30);
    let message = vec![7; 60_000_000];
    let near = [(); 3].map(|()| {
        let one = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.send(one, &message).unwrap();
        one
    });
    let (mut far, mut whole, mut failed) = (Vec::new(), 0, 0);
    for _ in 0..300 {
        two.run_for(TimeDelta::from_ms(10));
        far.extend(std::iter::from_fn(|| two.server.accept()));
        far.retain(|&one| match two.server.receive(one) {
            Ok(None) => true,
            Ok(Some(got)) => {
                assert!(got == message);
                whole += 1;
                false
            }
            Err(failure) => {
                assert_eq!(failure, Failure::NoRoom);
                failed += 1;
                two.server.abandon(two.now, one);
                false
            }
        });
    }
    assert_eq!((whole, failed), (2, 1), "two of three have room");
    let ends = near.map(|one| two.client.failure(one));
    assert_eq!(
        ends.iter().filter(|&&end| end == Some(Failure::Refused(Cause::NoRoom))).count(),
        1,
        "{ends:?}"
    );
    assert_eq!(two.server.buffered_bytes(), 0);
    let before = two.data;
    two.run_for(TimeDelta::from_ms(1000));
    assert!(two.data - before < 20, "{} packets in a second", two.data - before);
}

/// Unread streams are not pulled beyond the peer's limit.
#[test]
fn streams_of_one_peer_share_its_buffer() {
    let mut two = Two::new(|config| config.limits.peer_bytes = 2 << 20);
    let count = 16;
    let streams: Vec<_> = (0..count).map(|_| two.open(b"0")).collect();
    let mut given = vec![0u64; count];
    let byte = |at: u64| (at % 251) as u8;
    let write = |two: &mut Two, given: &mut [u64]| {
        for (given, (near, _)) in given.iter_mut().zip(&streams) {
            let bytes: Vec<u8> = (*given..*given + 10_000).map(byte).collect();
            let max = bytes.len().min((1_000_000 - *given) as usize);
            *given += two.client.write(*near, &bytes[..max]).unwrap() as u64;
        }
    };
    for _ in 0..500 {
        write(&mut two, &mut given);
        two.run_for(TimeDelta::from_ms(1));
    }
    assert!(two.server.buffered_bytes() <= 2 << 20);
    assert!(two.server.statistics().without_room > 0, "there was no room for all");
    let before = two.data;
    two.run_for(TimeDelta::from_ms(1000));
    // Each sender tries now and then, since it is owed a pull.
    assert!(two.data - before < 20 * count as u64, "{} packets", two.data - before);
    let (mut got, mut bytes) = (vec![0u64; count], vec![0; 1 << 16]);
    for _ in 0..20_000 {
        for (got, &(_, far)) in got.iter_mut().zip(&streams) {
            let read = two.server.read(far, &mut bytes).unwrap();
            for &one in &bytes[..read] {
                let expected = if *got == 0 { b'0' } else { byte(*got - 1) };
                assert!(one == expected, "byte {got}");
                *got += 1;
            }
        }
        write(&mut two, &mut given);
        two.run_for(TimeDelta::from_ms(1));
        if got.iter().all(|&got| got == 1_000_001) {
            return;
        }
    }
    panic!("{got:?} bytes arrived");
}
