//! The times of the first and the next request to a server, with and without address validation.

use std::io;

use trimline_packet::TimeDelta;

use super::network::{Shape, TestNetwork};
use super::rpc::{Carrier, Latencies, Run, latencies};
use trimline_stack::clock::Clock;

/// Request times of hosts that have just been started.
#[derive(Debug)]
pub struct Contact {
    /// The first request of each host: without a token.
    pub first: Latencies,
    /// The second request: with a token if the server gave one.
    pub next: Latencies,
}

/// Time that a host stays for its last ACKs.
const FAREWELL: TimeDelta = TimeDelta::from_ms(2);

/// Measures the first and the second request of `clients` clients, in turn, to a server with or without address
/// validation.
///
/// # Errors
/// Fails if a privilege is missing, or the other end is silent for five seconds.
pub fn measure(validates: bool, polls: bool, clients: u64) -> io::Result<Contact> {
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    let carrier = if validates { Carrier::NdpValidated } else { Carrier::Ndp };
    let run = Run::new(&network, carrier, polls, clients);
    run.beside_server(|| {
        let (mut contact, clock) =
            (Contact { first: latencies(), next: latencies() }, Clock::real());
        for _ in 0..clients {
            let mut host = run.client(&clock)?;
            // A new host first inspects its interface and looks up its peers.
            host.turn()?;
            contact.first.saturating_record(run.request(&mut host)?);
            contact.next.saturating_record(run.request(&mut host)?);
            let until = host.now().saturating_add(FAREWELL);
            host.run_until(until, |_| false)?;
        }
        Ok(contact)
    })
}
