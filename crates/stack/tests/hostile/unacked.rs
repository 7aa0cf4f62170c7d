//! Bounds on unacknowledged bytes, which the application sees.

use super::two::Two;
use super::*;

/// Answers to peers that send no ACK, each shorter than the send buffer.
#[test]
fn unsent_data_is_bounded_per_peer_and_in_total() {
    let mut server = server(|config| {
        config.limits.peer_unacked = 1_000_000;
        config.limits.host_unacked = 2_500_000;
    });
    let answer = vec![7; 300_000];
    let (mut taken, mut written) = ([0; 4], 0);
    for peer in 0..4 {
        for number in 0..5 {
            server.receive_frame(ms(1), &request(address(10 + peer), number, b"x"));
            let connection = server.accept().unwrap();
            assert_eq!(server.receive(connection), Ok(Some(b"x".to_vec())));
            match server.send(connection, &answer) {
                Ok(()) => taken[usize::from(peer)] += 1,
                Err(failure) => {
                    assert_eq!(failure, Failure::Full);
                    assert!(!server.has_room(connection, answer.len()));
                    written += server.write(connection, &answer).unwrap();
                }
            }
        }
        sent(&mut server, ms(1));
    }
    assert_eq!(taken, [3, 3, 1, 0], "no more than there is room for one peer, and in all");
    assert_eq!(written, 400_000, "of a stream as much as there is room");
    assert_eq!(server.unacked(), 2_500_000);
    // The connections fail with the silence, and then there is room.
    run_to(&mut server, ms(40_000));
    while let Some(connection) = server.next_readable() {
        server.abandon(ms(40_000), connection);
    }
    assert_eq!(server.unacked(), 0);
}

/// A message longer than a bound is taken when nothing else waits.
#[test]
fn acked_data_frees_room_for_a_message_of_any_length() {
    let mut two = Two::new(|config| config.limits.peer_unacked = 1000);
    let (near, far) = two.open(b"0");
    assert_eq!(two.server.receive(far), Ok(Some(b"0".to_vec())));
    for _ in 0..3 {
        two.client.send(near, &[7; 50_000]).unwrap();
        assert_eq!(two.client.send(near, b"x"), Err(Failure::Full));
        assert_eq!(two.client.write(near, b"x"), Ok(0));
        two.run_for(TimeDelta::from_ms(100));
        assert_eq!(two.server.next_length(far), Some(50_000));
        assert_eq!(two.server.receive(far).unwrap().map(|message| message.len()), Some(50_000));
        assert_eq!(two.client.unacked(), 0);
    }
}
