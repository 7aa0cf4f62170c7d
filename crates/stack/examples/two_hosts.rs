//! Two NDP hosts in one process, on a cable in memory that loses frames: no socket, no privilege.
//!
//!     cargo run -p trimline-stack --example two_hosts
//!
//! A client sends a message of 1 MB to a server in another thread, which answers with its length. `Host::open` makes a
//! host on a real interface instead; the rest stays. The last line:
//!
//!     the server received 1000000 bytes

use std::error::Error;
use std::thread;

use trimline_packet::{BitRate, TimeDelta};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Config, Host, Options};
use trimline_stack::io::mem::{Impairments, Mem, impaired_pair};

const SERVICE: u16 = 7;
const WAIT: TimeDelta = TimeDelta::from_ms(60_000);

fn host(end: Mem, number: u8) -> Result<Host<Mem>, Box<dyn Error + Send + Sync>> {
    let address = |number: u8| [10, 0, 0, number].into();
    let peer = 3 - number;
    let config = Config::new(address(number), 1500, BitRate::from_gbps(10))?;
    let mut host = Host::new(end, config, Clock::real());
    host.core().add_peer(address(peer), &[], [2, 0, 0, 0, 0, peer]);
    Ok(host)
}

/// Receives one message and answers with its length.
fn serve(end: Mem) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut host = host(end, 2)?;
    host.listen(SERVICE);
    let mut accepted = None;
    let deadline = host.now() + WAIT;
    host.run_until(deadline, |core| {
        accepted = core.accept();
        accepted.is_some()
    })?;
    let connection = accepted.ok_or("no client came")?;
    let message = host.receive(connection, WAIT)?;
    host.core().send(connection, message.len().to_string().as_bytes())?;
    host.core().close(connection);
    host.drain(connection, WAIT)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let rules = Impairments { loss: Impairments::share(100), ..Impairments::default() };
    let (near, far) = impaired_pair(1500, rules, 1)?;
    let server = thread::spawn(move || serve(far));

    let mut client = host(near, 1)?;
    let connection = client.connect([10, 0, 0, 2].into(), SERVICE, Options::default())?;
    client.core().send(connection, &vec![5; 1_000_000])?;
    let answer = client.receive(connection, WAIT)?;

    let frames = client.statistics();
    println!("{} frames sent, {} received", frames.frames_out, frames.frames_in);
    if let Some(sent) = client.core().sender_statistics(connection) {
        let lost = sent.retransmissions_timeout;
        println!("{} data packets, {lost} of them after a time-out", sent.packets_sent);
    }
    println!("the server received {} bytes", String::from_utf8_lossy(&answer));

    // The ACK of the answer may be lost: the client repeats it until the server has it.
    while !server.is_finished() {
        let soon = client.now() + TimeDelta::from_ms(10);
        client.run_until(soon, |_| false)?;
    }
    server.join().expect("the server does not panic")
}
