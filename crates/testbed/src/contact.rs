//! What the first request to a server costs and what the next one does, where the server validates addresses and where
//! it does not.

use std::io;

use trimline_packet::TimeDelta;

use super::network::{Shape, TestNetwork};
use super::rpc::{Carrier, Latencies, Run, latencies};
use trimline_stack::clock::Clock;

/// Times of requests of hosts that have just been started.
#[derive(Debug)]
pub struct Contact {
    /// The first request of each: without a token.
    pub first: Latencies,
    /// The second one: with a token where the server gave one.
    pub next: Latencies,
}

/// How long a host stays after its requests: its last ACKs are on their way.
const FAREWELL: TimeDelta = TimeDelta::from_ms(2);

/// Times the first and the second request of so many clients, one after the other, of a server that validates
/// addresses or not.
///
/// # Errors
/// A right is missing, or the other end says nothing for five seconds.
pub fn measure(validates: bool, polls: bool, clients: u64) -> io::Result<Contact> {
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    let carrier = if validates { Carrier::NdpValidated } else { Carrier::Ndp };
    let run = Run::new(&network, carrier, polls, clients);
    run.beside_server(|| {
        let (mut contact, clock) =
            (Contact { first: latencies(), next: latencies() }, Clock::real());
        for _ in 0..clients {
            let mut host = run.client(&clock)?;
            // A new host looks at its interface and for its peers first.
            host.turn()?;
            contact.first.saturating_record(run.request(&mut host)?);
            contact.next.saturating_record(run.request(&mut host)?);
            let until = host.now().saturating_add(FAREWELL);
            host.run_until(until, |_| false)?;
        }
        Ok(contact)
    })
}
