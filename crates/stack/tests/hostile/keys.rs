//! Hosts that share a key accept no other host.

use super::two::Two;
use super::*;
use trimline_packet::wire::Lengths;
use trimline_stack::host::Key;

fn keyed(key: u8) -> impl Fn(&mut Config) {
    move |config| {
        config.validates_addresses = true;
        config.share(Key::new([key; 16]));
    }
}

/// Returns the frames that a server refused for their tag.
fn forged(core: &Core) -> u64 {
    let mut by_reason = core.statistics().refused_by_reason();
    by_reason.find(|&(name, _)| name == "tag").map_or(0, |(_, count)| count)
}

#[test]
fn hosts_that_share_a_key_communicate() {
    let mut two = Two::new(keyed(1));
    let message: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.send(near, &message).unwrap();
    two.run_for(TimeDelta::from_ms(10));
    let far = two.server.accept().expect("it was opened");
    assert_eq!(two.server.receive(far), Ok(Some(message.clone())));
    two.server.send(far, &message).unwrap();
    two.run_for(TimeDelta::from_ms(10));
    assert_eq!(two.client.receive(near), Ok(Some(message)));
    assert_eq!((forged(&two.client), forged(&two.server)), (0, 0));
}

/// First all hosts accept both keys, then all send with the new one, then the old one is removed. Hosts at neighbouring
/// steps talk. A third key is never accepted.
#[test]
fn a_key_changes_during_a_transfer() {
    let (old, new) = (Key::new([1; 16]), Key::new([2; 16]));
    let step = |send: &Key, other: Option<&Key>| {
        let (send, other) = (send.clone(), other.cloned());
        move |config: &mut Config| {
            config.share(send.clone());
            config.other_key = other.clone();
        }
    };
    let steps = [
        step(&old, None),
        step(&old, Some(&new)),
        step(&new, Some(&old)),
        step(&new, None),
        step(&Key::new([3; 16]), Some(&old)),
    ];
    // Hosts at neighbouring steps of the change talk.
    for (one, other, talk) in [
        (0, 1, true),
        (1, 2, true),
        (2, 1, true),
        (2, 3, true),
        (0, 2, false),
        (0, 3, false),
        (4, 4, true),
        (4, 2, false),
    ] {
        let mut two = Two::new(&steps[one]);
        two.server = server(&steps[other]);
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.send(near, &[7; 20_000]).unwrap();
        two.run_for(TimeDelta::from_ms(10));
        // One end alone may accept the other.
        if let Some(far) = two.server.accept() {
            assert!(two.server.receive(far) == Ok(Some(vec![7; 20_000])));
            two.server.send(far, b"answer").unwrap();
            two.run_for(TimeDelta::from_ms(10));
        }
        let answer = talk.then(|| b"answer".to_vec());
        assert_eq!(two.client.receive(near), Ok(answer), "steps {one} and {other}");
    }
}

/// A header that seems to be cut before its tag may be forged.
#[test]
fn packets_without_the_shared_key_are_refused() {
    for (other, trimmed_bytes) in [(None, 70), (Some(2), 70), (None, 64), (Some(2), 64)] {
        let profile = Profile { trimmed_bytes, ..Profile::PAPER };
        let mut two = Two::new(|config| {
            config.profile = profile;
            if let Some(other) = other {
                keyed(other)(config);
            }
        });
        two.server = server(|config| {
            config.profile = profile;
            keyed(1)(config);
        });
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.send(near, &[7; 20_000]).unwrap();
        two.run_for(TimeDelta::from_ms(1000));
        let seen = *two.server.statistics();
        assert!(seen.frames_in > 20, "{seen:?}");
        assert_eq!((seen.frames_out, forged(&two.server)), (0, seen.frames_in), "{trimmed_bytes}");
        assert_eq!((two.server.connections(), two.server.peers()), (0, 0));
    }
}

/// Returns a server, and the first frame of a connection without a token, both with a key.
fn first_frame(profile: Profile) -> (Core, Vec<u8>) {
    let change = |config: &mut Config| {
        config.share(Key::new([1; 16]));
        config.profile = profile;
    };
    let mut client = Core::new({
        let mut config = config(2);
        change(&mut config);
        config
    });
    client.add_peer(address(1), &[], [2; 6]);
    let near = client.connect(address(1), SERVICE, Default::default()).unwrap();
    client.send(near, &[7; 1000]).unwrap();
    client.transmit(ms(1)).unwrap();
    (server(change), client.frame().to_vec())
}

/// An attacker can fix the sums, but not the tag.
#[test]
fn a_modified_packet_is_refused() {
    let profile = Profile::PAPER;
    for place in [None, Some(0), Some(500), Some(999), Some(1000), Some(1003)] {
        let (mut server, frame) = first_frame(profile);
        let frame = Frame::new(&frame).unwrap();
        let parsed = frame.parse_tagged(&profile).unwrap();
        let mut datagram = parsed.datagram;
        let mut behind = [parsed.payload, parsed.extension].concat();
        match place {
            Some(place) => behind[place] ^= 1,
            None => datagram.fields.sequence ^= 1,
        }
        let (payload, extension) = behind.split_at(parsed.payload.len());
        let (tag, mut bytes) = (frame.tag().unwrap(), Vec::new());
        datagram
            .emit_tagged_headers(
                frame.ethernet(),
                &profile,
                &tag,
                [payload, &[]],
                extension,
                &mut bytes,
            )
            .unwrap();
        bytes.extend_from_slice(&behind);
        server.receive_frame(ms(1), &bytes);
        assert_eq!((forged(&server), server.connections()), (1, 0), "byte {place:?}");
    }
    let (mut server, frame) = first_frame(profile);
    server.receive_frame(ms(1), &frame);
    assert_eq!((forged(&server), server.connections()), (0, 1), "as it was");
}

/// Genuine and forged trimmed headers: without a tag they cannot be told apart.
#[test]
fn a_trimmed_header_is_verified_if_its_tag_remains() {
    for (trimmed_bytes, is_known) in [(64, false), (69, false), (70, true), (128, true)] {
        let profile = Profile { trimmed_bytes, ..Profile::PAPER };
        for is_forged in [false, true] {
            let (mut server, mut frame) = first_frame(profile);
            if is_forged {
                // The tag, which an attacker has to guess.
                frame[58] ^= 1;
            }
            let left = Frame::trim(&mut frame, &profile, false, Lengths::Updated).unwrap();
            server.receive_frame(ms(1), &frame[..left]);
            let refused = u64::from(is_forged || !is_known);
            assert_eq!(forged(&server), refused, "cut at {trimmed_bytes}, forged {is_forged}");
            assert_eq!(server.statistics().trimmed_in, 1 - refused);
        }
    }
}
