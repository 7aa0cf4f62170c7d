//! A RESET names the cause for which the other end ended the connection.

use super::two::Two;
use super::*;
use trimline_stack::host::Connection;

/// Opens a connection with a message, which the server ends by `end`. Returns the client's failure.
fn notified(message: &[u8], change: fn(&mut Config), end: fn(&mut Two, Connection)) -> Failure {
    let mut two = Two::new(change);
    let near = two.send(message);
    two.run_for(TimeDelta::from_ms(5));
    if let Some(far) = two.server.accept() {
        end(&mut two, far);
    }
    two.run_for(TimeDelta::from_ms(100));
    two.client.failure(near).expect("it was told")
}

#[test]
fn a_failure_has_the_cause_of_the_other_end() {
    let abandoned = notified(b"x", |_| {}, |two, far| two.server.abandon(two.now, far));
    let late = notified(
        b"x",
        |_| {},
        |two, far| {
            let deadline = two.now + TimeDelta::from_ms(1);
            two.server.set_deadline(far, Some(deadline));
        },
    );
    let mut two = Two::new(|config| config.limits.message_bytes = 1000);
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    // The client has the same limit, for messages.
    two.client.write(near, &[7; 500]).unwrap();
    two.run_for(TimeDelta::from_ms(5));
    let far = two.server.accept().unwrap();
    assert_eq!(two.server.receive(far), Ok(None), "it reads messages");
    two.client.write(near, &[7; 5000]).unwrap();
    two.run_for(TimeDelta::from_ms(100));
    let too_long = two.client.failure(near).expect("it was told");
    let expected = [Cause::Ended, Cause::Deadline, Cause::TooLong];
    assert_eq!([abandoned, late, too_long], expected.map(Failure::Refused));
    let texts = expected.map(|cause| Failure::Refused(cause).to_string());
    for (text, word) in texts.iter().zip(["application", "deadline", "longer"]) {
        assert!(text.starts_with("the peer ended") && text.contains(word), "{text}");
    }
}

#[test]
fn a_service_without_a_listener_is_named() {
    for known in [false, true] {
        let mut two = Two::new(|_| {});
        if known {
            two.open(b"x");
        }
        let near = two.client.connect(address(1), SERVICE + 1, Default::default()).unwrap();
        two.client.send(near, b"x").unwrap();
        two.run_for(TimeDelta::from_ms(5));
        let failure = two.client.failure(near).unwrap();
        assert_eq!(failure, Failure::Refused(Cause::NoService), "{known}");
        assert!(failure.to_string().contains("no application listens"), "{failure}");
    }
}

/// A cause of a later version, and a RESET of an earlier one.
#[test]
fn an_unknown_cause_is_none() {
    for extra in [0, 200] {
        let mut two = Two::new(|_| {});
        let near = two.send(b"x");
        let (_, packet) = two.client.transmit(two.now).unwrap();
        let Header { connection, sequence, .. } = packet.header;
        let datagram = Datagram {
            source: address(1),
            destination: address(2),
            entropy: 50_000,
            service: Service::Control.into(),
            marks: 0,
            fields: Fields {
                kind: Kind::Reset,
                flags: Flags::default(),
                connection,
                sequence,
                extra,
            },
        };
        let mut bytes = Vec::new();
        datagram.emit(Ethernet::default(), &Profile::PAPER, &[], &[], &mut bytes).unwrap();
        two.client.receive_frame(two.now, &bytes);
        assert_eq!(two.client.failure(near), Some(Failure::Refused(Cause::Unknown)), "{extra}");
    }
}

/// The peer still asks after both ends' RESETs were lost.
#[test]
fn an_ended_connection_still_has_its_cause() {
    let mut two = Two::new(|config| config.dead_peer_timeout = Some(TimeDelta::from_ms(4000)));
    let (near, far) = two.open(b"think");
    two.connected = false;
    two.server.abandon(two.now, far);
    two.run_for(TimeDelta::from_ms(10));
    two.connected = true;
    two.run_for(TimeDelta::from_ms(3000));
    assert_eq!(two.client.failure(near), Some(Failure::Refused(Cause::Ended)));
}
