use super::*;
use trimline_packet::TimeDelta;
use trimline_stack::host::{Cause, Connection, Failure, Options};

fn clean(mtu: usize) -> Pair {
    Pair::new(mtu, Impairments::default(), 0)
}

fn open(pair: &mut Pair, v6: bool) -> Connection {
    pair.core(0).connect(address(1, v6), SERVICE, Options::default()).unwrap()
}

fn received(pair: &mut Pair, host: usize, connection: Connection) -> Vec<u8> {
    let mut message = None;
    pair.run(|pair| {
        message = pair.core(host).receive(connection).unwrap();
        message.is_some()
    });
    message.unwrap()
}

#[test]
fn a_request_is_answered_without_a_handshake_and_leaves_nothing() {
    for v6 in [false, true] {
        let mut pair = Pair::with(1500, Impairments::default(), 0, v6, |_| {});
        let client = open(&mut pair, v6);
        pair.core(0).send(client, b"what time is it?").unwrap();
        pair.core(0).close(client);
        let mut server = None;
        pair.run(|pair| {
            server = server.or(pair.core(1).accept());
            server.is_some()
        });
        let server = server.unwrap();
        assert_eq!(pair.core(1).peer(server).unwrap().0, address(0, v6));
        assert_eq!(received(&mut pair, 1, server), b"what time is it?");
        assert_eq!(pair.core(1).receive(server), Err(Failure::Closed));
        pair.core(1).send(server, b"noon").unwrap();
        pair.core(1).close(server);
        assert_eq!(received(&mut pair, 0, client), b"noon");
        while pair.step() {}
        // Request, answer, and an ACK each.
        let frames = pair.hosts.each_ref().map(|host| host.statistics().frames_out);
        assert_eq!(frames, [2, 2]);
        assert_eq!([0, 1].map(|host| pair.core(host).connections()), [0, 0]);
    }
}

#[test]
fn messages_of_many_sizes_arrive_as_they_were_sent() {
    let mut pair = clean(1500);
    let client = open(&mut pair, false);
    let messages: Vec<Vec<u8>> =
        (0..300usize).map(|n| (0..1 + n * n % 7919).map(|i| (n + i) as u8).collect()).collect();
    for message in &messages {
        pair.core(0).send(client, message).unwrap();
    }
    pair.core(0).close(client);
    let mut server = None;
    let mut got = Vec::new();
    pair.run(|pair| {
        server = server.or(pair.core(1).accept());
        let Some(server) = server else { return false };
        loop {
            match pair.core(1).receive(server) {
                Ok(Some(message)) => got.push(message),
                Ok(None) => return false,
                Err(failure) => {
                    assert_eq!(failure, Failure::Closed);
                    return true;
                }
            }
        }
    });
    assert_eq!(got, messages);
}

#[test]
fn a_stream_is_read_in_pieces_and_ends() {
    let mut pair = clean(9100);
    let client = open(&mut pair, false);
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n ^ n >> 8) as u8).collect();
    assert_eq!(pair.core(0).write(client, &bytes).unwrap(), bytes.len());
    pair.core(0).close(client);
    let (mut server, mut got) = (None, Vec::new());
    pair.run(|pair| {
        server = server.or(pair.core(1).accept());
        let Some(server) = server else { return false };
        let mut piece = [0; 3001];
        loop {
            match pair.core(1).read(server, &mut piece) {
                Ok(0) => return false,
                Ok(count) => got.extend_from_slice(&piece[..count]),
                Err(failure) => return failure == Failure::Closed,
            }
        }
    });
    assert!(got == bytes, "{} bytes of {}", got.len(), bytes.len());
}

#[test]
fn both_ends_send_at_once() {
    let mut pair = clean(1500);
    let client = open(&mut pair, false);
    pair.core(0).send(client, b"hello").unwrap();
    let mut server = None;
    pair.run(|pair| {
        server = server.or(pair.core(1).accept());
        server.is_some()
    });
    let server = server.unwrap();
    let ends = [client, server];
    for round in 0..50u8 {
        for (host, end) in ends.into_iter().enumerate() {
            pair.core(host).send(end, &[round; 5000]).unwrap();
        }
    }
    assert_eq!(received(&mut pair, 1, server), b"hello");
    for round in 0..50u8 {
        for (host, end) in ends.into_iter().enumerate() {
            assert_eq!(received(&mut pair, host, end), [round; 5000]);
        }
    }
}

#[test]
fn a_service_that_no_host_offers_is_refused() {
    let mut pair = clean(1500);
    let client = pair.core(0).connect(address(1, false), 99, Options::default()).unwrap();
    pair.core(0).send(client, b"anyone?").unwrap();
    pair.run(|pair| pair.core(0).receive(client) == Err(Failure::Refused(Cause::NoService)));
    assert_eq!(pair.core(0).send(client, b"anyone?"), Err(Failure::Refused(Cause::NoService)));
}

#[test]
fn a_dead_peer_is_reported_by_the_deadline() {
    let all = Impairments { loss: u32::MAX, ..Impairments::default() };
    let mut pair = Pair::new(1500, all, 0);
    let deadline = Time::ZERO + TimeDelta::from_ms(500);
    let options = Options { deadline: Some(deadline), ..Options::default() };
    let client = pair.core(0).connect(address(1, false), SERVICE, options).unwrap();
    pair.core(0).send(client, b"anyone?").unwrap();
    pair.run(|pair| pair.core(0).receive(client) == Err(Failure::Deadline));
    assert_eq!(pair.clock.now(), deadline);
    // At most three RESETs are sent, and after time-wait the host is idle.
    let sent = pair.hosts[0].statistics().frames_out;
    while pair.step() {}
    assert!(pair.hosts[0].statistics().frames_out <= sent + 3);
}

#[test]
fn an_accepted_connection_with_a_dead_peer_ends_by_its_deadline() {
    let mut pair = clean(1500);
    let client = open(&mut pair, false);
    pair.core(0).send(client, b"half of a question").unwrap();
    let mut server = None;
    pair.run(|pair| {
        server = server.or(pair.core(1).accept());
        server.is_some()
    });
    let server = server.unwrap();
    let ms = |ms| Some(Time::ZERO + TimeDelta::from_ms(ms));
    // The later call counts, and `None` removes the deadline.
    for deadline in [ms(100), None, ms(300)] {
        pair.core(1).set_deadline(server, deadline);
    }
    assert_eq!(received(&mut pair, 1, server), b"half of a question");
    pair.run(|pair| pair.core(1).receive(server) == Err(Failure::Deadline));
    assert_eq!(Some(pair.clock.now()), ms(300));
    let now = pair.clock.now();
    pair.core(1).abandon(now, server);
    assert_eq!(pair.core(1).connections(), 0);
}

#[test]
fn a_full_send_buffer_takes_no_more_until_it_is_acked() {
    let mut pair =
        Pair::with(1500, Impairments::default(), 0, false, |config| config.send_buffer = 4000);
    let client = open(&mut pair, false);
    assert_eq!(pair.core(0).send(client, b""), Err(Failure::Empty));
    pair.core(0).send(client, &[1; 3000]).unwrap();
    assert_eq!(pair.core(0).send(client, &[2; 1001]), Err(Failure::Full));
    assert_eq!(pair.core(0).write(client, &[2; 1001]).unwrap(), 1000);
    pair.run(|pair| pair.core(0).is_sent(client));
    // A message longer than the buffer goes when the buffer is empty.
    pair.core(0).send(client, &[3; 10_000]).unwrap();
}

#[test]
fn the_higher_class_is_delivered_first() {
    let mut pair = Pair::with(1500, Impairments::default(), 0, false, |config| {
        // The receiver paces both; its first window is small.
        config.ndp.initial_window = 4;
        config.ndp.link_rate = BitRate::from_bps(100_000_000);
    });
    let open = |pair: &mut Pair, class| {
        let options = Options { class, ..Options::default() };
        let connection = pair.core(0).connect(address(1, false), SERVICE, options).unwrap();
        pair.core(0).send(connection, &[class; 300_000]).unwrap();
        pair.core(0).close(connection);
    };
    open(&mut pair, 0);
    open(&mut pair, 2);
    let (mut servers, mut order) = (Vec::new(), Vec::new());
    pair.run(|pair| {
        servers.extend(pair.core(1).accept());
        for &server in &servers {
            if let Ok(Some(message)) = pair.core(1).receive(server) {
                order.push(message[0]);
            }
        }
        order.len() == 2
    });
    assert_eq!(order, [2, 0]);
}

/// Returns the order in which two messages of 300 KB arrive, each on its own connection; `change` gets both ends'
/// connections.
fn order_with(change: impl Fn(&mut Pair, Time, [Connection; 2], &[Connection])) -> Vec<u8> {
    let mut pair = Pair::with(1500, Impairments::default(), 0, false, |config| {
        // The receiver paces both; its first window is small.
        config.ndp.initial_window = 4;
        config.ndp.link_rate = BitRate::from_bps(100_000_000);
    });
    let ends = [1u8, 2].map(|name| {
        let connection = open(&mut pair, false);
        // A short message first, so that the other end knows the connection.
        pair.core(0).send(connection, &[name]).unwrap();
        connection
    });
    let mut servers = Vec::new();
    pair.run(|pair| {
        servers.extend(pair.core(1).accept());
        servers.len() == 2
    });
    servers.sort_by_key(|&server| pair.core(1).receive(server).unwrap().unwrap()[0]);
    let now = pair.clock.now();
    change(&mut pair, now, ends, &servers);
    for (name, end) in (1u8..).zip(ends) {
        pair.core(0).send(end, &vec![name; 300_000]).unwrap();
    }
    let mut order = Vec::new();
    pair.run(|pair| {
        for &server in &servers {
            if let Ok(Some(message)) = pair.core(1).receive(server) {
                order.push(message[0]);
            }
        }
        order.len() == 2
    });
    order
}

/// The receiver knows its own priorities (NDP 3.2).
#[test]
fn a_receiver_pulls_its_prioritised_connection_first() {
    for (higher, order) in [(0, [1, 2]), (1, [2, 1])] {
        let got =
            order_with(|pair, now, _, servers| pair.core(1).prioritise(now, servers[higher], 3));
        assert_eq!(got, order);
    }
}
