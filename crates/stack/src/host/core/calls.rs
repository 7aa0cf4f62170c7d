//! The calls of an application to its host.

use std::net::IpAddr;

use trimline_packet::Time;
use trimline_packet::wire::Routes;
use trimline_transport::Side;
use trimline_transport::ndp::{self, Command};

use super::super::peers::ME;
use super::super::{Config, Connection, Failure, Options, Statistics};
use super::{CHECKED, Core, Entry, Name};

/// Bytes of the CRC-32C behind a checked message.
const SUM: usize = 4;

impl Entry {
    /// Returns why nothing is left to read and nothing will come, if so. A failed delivery takes precedence over the
    /// peer's end, because only a failed connection is to be abandoned.
    fn end(&self) -> Option<Failure> {
        let is_finished = self.incoming.is_finished();
        let is_delivered = self.outgoing.is_complete();
        let counts =
            |failure: &Failure| !is_finished || !is_delivered || *failure == Failure::Altered;
        let failure = self.failure.filter(counts);
        failure.or(is_finished.then_some(Failure::Closed))
    }
}

impl Core {
    /// Opens a connection to a known peer. Nothing is sent before there is data.
    ///
    /// # Errors
    /// Returns [`Failure::Unreachable`] for a peer that [`Core::add_peer`] did not add.
    ///
    /// # Panics
    /// Panics for a service port of 32,768 or more.
    pub fn connect(
        &mut self,
        peer: IpAddr,
        service_port: u16,
        options: Options,
    ) -> Result<Connection, Failure> {
        assert!(service_port < CHECKED, "service ports lie below {CHECKED}, not {service_port}");
        let service_port = service_port | if options.checked { CHECKED } else { 0 };
        let host = self.peers.host(peer).ok_or(Failure::Unreachable)?;
        if self.peers.next_hop(host).is_none() || host == ME {
            return Err(Failure::Unreachable);
        }
        let name = loop {
            let connection = self.connection_ids.next();
            let name = Name { peer: host, connection, opened_here: true };
            // Neither in use nor remembered.
            let unknown = |side| self.slots.slot(name.key(side)).is_none();
            if unknown(Side::Sending) && unknown(Side::Receiving) && !self.names.contains_key(&name)
            {
                break name;
            }
        };
        let index = self.entry(name, service_port, Options { deadline: None, ..options });
        let connection = self.handle(index);
        self.set_deadline(connection, options.deadline);
        Ok(connection)
    }

    /// Accepts a connection that a peer opened.
    pub fn accept(&mut self) -> Option<Connection> {
        while let Some(connection) = self.accepted.pop_front() {
            if let Some(entry) = self.find(connection) {
                entry.taken = true;
                return Some(connection);
            }
        }
        None
    }

    /// Returns a connection with something new to read since it was last returned.
    pub fn next_readable(&mut self) -> Option<Connection> {
        while let Some(connection) = self.readable.pop_front() {
            if let Some(entry) = self.find(connection) {
                entry.listed = false;
                return Some(connection);
            }
        }
        None
    }

    /// Returns the other end's canonical address, and the service port.
    pub fn peer(&mut self, connection: Connection) -> Option<(IpAddr, u16)> {
        let (host, port) =
            self.find(connection).map(|entry| (entry.name.peer, entry.service_port & !CHECKED))?;
        Some((self.peers.canonical(host)?, port))
    }

    fn sending(&mut self, connection: Connection) -> Result<&mut Entry, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        match entry.failure {
            Some(failure) => Err(failure),
            None if entry.outgoing.is_closed() => Err(Failure::Closed),
            None => Ok(entry),
        }
    }

    fn list_unhanded(&mut self, index: u32) {
        let outgoing = &mut self.entries[index as usize].outgoing;
        if !std::mem::replace(&mut outgoing.listed, true) {
            self.unhanded.push(index);
        }
    }

    /// Queues a message for sending.
    ///
    /// # Errors
    /// Returns [`Failure::Full`] without room for it now ([`Core::has_room`]), [`Failure::Empty`] for no bytes,
    /// [`Failure::TooLong`] for more than [`super::super::Limits::message_bytes`].
    pub fn send(&mut self, connection: Connection, message: &[u8]) -> Result<(), Failure> {
        let longest = self.config.limits.message_bytes;
        let checked = self.sending(connection)?.options.checked;
        if message.is_empty() {
            return Err(Failure::Empty);
        }
        if message.len() as u64 > longest {
            return Err(Failure::TooLong);
        }
        if !self.has_room(connection, message.len()) {
            return Err(Failure::Full);
        }
        let outgoing = &mut self.entries[connection.index as usize].outgoing;
        match checked {
            true => {
                let sum = crc32c::crc32c(message).to_be_bytes();
                outgoing.message(&[message, &sum].concat());
            }
            false => outgoing.message(message),
        }
        self.count_unacked(connection.index);
        self.list_unhanded(connection.index);
        Ok(())
    }

    /// Returns whether the buffers of the connection, its peer and the host have room for a message of `length` bytes
    /// now. An empty buffer accepts any message.
    pub fn has_room(&mut self, connection: Connection, length: usize) -> bool {
        let Some(entry) = self.find(connection) else { return false };
        let (length, used, peer) = (length as u64, entry.outgoing.bytes() as u64, entry.name.peer);
        let (of_peer, of_all) = self.peers.holdings(peer);
        let Config { send_buffer, limits, .. } = &self.config;
        [
            (used, *send_buffer as u64),
            (of_peer.unacked, limits.peer_unacked),
            (of_all.unacked, limits.host_unacked),
        ]
        .into_iter()
        .all(|(used, max)| used == 0 || used + length <= max)
    }

    pub(super) fn count_unacked(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let unacked = entry.outgoing.bytes() as u64;
        let before = std::mem::replace(&mut entry.unacked, unacked);
        if before != unacked {
            let peer = entry.name.peer;
            self.peers.holds(peer, |holdings| {
                holdings.unacked = holdings.unacked - before + unacked;
            });
        }
    }

    /// Queues bytes of a stream. Returns how many were accepted, which may be fewer as in [`Core::has_room`].
    ///
    /// # Errors
    /// Fails for a connection that may not send any more.
    pub fn write(&mut self, connection: Connection, bytes: &[u8]) -> Result<usize, Failure> {
        let entry = self.sending(connection)?;
        if entry.options.checked {
            return Err(Failure::Unchecked);
        }
        let (used, name) = (entry.outgoing.bytes(), entry.name);
        // Twice the window: one window is on its way while the next is written.
        let window =
            self.slots.slot(name.key(Side::Sending)).map_or(0, |slot| self.endpoint.window(slot));
        let limit = 2 * window as usize * usize::from(self.config.ndp.payload_bytes);
        let room = self.config.send_buffer.max(limit).saturating_sub(used) as u64;
        let peer = name.peer;
        let (of_peer, of_all) = self.peers.holdings(peer);
        let limits = &self.config.limits;
        let room = room
            .min(limits.peer_unacked.saturating_sub(of_peer.unacked))
            .min(limits.host_unacked.saturating_sub(of_all.unacked));
        let count = bytes.len().min(room as usize);
        if count > 0 {
            self.entries[connection.index as usize].outgoing.write(&bytes[..count]);
            self.count_unacked(connection.index);
            self.list_unhanded(connection.index);
        }
        Ok(count)
    }

    /// Ends the sending direction after all queued data. The other direction goes on.
    pub fn close(&mut self, connection: Connection) {
        let Ok(entry) = self.sending(connection) else { return };
        entry.outgoing.close();
        self.count_unacked(connection.index);
        self.list_unhanded(connection.index);
    }

    /// Abandons a connection: nothing is sent again, arrivals are dropped, and a RESET tells the peer.
    pub fn abandon(&mut self, now: Time, connection: Connection) {
        if self.find(connection).is_some() {
            self.fail(now, connection.index, Failure::Closed);
        }
    }

    /// Abandons every connection before the program ends.
    pub fn abandon_all(&mut self, now: Time) {
        for index in 0..self.entries.len() as u32 {
            self.abandon(now, self.handle(index));
        }
    }

    /// Returns the length of the next whole message, in bytes.
    pub fn next_length(&mut self, connection: Connection) -> Option<usize> {
        let entry = self.find(connection)?;
        let sum = if entry.options.checked { SUM } else { 0 };
        entry.incoming.next_length().map(|length| length.saturating_sub(sum))
    }

    /// Takes the next whole message.
    ///
    /// # Errors
    /// Returns [`Failure::Closed`] when no message is left and none will come; otherwise why the connection failed, on
    /// each call until it is abandoned. That precedes the peer's end if not all sent data was ACKed.
    pub fn receive(&mut self, connection: Connection) -> Result<Option<Vec<u8>>, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        let (mut message, mut is_whole) = (entry.incoming.message(), true);
        if let Some(message) = message.as_mut().filter(|_| entry.options.checked) {
            let sum = message.split_off(message.len().saturating_sub(SUM));
            is_whole = sum == crc32c::crc32c(message).to_be_bytes();
        }
        if !is_whole {
            self.fail(self.clock, connection.index, Failure::Altered);
            return Err(Failure::Altered);
        }
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        let end = if message.is_some() { None } else { entry.end() };
        self.account(connection.index);
        self.retire(connection.index);
        end.map_or(Ok(message), Err)
    }

    /// Reads the next bytes of the stream. Returns their number, 0 if there are none now.
    ///
    /// # Errors
    /// Fails as [`Core::receive`] does.
    pub fn read(&mut self, connection: Connection, bytes: &mut [u8]) -> Result<usize, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        if entry.options.checked {
            return Err(Failure::Unchecked);
        }
        let count = entry.incoming.read(bytes);
        let end = if count > 0 { None } else { entry.end() };
        self.account(connection.index);
        self.retire(connection.index);
        end.map_or(Ok(count), Err)
    }

    /// Returns whether all data given to send has been ACKed.
    pub fn is_sent(&mut self, connection: Connection) -> bool {
        self.find(connection).is_none_or(|entry| entry.outgoing.is_complete())
    }

    /// Sets when the connection fails if it is still in use, also if the peer opened it.
    pub fn set_deadline(&mut self, connection: Connection, deadline: Option<Time>) {
        let Some(entry) = self.find(connection) else { return };
        let Connection { index, generation } = connection;
        if let Some(old) = std::mem::replace(&mut entry.options.deadline, deadline) {
            self.deadlines.remove(&(old, index, generation));
        }
        self.deadlines.extend(deadline.map(|deadline| (deadline, index, generation)));
    }

    /// Pulls this connection's data in another class from now on, 0 to 3.
    pub fn prioritise(&mut self, now: Time, connection: Connection, class: u8) {
        let Some(name) = self.find(connection).map(|entry| entry.name) else { return };
        self.command(now, Command::Prioritise { key: name.key(Side::Receiving), class });
    }

    /// Returns the statistics of the send stream, while the endpoint remembers it.
    pub fn sender_statistics(&mut self, connection: Connection) -> Option<ndp::SenderStatistics> {
        let name = self.find(connection)?.name;
        let slot = self.slots.slot(name.key(Side::Sending))?;
        Some(*self.endpoint.sender_statistics(slot))
    }

    /// Returns the statistics of the receive stream, while the endpoint remembers it.
    pub fn receiver_statistics(
        &mut self,
        connection: Connection,
    ) -> Option<ndp::ReceiverStatistics> {
        let name = self.find(connection)?.name;
        let slot = self.slots.slot(name.key(Side::Receiving))?;
        Some(*self.endpoint.receiver_statistics(slot))
    }

    /// Returns why a connection failed.
    pub fn failure(&mut self, connection: Connection) -> Option<Failure> {
        self.find(connection).and_then(|entry| entry.failure)
    }

    /// Returns the number of peers that this host did not name.
    pub fn peers(&self) -> u32 {
        self.peers.strangers()
    }

    /// Returns all bytes that have arrived and were not read.
    pub fn buffered_bytes(&self) -> u64 {
        self.peers.holdings(ME).1.kept
    }

    /// Returns all bytes that are to be sent or ACKed.
    pub fn unacked(&self) -> u64 {
        self.peers.holdings(ME).1.unacked
    }

    /// Returns the counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the number of connections in use.
    pub fn connections(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::{BitRate, TimeDelta};

    fn at(ms: u64) -> Time {
        Time::ZERO.saturating_add(TimeDelta::from_ms(ms))
    }

    fn two() -> [Core; 2] {
        let of = |number: u8| {
            let address = [10, 0, 0, number].into();
            Core::new(Config::new(address, 1500, BitRate::from_gbps(10)).unwrap())
        };
        let [mut client, mut server] = [of(2), of(1)];
        client.add_peer([10, 0, 0, 1].into(), &[], [2; 6]);
        server.listen(at(0), 7);
        [client, server]
    }

    fn exchange(from: u64, client: &mut Core, server: &mut Core) {
        for step in 0..10 {
            let now = at(from).saturating_add(TimeDelta::from_us(100 * step));
            while client.transmit(now).is_some() {
                server.receive_frame(now, client.frame());
            }
            while server.transmit(now).is_some() {
                client.receive_frame(now, server.frame());
            }
        }
    }

    /// Returns a server that read a request with its sender's end, but answers after the client is gone.
    fn answered_too_late() -> (Core, Connection) {
        let [mut client, mut server] = two();
        let near = client.connect([10, 0, 0, 1].into(), 7, Options::default()).unwrap();
        client.send(near, b"question").unwrap();
        client.close(near);
        exchange(1, &mut client, &mut server);
        let far = server.accept().unwrap();
        assert_eq!(server.receive(far), Ok(Some(b"question".to_vec())));
        assert_eq!(server.receive(far), Err(Failure::Closed));
        server.send(far, b"answer").unwrap();
        server.close(far);
        (server, far)
    }

    #[test]
    fn an_unacknowledged_answer_is_a_failure_after_a_whole_request() {
        let (mut server, far) = answered_too_late();
        server.set_deadline(far, Some(at(50)));
        let mut now = at(2);
        while server.failure(far).is_none() {
            server.expire(now);
            while server.transmit(now).is_some() {}
            now = server.next().max(now.saturating_add(TimeDelta::from_us(10)));
        }
        // It is listed, reports why it failed, and goes when it is abandoned.
        assert_eq!(std::iter::from_fn(|| server.next_readable()).last(), Some(far));
        assert_eq!(server.receive(far), Err(Failure::Deadline));
        assert_eq!(server.read(far, &mut [0; 8]), Err(Failure::Deadline));
        assert_eq!(server.connections(), 1);
        server.abandon(now, far);
        assert_eq!(server.connections(), 0);
    }

    #[test]
    fn a_message_that_was_read_stays_whole_after_a_failure() {
        let [mut client, mut server] = two();
        let near = client.connect([10, 0, 0, 1].into(), 7, Options::default()).unwrap();
        client.write(near, b"all").unwrap();
        client.close(near);
        exchange(1, &mut client, &mut server);
        let far = server.accept().unwrap();
        server.set_deadline(far, Some(at(3)));
        server.expire(at(4));
        assert_eq!(server.failure(far), Some(Failure::Deadline));
        assert_eq!(server.read(far, &mut [0; 8]), Ok(3));
        assert_eq!(server.read(far, &mut [0; 8]), Err(Failure::Closed));
    }
}
