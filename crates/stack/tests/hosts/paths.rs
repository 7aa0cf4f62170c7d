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
    /// True if hosts push labels, and no switch has a route.
    is_labelled: bool,
}

/// The labels of a host's paths: a label for each core switch, which every switch knows, or one for each switch.
fn stacks(to: usize, is_source_route: bool) -> Vec<Vec<u32>> {
    let to = to as u32;
    let stack = |core: u32| match is_source_route {
        false => vec![100 + core * 10 + to],
        true => vec![20 + core, 30 + to, 40 + to],
    };
    (0..WAYS as u32).map(stack).collect()
}

/// The label table of a switch between two hosts: one at each leaf.
fn labels(switch: &str, cores: &[String]) -> String {
    let mut all = Vec::new();
    let leaf = |host: usize| ["left", "right"][host];
    for (core, name) in cores.iter().enumerate() {
        for to in 0..2 {
            let label = 100 + core * 10 + to;
            let next = match switch {
                other if other == leaf(to) => format!("to = \"h{to}\""),
                "left" | "right" => format!("to = \"{name}\", swap = {label}"),
                other if other == name => format!("to = \"{}\", swap = {label}", leaf(to)),
                _ => continue,
            };
            all.push(format!("{{ label = {label}, {next} }}"));
        }
        if let "left" | "right" = switch {
            all.push(format!("{{ label = {}, to = \"{name}\" }}", 20 + core));
        }
    }
    for to in 0..2 {
        match switch {
            other if other == leaf(to) => {
                all.push(format!("{{ label = {}, to = \"h{to}\" }}", 40 + to))
            }
            "left" | "right" => {}
            _ => all.push(format!("{{ label = {}, to = \"{}\" }}", 30 + to, leaf(to))),
        }
    }
    format!("labels = [{}]", all.join(", "))
}

fn world(hosts_per_leaf: usize, fabrics: Fabrics, change: impl Fn(&mut Config)) -> World {
    let Fabrics { bad, is_hashed, is_labelled } = fabrics;
    let ways = if is_hashed { 1 } else { WAYS };
    let mut text = String::from("rate = \"10Gbps\"\ndelay = \"1us\"\nseed = 1\n");
    let names = ["left", "right"].map(String::from);
    let cores: Vec<String> = (0..WAYS).map(|core| format!("core{core}")).collect();
    for name in names.iter().chain(&cores) {
        writeln!(text, "[[switch]]\nname = \"{name}\"").unwrap();
        if is_labelled {
            writeln!(text, "{}", labels(name, &cores)).unwrap();
        }
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
        for (number, core) in cores.iter().take(ways).enumerate().filter(|_| !is_labelled) {
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
            (0..WAYS).filter(|_| !is_hashed && !is_labelled).map(|path| way(host, path)).collect()
        };
        config.ways = addresses(number);
        config.streams = Some(Streams::seeded(number as u64));
        if is_labelled {
            config.leave_room_for_labels(3);
        }
        change(&mut config);
        let mut host = Host::new(end, config, clock.clone());
        for peer in (0..count).filter(|&peer| peer != number) {
            let next_hop = [2, 0, 0, 0, 0, peer as u8];
            host.core().add_peer(way(peer, 0), &addresses(peer), next_hop);
            if is_labelled {
                // One end has source routes.
                host.core().label_peer(way(peer, 0), &stacks(peer, number == 0)).unwrap();
            }
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

/// No switch has a route: all packets go by labels, in both directions.
#[test]
fn hosts_send_on_label_switched_paths_and_source_routes() {
    let labelled = Fabrics { is_labelled: true, ..Fabrics::default() };
    let mut world = world(1, labelled, |_| {});
    world.flow(0, 1, 10_000_000);
    world.flow(1, 0, 10_000_000);
    for leaf in [0, 1] {
        let sent = world.sent_by_way(leaf);
        let (min, max) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(*min > 300 && max - min < 20, "{sent:?}");
    }
    let fabric = world.switches.fabric();
    assert_eq!((fabric.lost_ways(), fabric.unknown_labels()), (0, 0));
    let board = world.board(1);
    assert!(
        board.iter().all(|path| path.counters.lost == 0 && path.counters.acked > 200),
        "{board:?}"
    );
}

#[test]
fn an_impossible_label_of_a_path_is_refused() {
    let mut config = Config::new(way(0, 0), 9100, BitRate::from_gbps(10)).unwrap();
    config.leave_room_for_labels(2);
    let mut core = trimline_stack::host::Core::new(config);
    let peer = way(1, 0);
    let error = |core: &mut trimline_stack::host::Core, stacks: &[Vec<u32>]| {
        core.label_peer(peer, stacks).unwrap_err()
    };
    assert!(error(&mut core, &[vec![16]]).contains("an unknown peer"));
    core.add_peer(peer, &[], [2; 6]);
    for stack in [vec![], vec![15], vec![16, 17, 18], vec![1 << 20]] {
        assert!(error(&mut core, &[stack]).contains("expected 1 to 2 labels"));
    }
    assert!(error(&mut core, &[]).contains("at least one path"));
    assert_eq!(core.label_peer(peer, &[vec![16], vec![17, 18]]), Ok(()));
    core.add_peer(way(2, 0), &[way(2, 0), way(2, 1)], [2; 6]);
    assert!(core.label_peer(way(2, 0), &[vec![16]]).unwrap_err().contains("not both"));
}

/// NDP 3.2.3: hosts hear of routing updates. What was under way on the path still counts for it.
#[test]
fn a_running_flow_leaves_a_withdrawn_path_and_returns_to_it() {
    for is_labelled in [false, true] {
        let fabrics = Fabrics { is_labelled, ..Fabrics::default() };
        let mut world = world(1, fabrics, |_| {});
        let core = world.hosts[0].core();
        let connection = core.connect(way(1, 0), SERVICE, Options::default()).unwrap();
        core.send(connection, &vec![5; 30_000_000]).unwrap();
        core.close(connection);
        let begin = world.clock.now();
        let after = |us: u64| begin.saturating_add(trimline_packet::TimeDelta::from_us(us));
        let sent_until = |world: &mut World, us: u64| {
            world.run(|world| {
                // A receiver that does not read is not sent to.
                let core = world.hosts[1].core();
                while let Some(connection) = core.next_readable() {
                    assert_eq!(core.receive(connection), Ok(None), "it is still under way");
                }
                world.clock.now() >= after(us)
            });
            world.sent_by_way(0)
        };
        let early = sent_until(&mut world, 4000);
        assert!(early.iter().all(|&packets| packets > 50), "{early:?}");
        let now = world.clock.now();
        let change = |world: &mut World, now, is_there: bool| {
            let core = world.hosts[0].core();
            match is_there {
                false => core.withdraw_path(now, way(1, 0), BAD),
                true => core.announce_path(now, way(1, 0), BAD),
            }
        };
        assert!(change(&mut world, now, false) && !change(&mut world, now, false));
        assert!(world.board(1)[usize::from(BAD)].is_withdrawn);
        let before = sent_until(&mut world, 4100);
        let without = sent_until(&mut world, 10_000);
        let bad = usize::from(BAD);
        assert_eq!(without[bad], before[bad], "the path is not used");
        assert!(without[0] > before[0] + 200, "and the flow goes on: {without:?}");
        assert!(change(&mut world, now, true) && !change(&mut world, now, true));
        let with = sent_until(&mut world, 14_000);
        assert!(with[bad] > without[bad] + 100, "{with:?}");
        // A new connection knows what was withdrawn before, and of paths that are all withdrawn it uses all.
        let core = world.hosts[0].core();
        for path in 0..WAYS as u16 {
            assert!(core.withdraw_path(now, way(1, 0), path));
        }
        assert!(!core.withdraw_path(now, way(1, 0), WAYS as u16), "an unknown path");
        assert!(!core.withdraw_path(now, way(9, 0), 0), "an unknown peer");
        world.flow(0, 1, 1000);
    }
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
