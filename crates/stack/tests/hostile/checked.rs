//! Messages with a CRC-32C, for damage that 16-bit sums do not detect.

use super::two::Two;
use super::*;
use trimline_stack::host::{Connection, Options};

const CHECKED: Options = Options { class: 0, deadline: None, checked: true };

/// Sends a message on a new connection; `alters` swaps two words of it on the way.
fn sent(checked: bool, alters: bool) -> (Two, Connection) {
    let mut two = Two::new(|_| {});
    two.server.listen_checked(two.now, SERVICE);
    let options = Options { checked, ..Options::default() };
    let near = two.client.connect(address(1), SERVICE, options).unwrap();
    let message: Vec<u8> = (0..=255).collect();
    two.client.send(near, &message).unwrap();
    while two.client.transmit(two.now).is_some() {
        let mut frame = two.client.frame().to_vec();
        if alters {
            (0..2).for_each(|byte| frame.swap(100 + byte, 200 + byte));
        }
        two.server.receive_frame(two.now, &frame);
    }
    (two, near)
}

#[test]
fn a_corrupted_checksummed_message_ends_both_ends() {
    for (checked, alters) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut two, near) = sent(checked, alters);
        let far = two.server.accept().unwrap();
        let expected: Vec<u8> = (0..=255).collect();
        if checked {
            assert_eq!(two.server.next_length(far), Some(256));
        }
        let got = two.server.receive(far);
        match (checked, alters) {
            (_, false) => assert_eq!(got, Ok(Some(expected))),
            (false, true) => assert!(got.unwrap().unwrap() != expected, "nobody notices"),
            (true, true) => {
                assert_eq!(got, Err(Failure::Altered));
                assert_eq!(two.server.receive(far), Err(Failure::Altered));
                two.run_for(TimeDelta::from_ms(5));
                let failure = two.client.failure(near);
                assert_eq!(failure, Some(Failure::Refused(Cause::Altered)));
            }
        }
    }
}

#[test]
fn messages_are_checksummed_both_ways_and_streams_are_not() {
    let (mut two, near) = sent(true, false);
    let far = two.server.accept().unwrap();
    assert!(two.server.receive(far).unwrap().is_some());
    assert_eq!(two.server.peer(far), Some((address(2), SERVICE)));
    for length in [1, 1409, 100_000] {
        two.server.send(far, &vec![5; length]).unwrap();
        two.run_for(TimeDelta::from_ms(5));
        assert_eq!(two.client.receive(near), Ok(Some(vec![5; length])));
    }
    assert_eq!(two.client.write(near, b"x"), Err(Failure::Unchecked));
    assert_eq!(two.server.read(far, &mut [0]), Err(Failure::Unchecked));
    two.client.close(near);
    two.run_for(TimeDelta::from_ms(5));
    assert_eq!(two.server.receive(far), Err(Failure::Closed));
}

/// An older server does not listen on such a port, and a server that requires checks refuses others.
#[test]
fn ends_that_disagree_about_checksums_are_refused() {
    let mut two = Two::new(|_| {});
    let near = two.client.connect(address(1), SERVICE, CHECKED).unwrap();
    two.client.send(near, b"x").unwrap();
    two.run_for(TimeDelta::from_ms(5));
    assert_eq!(two.client.failure(near), Some(Failure::Refused(Cause::NoService)));
    let mut config = config(1);
    config.validates_addresses = false;
    two.server = Core::new(config);
    two.server.listen_checked(two.now, SERVICE);
    let near = two.send(b"x");
    two.run_for(TimeDelta::from_ms(5));
    assert_eq!(two.client.failure(near), Some(Failure::Refused(Cause::NoService)));
}
