//! Hosts and a software switch on in-memory cables, on a virtual clock: how hosts react to slow or lossy paths
//! (NDP 3.2.3).

use super::*;
use std::fmt::Write as _;
use trimline_stack::host::{Idle, Options, PathStatus};
use trimline_stack::switch::{self, Fabric, Runner};

/// Core switches, and thus paths between the leaves.
const WAYS: usize = 4;

/// The bad path, if there is one.
const BAD: u16 = 2;

struct World {
    clock: Clock,
    hosts: Vec<Host<Mem>>,
    switches: Runner<Mem>,
}

fn way(host: usize, way: usize) -> IpAddr {
    Ipv4Addr::new(10, way as u8, 0, host as u8 + 1).into()
}

/// Two leaves with hosts and four core switches; every link has 10 Gb/s.
#[derive(Clone, Copy, Debug, Default)]
struct Fabrics {
    /// Settings of both links of one core switch.
    bad: &'static str,
    /// True if hosts have one address, and leaves choose the core switch by a hash of the flow.
    is_hashed: bool,
}

fn world(hosts_per_leaf: usize, fabrics: Fabrics, change: impl Fn(&mut Config)) -> World {
    let Fabrics { bad, is_hashed } = fabrics;
    let ways = if is_hashed { 1 } else { WAYS };
    let mut text = String::from("rate = \"10Gbps\"\ndelay = \"1us\"\nseed = 1\n");
    let names = ["left", "right"].map(String::from);
    let cores: Vec<String> = (0..WAYS).map(|core| format!("core{core}")).collect();
    for name in names.iter().chain(&cores) {
        writeln!(text, "[[switch]]\nname = \"{name}\"").unwrap();
    }
    for (number, core) in (0u16..).zip(&cores) {
        for leaf in &names {
            let said = if number == BAD { bad } else { "" };
            writeln!(text, "[[link]]\nbetween = [\"{leaf}\", \"{core}\"]\n{said}").unwrap();
        }
    }
    let count = 2 * hosts_per_leaf;
    for host in 0..count {
        let leaf = &names[host / hosts_per_leaf];
        writeln!(text, "[[host]]\nswitch = \"{leaf}\"\ninterface = \"h{host}\"").unwrap();
        for (number, core) in cores.iter().take(ways).enumerate() {
            writeln!(text, "[[host.addresses]]\naddress = \"{}\"", way(host, number)).unwrap();
            if !is_hashed {
                writeln!(text, "through = \"{core}\"").unwrap();
            }
        }
    }
    let clock = Clock::new_virtual();
    let cables = (0..count).map(|_| mem::pair(9100).unwrap());
    let (near, far): (Vec<Mem>, Vec<Mem>) = cables.unzip();
    let hosts = near.into_iter().enumerate().map(|(number, end)| {
        let mut config = Config::new(way(number, 0), 9100, BitRate::from_gbps(10)).unwrap();
        let addresses = |host: usize| -> Vec<IpAddr> {
            (0..WAYS).filter(|_| !is_hashed).map(|path| way(host, path)).collect()
        };
        config.ways = addresses(number);
        config.streams = Some(Streams::seeded(number as u64));
        change(&mut config);
        let mut host = Host::new(end, config, clock.clone());
        for peer in (0..count).filter(|&peer| peer != number) {
            let next_hop = [2, 0, 0, 0, 0, peer as u8];
            host.core().add_peer(way(peer, 0), &addresses(peer), next_hop);
        }
        host.core().number_connections_from(number as u32 * 1000);
        host.listen(SERVICE);
        host
    });
    let fabric = Fabric::new(&switch::Config::parse(&text).unwrap()).unwrap();
    let hosts = hosts.collect();
    let switches = Runner::new(fabric, far, clock.clone(), Idle::Poll).unwrap();
    World { clock, hosts, switches }
}

impl World {
    /// Runs until `is_done`.
    #[track_caller]
    fn run(&mut self, mut is_done: impl FnMut(&mut World) -> bool) {
        for _ in 0..20_000_000u64 {
            loop {
                let mut moved = self.switches.turn().unwrap();
                for host in &mut self.hosts {
                    moved |= host.turn().unwrap();
                }
                if !moved {
                    break;
                }
            }
            if is_done(self) {
                return;
            }
            let hosts = self.hosts.iter().map(Host::next).min().unwrap();
            let next = hosts.min(self.switches.fabric().next());
            assert!(next < Time::NEVER, "nothing is left to do, and it is not done");
            self.clock.advance_to(next);
        }
        panic!("it does not end");
    }

    /// Sends a message from one host to another. Returns the time in us.
    fn flow(&mut self, from: usize, to: usize, bytes: usize) -> u64 {
        self.flows(&[(from, to)], bytes)
    }

    /// Sends messages from several hosts to one at once. Returns the time in us.
    fn flows(&mut self, pairs: &[(usize, usize)], bytes: usize) -> u64 {
        let begin = self.clock.now();
        let to = pairs[0].1;
        for &(from, to) in pairs {
            let core = self.hosts[from].core();
            let connection = core.connect(way(to, 0), SERVICE, Options::default()).unwrap();
            core.send(connection, &vec![5; bytes]).unwrap();
            core.close(connection);
        }
        let mut got = 0;
        self.run(|world| {
            let core = world.hosts[to].core();
            while let Some(connection) = core.next_readable() {
                if let Ok(Some(message)) = core.receive(connection) {
                    assert!(message == vec![5; bytes]);
                    core.close(connection);
                    got += 1;
                }
            }
            got == pairs.len()
        });
        self.clock.now().saturating_since(begin).as_ps() / 1_000_000
    }

    /// Returns the packets that a leaf sent to each core switch.
    fn sent_by_way(&self, leaf: u32) -> Vec<u64> {
        let ports: Vec<u64> = self
            .switches
            .fabric()
            .counters()
            .filter(|&(switch, ..)| switch == leaf)
            .map(|(_, _, seen)| seen.packets)
            .collect();
        // The ports of hosts come first.
        ports[ports.len() - WAYS..].to_vec()
    }

    /// Returns host 0's scores of the paths to a peer.
    fn board(&mut self, peer: usize) -> Vec<PathStatus> {
        let now = self.clock.now();
        let all = self.hosts[0].core().paths(now, usize::MAX);
        all.into_iter().filter(|path| path.peer == way(peer, 0)).collect()
    }
}

fn never_removes(config: &mut Config) {
    config.ndp.path_penalty = None;
}

fn lossy() -> Fabrics {
    Fabrics { bad: "impairment = { loss = \"30%\" }", ..Fabrics::default() }
}

fn slow() -> Fabrics {
    Fabrics { bad: "rate = \"1Gbps\"", ..Fabrics::default() }
}

/// Runs a flow of 30 MB. Returns its time in us, the bad path's share of packets in thousandths, and the sender's
/// scores.
fn flow_of_30_mb(fabrics: Fabrics, change: impl Fn(&mut Config)) -> (u64, u64, Vec<PathStatus>) {
    let mut world = world(1, fabrics, change);
    let took = world.flow(0, 1, 30_000_000);
    let sent = world.sent_by_way(0);
    let share = sent[usize::from(BAD)] * 1000 / sent.iter().sum::<u64>();
    let board = world.board(1);
    (took, share, board)
}

#[test]
fn a_flow_leaves_a_path_that_is_slow_or_loses() {
    // A quarter of the packets would take it; fewer than one in twenty do. Losses cost an RTO each, a slow path only
    // its share of the rate.
    for (fabrics, at_most) in [(lossy(), 33), (slow(), 90)] {
        for is_hashed in [false, true] {
            let fabrics = Fabrics { is_hashed, ..fabrics };
            let (before, share_before, board) = flow_of_30_mb(fabrics, never_removes);
            assert!(share_before > 180, "{fabrics:?}: {share_before} in 1000");
            assert!(board.iter().all(|path| path.removed_until.is_none()));
            let (after, share, board) = flow_of_30_mb(fabrics, |_| {});
            println!("{fabrics:?}: {before} us, then {after} us");
            assert!(share < 50, "{fabrics:?}: {share} in 1000");
            assert!(after * 100 < before * at_most, "{fabrics:?}: {after} us instead of {before}");
            // The scoreboard agrees.
            let removed = |path: &&PathStatus| path.counters.removals > 0;
            assert!(board.iter().any(|path| removed(&path)), "{fabrics:?}");
            let answers: u64 = board.iter().map(|path| path.counters.nacked).sum();
            let losses: u64 = board.iter().map(|path| path.counters.lost).sum();
            assert_eq!(
                (answers > 0, losses > 0),
                (fabrics.bad == slow().bad, fabrics.bad == lossy().bad)
            );
        }
    }
}

#[test]
fn the_scoreboard_counts_the_packets_of_each_path() {
    let (_, _, board) = flow_of_30_mb(slow(), |_| {});
    assert_eq!(board.len(), WAYS);
    for (number, path) in board.iter().enumerate() {
        let seen = path.counters;
        assert_eq!((path.address, usize::from(path.path)), (way(1, number), number));
        let received = seen.acked + seen.nacked + seen.returned + seen.lost;
        assert!(
            received <= seen.sent && received + 30 >= seen.sent,
            "all but the last window: {path:?}"
        );
        let is_bad = path.path == BAD;
        assert_eq!((seen.nacked > 0, seen.removals > 0), (is_bad, is_bad), "{path:?}");
    }
}

#[test]
fn no_healthy_path_is_removed() {
    // Alone; and as three flows into one host, whose packets are trimmed on the last hop.
    let (took, share, board) = flow_of_30_mb(Fabrics::default(), |_| {});
    assert_eq!(took, flow_of_30_mb(Fabrics::default(), never_removes).0, "to the microsecond");
    println!("healthy: {took} us");
    assert!((240..260).contains(&share), "{share} in 1000");
    assert!(board.iter().all(|path| path.counters.removals == 0), "{board:?}");
    let mut world = world(3, Fabrics::default(), |_| {});
    world.flows(&[(0, 3), (1, 3), (2, 3), (4, 3)], 3_000_000);
    let mut trimmed = 0;
    for host in [0, 1, 2, 4] {
        let now = world.clock.now();
        for path in world.hosts[host].core().paths(now, usize::MAX) {
            assert_eq!((path.counters.removals, path.removed_until), (0, None), "{host}: {path:?}");
            trimmed += path.counters.nacked;
        }
    }
    assert!(trimmed > 100, "{trimmed} trimmed");
}

/// A request ends before it knows its paths.
#[test]
fn requests_avoid_a_path_that_other_requests_found_dead() {
    let dead = Fabrics { bad: "impairment = { loss = \"100%\" }", ..Fabrics::default() };
    let waited = |change: &dyn Fn(&mut Config)| {
        let mut world = world(1, dead, change);
        let took: Vec<u64> = (0..500).map(|_| world.flow(0, 1, 1000)).collect();
        let board = world.board(1);
        let seen = board[usize::from(BAD)].counters;
        assert_eq!(seen.acked, 0, "nothing comes through");
        // Requests that waited for a timeout.
        (took.into_iter().filter(|&us| us >= 20_000).count(), seen.removals)
    };
    let (alone, removals) = waited(&|config| config.shares_scores = false);
    assert!(alone > 80 && removals > 0, "{alone} of 500");
    let (alone, removals) = waited(&never_removes);
    assert!(alone > 80 && removals == 0, "{alone} of 500");
    // Two losses remove the path, once in a while.
    let (together, removals) = waited(&|_| {});
    assert!(together < 10 && removals > 0, "{together} of 500");
}
