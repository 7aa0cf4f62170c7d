//! Answers every request with itself: `trimline rpc serve`.

use std::collections::BTreeSet;

use trimline_packet::{Time, TimeDelta};
use trimline_stack::host::{Connection, Core, Failure};

/// The service that answers requests.
pub(super) const PING_SERVICE: u16 = 7;

/// Max time that a client waits for an answer.
pub(super) const STALL_TIMEOUT: TimeDelta = TimeDelta::from_ms(2000);

/// Max time for the rest of a request, or for the ACKs of its answer.
const LONGEST_REQUEST: TimeDelta = TimeDelta::from_ms(60_000);

#[derive(Debug, Default)]
pub(super) struct Server {
    /// Connections whose request waits for room for its answer: a peer that does not read its answers is not pulled.
    waiting: BTreeSet<Connection>,
}

impl Server {
    /// Answers arrived requests. Returns whether it sent anything.
    pub(super) fn answer(&mut self, core: &mut Core, now: Time) -> bool {
        // A client that vanishes midway must not be remembered for ever.
        let deadline = now.saturating_add(LONGEST_REQUEST);
        while let Some(connection) = core.accept() {
            core.set_deadline(connection, Some(deadline));
        }
        let mut any = false;
        for connection in std::mem::take(&mut self.waiting) {
            any |= self.go_on(core, now, connection);
        }
        while let Some(connection) = core.next_readable() {
            any |= self.go_on(core, now, connection);
        }
        any
    }

    /// Answers requests while there is room. Returns whether it sent anything.
    fn go_on(&mut self, core: &mut Core, now: Time, connection: Connection) -> bool {
        let mut any = false;
        loop {
            let length = core.next_length(connection);
            if core.failure(connection).is_none()
                && length.is_some_and(|length| !core.has_room(connection, length))
            {
                self.waiting.insert(connection);
                return any;
            }
            let sent = match core.receive(connection) {
                Ok(Some(message)) => core.send(connection, &message),
                Ok(None) => return any,
                Err(failure) => Err(failure),
            };
            match sent {
                Ok(()) => any = true,
                // An empty message has no answer.
                Err(Failure::Empty) => {}
                Err(failure) => {
                    end(core, now, connection, failure);
                    return any;
                }
            }
        }
    }
}

/// Ends a connection. Answers are still delivered, unless it failed.
fn end(core: &mut Core, now: Time, connection: Connection, failure: Failure) {
    if failure == Failure::Closed {
        core.close(connection);
    }
    if failure != Failure::Closed || core.failure(connection).is_some() {
        core.abandon(now, connection);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::{Pair, SERVER};
    use super::*;

    fn ms(ms: u64) -> TimeDelta {
        TimeDelta::from_ms(ms)
    }

    #[test]
    fn an_answer_without_buffer_room_is_sent_later() {
        let mut pair = Pair::new(PING_SERVICE);
        let near = pair.client.connect(SERVER.into(), PING_SERVICE, Default::default()).unwrap();
        // Together they are longer than a server's send buffer.
        let messages: Vec<Vec<u8>> = (1..6).map(|number| vec![number; 700_000]).collect();
        messages.iter().for_each(|message| pair.client.send(near, message).unwrap());
        pair.client.close(near);
        let (mut server, mut got) = (Server::default(), Vec::new());
        let end = loop {
            pair.run_for(ms(1));
            server.answer(&mut pair.server, pair.now);
            match pair.client.receive(near) {
                Ok(message) => got.extend(message),
                Err(failure) => break failure,
            }
            assert!(pair.now < Time::ZERO.saturating_add(ms(20_000)), "{} answers", got.len());
        };
        pair.run_for(ms(10));
        assert!(got == messages, "{} answers", got.len());
        assert_eq!((end, pair.server.connections()), (Failure::Closed, 0));
        assert!(server.waiting.is_empty());
    }

    #[test]
    fn a_client_that_reads_no_answer_gets_no_more_until_it_reads() {
        const EACH: usize = 500_000;
        let mut pair = Pair::with(PING_SERVICE, |config| {
            config.limits.peer_unacked = 2_000_000;
            config.limits.peer_bytes = 20_000_000;
            config.limits.receive_buffer = 10_000;
        });
        let ends: Vec<_> = (0..30)
            .map(|number| {
                let near = pair.client.connect(SERVER.into(), PING_SERVICE, Default::default());
                let near = near.unwrap();
                pair.client.send(near, &vec![number; EACH]).unwrap();
                near
            })
            .collect();
        let (mut server, mut max) = (Server::default(), 0);
        for _ in 0..1000 {
            pair.run_for(ms(1));
            server.answer(&mut pair.server, pair.now);
            max = max.max(pair.server.unacked());
        }
        assert!((1_000_000..=2_000_000).contains(&max), "{max} B waited to be sent");
        assert!(!server.waiting.is_empty() && pair.server.buffered_bytes() > 10_000_000);
        let mut got = vec![None; ends.len()];
        while got.iter().any(Option::is_none) {
            assert!(pair.now < Time::ZERO.saturating_add(ms(30_000)));
            pair.run_for(ms(1));
            server.answer(&mut pair.server, pair.now);
            for (got, &near) in got.iter_mut().zip(&ends).filter(|(got, _)| got.is_none()) {
                *got = pair.client.receive(near).unwrap();
            }
        }
        let is_own =
            |(number, got): (usize, &Option<Vec<u8>>)| *got == Some(vec![number as u8; EACH]);
        assert!(got.iter().enumerate().all(is_own));
    }

    #[test]
    fn clients_that_die_before_they_ack_their_answers_leave_nothing() {
        let (mut pair, mut server) = (Pair::new(PING_SERVICE), Server::default());
        for _ in 0..20 {
            let near =
                pair.client.connect(SERVER.into(), PING_SERVICE, Default::default()).unwrap();
            pair.client.send(near, b"question").unwrap();
            pair.client.close(near);
        }
        pair.run_for(ms(5));
        pair.is_cut = true;
        assert!(server.answer(&mut pair.server, pair.now));
        assert_eq!(pair.server.connections(), 20);
        // Longer than `LONGEST_REQUEST`.
        for _ in 0..700 {
            pair.run_for(ms(100));
            server.answer(&mut pair.server, pair.now);
        }
        assert_eq!(pair.server.connections(), 0);
    }
}
