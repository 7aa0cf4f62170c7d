//! NDP is receiver-driven: an application that does not read is not sent to.

use super::two::Two;
use super::*;

/// The client writes 100 MB into a stream that nobody reads, and then somebody does.
#[test]
fn a_receiver_that_does_not_read_stops_pulling_and_goes_on_when_it_does() {
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
    let (kept, limit) = (two.server.kept(), 4 << 20);
    assert!(kept <= 2 * limit, "{kept} B are kept");
    assert!(given < 10 << 20, "{given} B were taken");
    // No pull, no data: what is sent for two seconds more is what a sender tries when it is owed a pull.
    let before = two.data;
    two.run_for(TimeDelta::from_ms(2000));
    assert!(two.data - before < 20, "{} packets", two.data - before);
    // Half a minute later both are still there.
    two.run_for(TimeDelta::from_ms(60_000));
    let (mut got, mut bytes) = (0u64, vec![0; 1 << 16]);
    let most = two.now + TimeDelta::from_ms(20_000);
    let total = 20 << 20;
    while got < total && two.now < most {
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

/// Messages that wait are counted as bytes do; a message that is longer than the buffer arrives all the same.
#[test]
fn messages_that_nobody_takes_stop_the_sender() {
    let mut two = Two::new(|config| config.limits.receive_buffer = 100_000);
    let (near, far) = two.open(&[7; 500_000]);
    two.run_for(TimeDelta::from_ms(1000));
    assert!(two.server.kept() <= 200_000);
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
    let kept = two.server.kept();
    assert!(kept <= 215_000 && sent < 140, "{kept} B, {sent} messages");
    assert_eq!(two.client.send(near, &[1; 10_000]), Err(Failure::Full), "the sender hears of it");
}
