//! Two cores on a wire without delay, on a virtual clock.

use super::*;
use trimline_stack::host::Connection;

/// A client (10.0.0.2) and a server (10.0.0.1).
pub(super) struct Two {
    pub(super) now: Time,
    pub(super) client: Core,
    pub(super) server: Core,
    /// True if frames arrive.
    pub(super) connected: bool,
    /// Length of the client's longest frame that arrives, in bytes.
    pub(super) longest: usize,
    /// The client's packet that does not arrive.
    pub(super) lost: Option<u32>,
    /// Data frames that the client sent.
    pub(super) data: u64,
}

impl Two {
    pub(super) fn new(change: impl Fn(&mut Config)) -> Two {
        let mut config = config(2);
        change(&mut config);
        let mut client = Core::new(config);
        client.add_peer(address(1), &[], [2; 6]);
        Two {
            now: ms(1),
            client,
            server: server(change),
            connected: true,
            longest: usize::MAX,
            lost: None,
            data: 0,
        }
    }

    /// Runs both ends until `until`.
    pub(super) fn run_to(&mut self, until: Time) {
        loop {
            let Two { now, client, server, connected, longest, lost, data } = self;
            let mut moved = true;
            while moved {
                moved = client.expire(*now) | server.expire(*now);
                while let Some((_, packet)) = client.transmit(*now) {
                    moved = true;
                    let is_data = packet.header.kind == Kind::Data;
                    *data += u64::from(is_data);
                    let is_lost = is_data && *lost == Some(packet.header.sequence)
                        || client.frame().len() > *longest;
                    if *connected && !is_lost {
                        server.receive_frame(*now, client.frame());
                    }
                }
                while server.transmit(*now).is_some() {
                    moved = true;
                    if *connected {
                        client.receive_frame(*now, server.frame());
                    }
                }
            }
            let next = client.next().min(server.next());
            if next > until {
                *now = until;
                return;
            }
            *now = next.max(*now);
        }
    }

    pub(super) fn run_for(&mut self, time: TimeDelta) {
        self.run_to(self.now + time);
    }

    /// Opens a connection and sends a message on it.
    pub(super) fn send(&mut self, message: &[u8]) -> Connection {
        let near = self.client.connect(address(1), SERVICE, Default::default()).unwrap();
        self.client.send(near, message).unwrap();
        near
    }

    /// Opens a connection with a message. Returns both ends.
    pub(super) fn open(&mut self, message: &[u8]) -> (Connection, Connection) {
        let near = self.send(message);
        self.run_for(TimeDelta::from_ms(5));
        (near, self.server.accept().expect("it has arrived"))
    }
}
