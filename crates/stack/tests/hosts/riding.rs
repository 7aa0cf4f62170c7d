//! ACKs that ride in packets of data.

use super::*;
use trimline_stack::host::{Connection, Options};

/// A client and a server whose applications act before frames are sent, as in `Host::run_until`.
struct Two {
    now: Time,
    client: Core,
    server: Core,
    /// One frame in this many is lost; 0: none.
    loses: u64,
    frames: u64,
    /// The client's connections.
    asked: Vec<Connection>,
}

impl Two {
    fn new(joins: [bool; 2], loses: u64) -> Two {
        let core = |host: usize| {
            let mut config = config(host, 1500, false);
            config.joins_acks = joins[host];
            let mut core = Core::new(config);
            core.number_connections_from(host as u32 * 1000);
            core.add_peer(address(1 - host, false), &[], [2; 6]);
            core.listen(Time::ZERO, SERVICE);
            core
        };
        Two {
            now: Time::ZERO,
            client: core(0),
            server: core(1),
            loses,
            frames: 0,
            asked: Vec::new(),
        }
    }

    fn cross(&mut self, from_client: bool) -> bool {
        let Two { now, client, server, loses, frames, .. } = self;
        let (from, to) = if from_client { (client, server) } else { (server, client) };
        from.expire(*now);
        let mut any = false;
        while from.transmit(*now).is_some() {
            (any, *frames) = (true, *frames + 1);
            assert!(from.frame().len() <= 1514, "longer than the MTU");
            if *loses == 0 || !frames.is_multiple_of(*loses) {
                to.receive_frame(*now, from.frame());
            }
        }
        any
    }

    /// Lets the server answer the requests that it has.
    fn serve(&mut self) {
        while self.server.accept().is_some() {}
        while let Some(connection) = self.server.next_readable() {
            if let Ok(Some(request)) = self.server.receive(connection) {
                self.server.send(connection, &request).unwrap();
                self.server.close(connection);
            }
        }
    }

    /// Sends requests in sequence, each on its own connection; the server echoes them. Returns the frames of both.
    fn requests(mut self, count: usize, bytes: usize) -> u64 {
        let message = vec![7; bytes];
        let mut answered = 0;
        for _ in 0..1_000_000 {
            let asked = self.asked.last().copied();
            let answer = asked.map(|one| self.client.receive(one).expect("it did not fail"));
            if let Some(Some(answer)) = &answer {
                assert!(*answer == message);
                answered += 1;
            }
            if answered == count {
                self.end();
                return self.frames;
            }
            if asked.is_none() || answer.flatten().is_some() {
                let one = self.client.connect(address(1, false), SERVICE, Options::default());
                let one = one.unwrap();
                self.client.send(one, &message).unwrap();
                self.client.close(one);
                self.asked.push(one);
            }
            let mut any = self.cross(true);
            self.serve();
            any |= self.cross(false);
            if !any {
                self.now = self.now.max(self.client.next().min(self.server.next()));
            }
        }
        panic!("{answered} of {count} requests of {bytes} B were answered");
    }

    /// Checks that nothing is left at the end.
    fn end(&mut self) {
        self.loses = 0;
        while self.client.next().min(self.server.next()) < Time::NEVER {
            self.now = self.now.max(self.client.next().min(self.server.next()));
            self.cross(true);
            self.serve();
            self.cross(false);
            // The end of an answer may come in a packet behind it.
            self.asked.iter().for_each(|&one| drop(self.client.receive(one)));
        }
        assert_eq!((self.client.connections(), self.server.connections()), (0, 0));
    }
}

/// One frame there and one back.
#[test]
fn requests_and_answers_carry_acks() {
    let frames = |joins| Two::new(joins, 0).requests(100, 500);
    let (apart, joined) = (frames([false; 2]), frames([true; 2]));
    assert_eq!((apart, joined), (400, 201), "the last answer is ACKed alone");
    // A host that does not join ACKs still understands them.
    assert_eq!([frames([true, false]), frames([false, true])], [301, 300]);
}

/// A packet without room carries no ACK.
#[test]
fn messages_of_any_length_leave_room_for_acks() {
    for bytes in
        [1, 1380, 1395, 1399, 1400, 1401, 1402, 1405, 1410, 1411, 1412, 1413, 3000, 100_000]
    {
        Two::new([true; 2], 0).requests(5, bytes);
        for loses in [3, 7, 20] {
            Two::new([true; 2], loses).requests(10, bytes);
        }
    }
}

/// Four ACKs wait when the first of four answers goes, which fills its packet.
#[test]
fn a_full_packet_carries_no_ack() {
    let mut two = Two::new([true; 2], 0);
    for _ in 0..4 {
        let one = two.client.connect(address(1, false), SERVICE, Options::default()).unwrap();
        two.client.send(one, &[7; 1411]).unwrap();
        two.client.close(one);
        two.asked.push(one);
    }
    for _ in 0..10 {
        two.now += TimeDelta::from_us(10);
        two.cross(true);
    }
    two.serve();
    two.cross(false);
    two.end();
    assert!(two.frames >= 12, "{} frames", two.frames);
}
