use super::*;
use trimline_stack::host::Options;
use trimline_stack::io::PacketIo;

/// Returns the frames that a core sends now.
fn frames(core: &mut Core, now: Time) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while core.transmit(now).is_some() {
        frames.push(core.frame().to_vec());
    }
    frames
}

fn server() -> Core {
    let mut server = Core::new(config(1, 1500, false));
    server.add_peer(address(0, false), &[], [2, 0, 0, 0, 0, 0]);
    server.listen(Time::ZERO, SERVICE);
    server
}

fn request(client: &mut Core, bytes: usize) -> Vec<Vec<u8>> {
    client.add_peer(address(1, false), &[], [2, 0, 0, 0, 0, 1]);
    let connection = client.connect(address(1, false), SERVICE, Options::default()).unwrap();
    client.send(connection, &vec![5; bytes]).unwrap();
    client.close(connection);
    let mut sent = Vec::new();
    for us in 0..100 {
        sent.extend(frames(client, Time::ZERO + TimeDelta::from_us(us)));
    }
    sent
}

/// Returns the number of messages that a server got.
fn served(server: &mut Core) -> usize {
    let mut count = 0;
    while let Some(connection) = server.accept() {
        while let Ok(Some(_)) = server.receive(connection) {
            count += 1;
        }
        server.close(connection);
    }
    count
}

#[test]
fn a_request_with_repeated_reordered_packets_is_served_once() {
    let mut client = Core::new(config(0, 1500, false));
    let sent = request(&mut client, 10_000);
    assert!(sent.len() > 5, "several packets");
    let mut server = server();
    let ms = |ms| Time::ZERO + TimeDelta::from_ms(ms);
    for frame in sent.iter().rev() {
        server.receive_frame(ms(0), frame);
    }
    assert_eq!(served(&mut server), 1);
    // Copies for as long as packets live: each renews the memory.
    for time in [1, 20, 60, 100] {
        server.expire(ms(time));
        for frame in sent.iter().chain(sent.iter().rev()) {
            server.receive_frame(ms(time), frame);
        }
        assert_eq!(served(&mut server), 0, "at {time} ms");
        frames(&mut server, ms(time));
    }
}

#[test]
fn a_restarted_client_is_served_again() {
    let mut server = server();
    for start in 0..20 {
        // A new process has only the addresses in common.
        let mut client = Core::new(config(0, 1500, false));
        for frame in request(&mut client, 3000) {
            server.receive_frame(Time::ZERO, &frame);
        }
        assert_eq!(served(&mut server), 1, "start {start}");
        frames(&mut server, Time::ZERO + TimeDelta::from_ms(1));
    }
}

#[test]
fn frames_for_others_and_noise_do_no_harm() {
    let mut pair = Pair::new(1500, Impairments::default(), 0);
    let (mut noise, mut into) = mem::pair(1500).unwrap();
    noise.tx_burst(&[&[&[0xff; 60]]]).unwrap();
    into.rx_burst(8, &mut |frame| pair.core(1).receive_frame(Time::ZERO, frame)).unwrap();
    let mut client = Core::new(config(5, 1500, false));
    let mut sent = request(&mut client, 100);
    assert_eq!(sent.len(), 1);
    // To another host, with valid sums.
    pair.core(0).receive_frame(Time::ZERO, &sent[0]);
    sent[0].truncate(30);
    pair.core(1).receive_frame(Time::ZERO, &sent[0]);
    assert_eq!(pair.hosts[0].statistics().misdirected, 1);
    assert_eq!(pair.hosts[1].statistics().refused_in_all(), 2);
    pair.run_until_idle();
    assert!(pair.hosts.iter().all(|host| host.statistics().frames_out == 0));
}
