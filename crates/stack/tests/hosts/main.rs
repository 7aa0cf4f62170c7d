//! Two hosts on an in-memory cable, on a virtual clock.

mod at_most_once;
mod hostile;
mod impaired;
mod paths;
mod riding;
mod talk;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Config, Core, Host, Streams};
use trimline_stack::io::mem::{self, Impairments, Mem};

/// The service that every test uses.
const SERVICE: u16 = 7;

/// Two hosts and their clock.
struct Pair {
    clock: Clock,
    hosts: [Host<Mem>; 2],
}

fn address(host: usize, v6: bool) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host as u16 + 1).into()
    } else {
        Ipv4Addr::new(10, 0, 0, host as u8 + 1).into()
    }
}

fn config(host: usize, mtu: usize, v6: bool) -> Config {
    let mut config = Config::new(address(host, v6), mtu, BitRate::from_gbps(10)).unwrap();
    config.streams = Some(Streams::seeded(host as u64));
    config.ndp.rto = TimeDelta::from_ms(1);
    config.ndp.pull_repeat = TimeDelta::from_ms(1);
    config.ndp.time_wait = TimeDelta::from_ms(50);
    // The world ends when it is idle.
    config.dead_peer_timeout = None;
    config
}

impl Pair {
    fn new(mtu: usize, rules: Impairments, seed: u64) -> Pair {
        Pair::with(mtu, rules, seed, false, |_| {})
    }

    fn with(
        mtu: usize,
        rules: Impairments,
        seed: u64,
        v6: bool,
        change: impl Fn(&mut Config),
    ) -> Pair {
        let clock = Clock::new_virtual();
        let (a, b) = mem::impaired_pair(mtu, rules, seed).unwrap();
        let mut number = 0;
        let hosts = [a, b].map(|end| {
            let mut config = config(number, mtu, v6);
            change(&mut config);
            let mut host = Host::new(end, config, clock.clone());
            let peer = 1 - number;
            host.core().add_peer(address(peer, v6), &[], [2, 0, 0, 0, 0, peer as u8]);
            host.core().number_connections_from(number as u32 * 1000);
            host.listen(SERVICE);
            number += 1;
            host
        });
        Pair { clock, hosts }
    }

    fn core(&mut self, host: usize) -> &mut Core {
        self.hosts[host].core()
    }

    /// Lets both act until both are idle at this instant.
    fn run_until_idle(&mut self) {
        while self.hosts.iter_mut().fold(false, |any, host| host.turn().unwrap() | any) {}
    }

    /// Advances to the next event of a host. Returns false if there is none.
    fn step(&mut self) -> bool {
        self.run_until_idle();
        let next = self.hosts.iter().map(Host::next).min().unwrap();
        if next == Time::NEVER {
            return false;
        }
        self.clock.advance_to(next);
        true
    }

    /// Steps until `is_done`.
    #[track_caller]
    fn run(&mut self, mut is_done: impl FnMut(&mut Pair) -> bool) {
        for _ in 0..20_000_000u64 {
            self.run_until_idle();
            if is_done(self) {
                return;
            }
            assert!(self.step(), "nothing is left to do, and it is not done");
        }
        panic!("it does not end");
    }
}
