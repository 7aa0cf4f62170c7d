//! For tests: a client and a server on a wire without delay, on a virtual clock.

use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_stack::host::{Config, Core};

pub(super) const CLIENT: [u8; 4] = [10, 0, 0, 2];
pub(super) const SERVER: [u8; 4] = [10, 0, 0, 1];

pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) client: Core,
    pub(super) server: Core,
    pub(super) is_cut: bool,
}

impl Pair {
    /// A client with a large send buffer, and a server that listens.
    pub(super) fn new(service: u16) -> Pair {
        Pair::with(service, |_| {})
    }

    /// Two hosts on one cable, with `change` applied to the configuration of both.
    pub(super) fn with(service: u16, change: impl Fn(&mut Config)) -> Pair {
        let config = |address: [u8; 4]| {
            let mut config = Config::new(address.into(), 1500, BitRate::from_gbps(10)).unwrap();
            change(&mut config);
            config
        };
        let mut of_client = config(CLIENT);
        (of_client.send_buffer, of_client.limits.peer_unacked) = (1 << 24, 1 << 30);
        let (mut client, mut server) = (Core::new(of_client), Core::new(config(SERVER)));
        client.add_peer(SERVER.into(), &[], [2; 6]);
        server.listen(Time::ZERO, service);
        let now = Time::ZERO.saturating_add(TimeDelta::from_ms(1));
        Pair { now, client, server, is_cut: false }
    }

    pub(super) fn run_for(&mut self, time: TimeDelta) {
        let until = self.now.saturating_add(time);
        loop {
            while self.turn() {}
            let next = self.client.next().min(self.server.next());
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(self.now);
        }
    }

    /// Performs the actions due now. Returns whether there were any.
    fn turn(&mut self) -> bool {
        let Pair { now, client, server, is_cut } = self;
        let mut any = client.expire(*now) | server.expire(*now);
        while client.transmit(*now).is_some() {
            any = true;
            if !*is_cut {
                server.receive_frame(*now, client.frame());
            }
        }
        while server.transmit(*now).is_some() {
            any = true;
            if !*is_cut {
                client.receive_frame(*now, server.frame());
            }
        }
        any
    }
}
