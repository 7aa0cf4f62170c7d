//! An abandoned connection tells its peer, which does not wait for the dead-peer timeout.

use super::two::Two;
use super::*;

/// Abandons one end of a stream, in its middle or while idle. Returns the other end's failure.
fn abandoned(bytes: usize, abandons_near: bool) -> Option<Failure> {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"0");
    two.client.write(near, &vec![7; bytes]).unwrap();
    two.run_for(TimeDelta::from_us(200));
    match abandons_near {
        true => two.client.abandon(two.now, near),
        false => two.server.abandon(two.now, far),
    }
    two.run_for(TimeDelta::from_ms(1));
    match abandons_near {
        true => two.server.failure(far),
        false => two.client.failure(near),
    }
}

#[test]
fn abandoning_a_connection_resets_the_other_end_at_once() {
    for bytes in [0, 1, 1_000_000] {
        for abandons_near in [true, false] {
            let failure = abandoned(bytes, abandons_near);
            assert_eq!(
                failure,
                Some(Failure::Refused(Cause::Ended)),
                "{bytes} B, the sender: {abandons_near}"
            );
        }
    }
}

/// There are three RESETs, since a RESET may be lost. Its receiver sends none.
#[test]
fn a_connection_ends_with_three_resets_of_one_end() {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"0");
    two.server.abandon(two.now, far);
    let resets = |all: Vec<Fields>| all.iter().filter(|one| one.kind == Kind::Reset).count();
    let mut frames = Vec::new();
    let mut count = 0;
    while two.server.transmit(two.now + TimeDelta::from_ms(1)).is_some() {
        frames.push(two.server.frame().to_vec());
        count += 1;
    }
    assert_eq!(count, 3);
    two.client.receive_frame(two.now, &frames[2]);
    assert_eq!(two.client.failure(near), Some(Failure::Refused(Cause::Ended)));
    two.client.abandon(two.now, near);
    assert_eq!(resets(run_to(&mut two.client, two.now + TimeDelta::from_ms(100))), 0);
}

#[test]
fn a_host_that_ends_resets_all_its_peers() {
    let mut two = Two::new(|_| {});
    let ends = [(); 5].map(|()| two.open(b"0"));
    two.server.abandon_all(two.now);
    two.run_for(TimeDelta::from_ms(1));
    assert_eq!(two.server.connections(), 0);
    let failures = ends.map(|(near, _)| two.client.failure(near));
    assert_eq!(failures, [Some(Failure::Refused(Cause::Ended)); 5]);
}
