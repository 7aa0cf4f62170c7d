//! Warnings before a run: settings of a plan that can never act, and transports that cannot fill an idle path.

use trimline_packet::ByteCount;
use trimline_switch::detour::{Hot, Seen};
use trimline_switch::{ServiceModel, Surroundings};

use crate::plan::{Chosen, Need, Plan, SharedMemory};
use crate::topology::{Clos, LinkSpec, Routes};
use crate::transports::time;

/// A warning, as `explain` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Subject, in a word.
    pub about: &'static str,
    /// Description of the problem.
    pub sentence: String,
}

pub(super) fn warnings(plan: &Plan) -> Vec<Warning> {
    let thresholds = thresholds(plan).into_iter().map(|sentence| ("threshold", sentence));
    let windows = plan.transports.iter().filter_map(|chosen| narrow(plan, chosen));
    let unmet = plan.transports.iter().filter_map(|chosen| unmet_need(plan, chosen));
    let settings = settings(plan).chain(unmet).map(|sentence| ("setting", sentence));
    let circles = may_stand_still(plan).into_iter().map(|sentence| ("pauses", sentence));
    let windows = windows.map(|sentence| ("window", sentence));
    let ideal = ideal_bound(plan).into_iter().map(|sentence| ("slowdown", sentence));
    let mut said: Vec<Warning> = Vec::new();
    // A sentence that holds for several links or queues is printed once.
    for (about, sentence) in thresholds.chain(windows).chain(settings).chain(circles).chain(ideal) {
        let warning = Warning { about, sentence };
        if !said.contains(&warning) {
            said.push(warning);
        }
    }
    said
}

/// Describes by how much ideal times may be too short, if they are not exact.
fn ideal_bound(plan: &Plan) -> Option<String> {
    let is_sized = plan.workloads.iter().any(|workload| workload.size.mean_millibytes().is_some());
    if plan.topology.ideal_times_are_exact() || !is_sized {
        return None;
    }
    let full = ByteCount::new(plan.full_wire_bytes().into());
    let slowest = layers(&plan.topology).map(|link| link.transmission(full)).max()?;
    Some(format!(
        "ideal times may be too short by up to {}, one full packet on the slowest link, and slowdowns too large",
        time(slowest)
    ))
}

fn layers(topology: &Clos) -> impl Iterator<Item = &LinkSpec> {
    let Clos { host_link, tor_link, aggregation_link, .. } = topology;
    let links = [host_link, tor_link, aggregation_link];
    links.into_iter().take(topology.tiers.clamp(1, 3).into())
}

/// Describes thresholds that no queue reaches.
fn thresholds(plan: &Plan) -> Vec<String> {
    let ports = || {
        let routes = Routes::new(&plan.topology);
        let all = 0..routes.switches() as u32;
        all.map(|switch| routes.ports_of(switch).len() as u64).max().unwrap_or(0)
    };
    let packet_bytes = plan.full_wire_bytes();
    let around = Surroundings {
        packet_bytes,
        line: layers(&plan.topology)
            .map(|link| link.rate)
            .max()
            .unwrap_or(plan.topology.host_link.rate),
        pool_bytes: match plan.shared_memory {
            SharedMemory::None => 0,
            memory => memory.of(ports()).get(),
        },
        paused_bytes: plan.lossless.map(|lossless| {
            // Memory that every other input holds after it has stopped its sender.
            let headroom = layers(&plan.topology).filter_map(|link| plan.headroom(link)).max();
            let input = u64::from(lossless.xoff) + u64::from(packet_bytes) + headroom.unwrap_or(0);
            input.saturating_mul(ports().saturating_sub(1).max(1))
        }),
    };
    let mut said = Vec::new();
    let mut say = |of: &str, model: &ServiceModel| {
        for fault in model.unreached(&around) {
            said.push(format!("{of}: {fault}"));
        }
    };
    say("switch", &plan.switch);
    if let Some(model) = &plan.droppable {
        say("switch, droppable queue", model);
    }
    for (place, rule) in plan.port_rules.iter().enumerate() {
        let of = format!("switch.port {place}");
        say(&of, &rule.model.main);
        if let Some(model) = &rule.model.droppable {
            say(&format!("{of}, droppable queue"), model);
        }
    }
    said.extend(detours(plan, packet_bytes));
    said.extend(phantoms(plan));
    said
}

/// Describes detour thresholds that queues do not reach, or do not leave.
fn detours(plan: &Plan, packet_bytes: u16) -> Vec<String> {
    let Some(model) = plan.detour else { return Vec::new() };
    let Some(Hot::Above(threshold)) = model.hot else { return Vec::new() };
    if threshold == 0 && model.seen == Seen::LastDeparture {
        return vec![
            "switch.detour: the length at a departure counts the packet that leaves, so it is above a `threshold` \
             below one packet forever after a port's first packet: every later packet is detoured"
                .to_owned(),
        ];
    }
    let holds = |model: &ServiceModel| {
        let room = model.room_for_data();
        room.packets.min(room.bytes / u32::from(packet_bytes.max(1)))
    };
    let rules = plan.port_rules.iter().enumerate();
    let rules = rules.map(|(place, rule)| (place, holds(&rule.model.main)));
    let unreached = rules.filter(|(_, holds)| *holds <= threshold);
    let said = unreached.map(|(place, holds)| {
        format!(
            "switch.port {place}: `detour.threshold` of {threshold} packets is not below the {holds} full packets \
             that a queue holds: nothing is detoured"
        )
    });
    said.collect()
}

/// Describes phantom queues whose threshold a full link does not reach during the run.
fn phantoms(plan: &Plan) -> Vec<String> {
    let Some(duration) = plan.duration.filter(|_| !plan.phantom_queues.is_empty()) else {
        return Vec::new();
    };
    let routes = Routes::new(&plan.topology);
    let packet = u64::from(plan.full_wire_bytes());
    let mut said: Vec<String> = Vec::new();
    for phantom in &plan.phantom_queues {
        let (drain, threshold) = (phantom.settings.drain, phantom.settings.threshold);
        let line = routes.link(phantom.link.node()).spec.rate;
        let [sent, gone] = [line, drain].map(|rate| rate.bytes_in(duration).get());
        let gained = sent.saturating_sub(gone);
        let max = ByteCount::new(gained.saturating_add(packet));
        if threshold >= max {
            said.push(format!(
                "phantom_queue: `threshold` of {threshold} is not below the {max} by which a full link of {line} fills \
                 the counter in {}: nothing is marked",
                time(duration)
            ));
        }
    }
    said
}

/// Describes conflicting settings of phantom queues and pacers.
fn settings(plan: &Plan) -> impl Iterator<Item = String> {
    let phantoms = plan.phantom_queues.iter().flat_map(|phantom| phantom.settings.warnings());
    let rate = plan.topology.host_link.rate;
    let paced = plan.pacer.iter().flat_map(move |paced| paced.settings.warnings(rate));
    let of_phantoms = phantoms.map(|fault| format!("phantom_queue: {fault}"));
    of_phantoms.chain(paced.map(|fault| format!("host.pacer: {fault}")))
}

/// Describes a key of a transport that acts on something that no port does. Resolving refuses a missing last hop.
fn unmet_need(plan: &Plan, chosen: &Chosen) -> Option<String> {
    let (key, need) = chosen.need()?;
    let (does, missing): (fn(&ServiceModel) -> bool, _) = match need {
        Need::LastHop => return None,
        Need::Trimming => (ServiceModel::trims, "trimmed packets, and no port trims"),
        Need::Notification => (ServiceModel::notifies, "notifications, and no port sends any"),
    };
    let rules = plan.port_rules.iter().map(|rule| &rule.model);
    let rules = rules.flat_map(|model| [Some(&model.main), model.droppable.as_ref()]);
    let all = [Some(&plan.switch), plan.droppable.as_ref()];
    let is_met = all.into_iter().chain(rules).flatten().any(does);
    let name = chosen.name();
    (!is_met).then(|| format!("transport {name}: `{key}` acts on {missing}"))
}

/// Describes paused ports that may wait for each other for ever.
fn may_stand_still(plan: &Plan) -> Option<String> {
    let model = plan.detour.filter(|model| model.hot.is_some())?;
    let is_endless = model.limit.is_none() && !model.targets.equal_cost;
    (is_endless && plan.lossless.is_some()).then(|| {
        "packets are detoured without limit over priority flow control: a cycle of paused ports (deadlock) is possible"
            .to_owned()
    })
}

/// Describes a transport whose flows cannot fill an idle path.
fn narrow(plan: &Plan, chosen: &Chosen) -> Option<String> {
    let (key, window) = chosen.window()?;
    let round_trip = plan.topology.idle_round_trip(chosen.payload_bytes(), chosen.framing());
    let wire = ByteCount::new(chosen.full_wire_bytes().into());
    let each = layers(&plan.topology).map(|link| link.transmission(wire)).max()?;
    let (round_trip, each) = (u128::from(round_trip.as_ps()), u128::from(each.as_ps().max(1)));
    let sent = u128::from(window) * each;
    // A difference below a twentieth is lost in rounding, and not visible in results.
    (sent * 20 < round_trip * 19).then(|| {
        format!(
            "transport {}: `{key}` covers {window} of the {} packets of the bandwidth-delay product between the farthest \
             hosts: one flow gets at most {} % of an idle path",
            chosen.name(),
            round_trip.div_ceil(each),
            sent * 100 / round_trip
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    fn said(keys: &str) -> Vec<String> {
        let text =
            format!("{keys}\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"90KB\"\n");
        let text = match keys.contains("topology") {
            true => text,
            false => format!("topology.star.hosts = 4\n{text}"),
        };
        let scenario = Scenario::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        scenario.runs[0].warnings.iter().map(|warning| warning.sentence.clone()).collect()
    }

    #[track_caller]
    fn check(keys: &str, expected: &[&str]) {
        assert_eq!(said(keys), expected, "{keys}");
    }

    #[test]
    fn a_threshold_that_no_queue_reaches_is_warned_of_for_every_port_kind() {
        let queue = "`ecn_threshold` of 30 packets is not below the 11 full packets that a queue holds: nothing is marked";
        check(
            "transport.dctcp = {}\nswitch.data_queue = \"100KB\"",
            &[&format!("switch: {queue}")],
        );
        check("transport.dctcp = {}\nswitch.data_queue = \"31pkt\"", &[]);
        check(
            "switch = { droppable_queue = \"20pkt\", droppable_ecn_threshold = \"20pkt\" }",
            &[
                "switch, droppable queue: `ecn_threshold` of 20 packets is not below the 20 full packets that a queue holds: nothing is marked",
            ],
        );
        check(
            "transport.dctcp = {}\nswitch.port = [{ link = \"tor 0 down 1\", data_queue = \"100KB\" }]",
            &[&format!("switch.port 0: {queue}")],
        );
        check(
            "switch = { profile = \"priorities\", port_limit = \"1601pkt\" }",
            &[
                "switch: `port_limit` of 14511464 B is above the 14502400 B that all queues of the port hold together; nearest: 14502400 B",
            ],
        );
    }

    #[test]
    fn links_slower_than_host_links_are_warned_of() {
        let fat_tree = "topology.fattree.k = 4\nlinks.";
        check(&format!("{fat_tree}tor.rate = \"40Gbps\""), &[]);
        let slower = said(&format!("{fat_tree}host.rate = \"40Gbps\""));
        let ideal = "ideal times may be too short by up to 7.2512us, one full packet on the slowest link, and slowdowns too large";
        assert!(slower.iter().any(|sentence| sentence == ideal), "{slower:?}");
    }

    /// 4 ports: three inputs of 136 KB, a packet and the headroom of 20,692 B.
    #[test]
    fn a_threshold_above_the_pause_limits_is_warned_of() {
        let pfc = |kmin: &str| {
            format!(
                "transport.dcqcn = {{}}\nswitch = {{ pfc.xoff = \"15pkt\", \
                 ecn_ramp = {{ kmin = \"{kmin}\", kmax = \"700KB\", pmax = \"1%\" }} }}"
            )
        };
        check(
            &pfc("5KB"),
            &[
                "switch: `ecn_ramp.kmax` of 700000 B is above the 497148 B that a queue holds when pauses have stopped all senders: the probability of a mark never rises to pmax",
            ],
        );
        check(
            &pfc("500KB"),
            &[
                "switch: `ecn_ramp.kmin` of 500000 B is not below the 497148 B that a queue holds when pauses have stopped all senders: nothing is marked",
            ],
        );
    }

    #[test]
    fn a_port_that_never_detours_is_warned_of() {
        let keys = "topology.leafspine = { leaves = 2, spines = 2, hosts_per_leaf = 2 }\n\
            switch = { data_queue = \"64pkt\", detour = {}, port = [{ layer = \"tor\", direction = \"up\", data_queue = \"56pkt\" }] }";
        check(
            keys,
            &[
                "switch.port 0: `detour.threshold` of 56 packets is not below the 56 full packets that a queue holds: nothing is detoured",
            ],
        );
        check(&keys.replace("\"56pkt\"", "\"57pkt\""), &[]);
    }

    #[test]
    fn a_port_that_always_detours_is_warned_of() {
        let keys = "topology.leafspine = { leaves = 2, spines = 2, hosts_per_leaf = 2 }\n\
            switch.detour = { threshold = \"8KB\", seen = \"last-departure\" }";
        check(
            keys,
            &[
                "switch.detour: the length at a departure counts the packet that leaves, so it is above a `threshold` below one packet forever after a port's first packet: every later packet is detoured",
            ],
        );
        check(&keys.replace("8KB", "10KB"), &[]);
    }

    /// 5 % of 10 Gb/s are 62,500 B in a millisecond, and a packet of 9064 B comes at once.
    #[test]
    fn a_run_too_short_for_a_phantom_queue_is_warned_of() {
        let phantom = |threshold: &str| {
            format!(
                "duration = \"1ms\"\ntransport.dctcp = {{}}\nphantom_queue = [{{ threshold = \"{threshold}\" }}]"
            )
        };
        check(&phantom("71563B"), &[]);
        check(
            &phantom("71564B"),
            &[
                "phantom_queue: `threshold` of 71564 B is not below the 71564 B by which a full link of 10 Gb/s fills the counter in 1ms: nothing is marked",
            ],
        );
    }

    #[test]
    fn contradicting_settings_are_warned_of() {
        let dctcp = "topology.star.hosts = 4\ntransport.dctcp.payload = \"1460B\"\n";
        check(
            &format!("{dctcp}host.pacer.backlog_gain = 0"),
            &[
                "host.pacer: `backlog_gain` of 0 never lets a backlog go that the rate just carries; nearest: 1",
            ],
        );
        check(
            &format!("{dctcp}phantom_queue = [{{ tick = \"10us\" }}]"),
            &[
                "phantom_queue: `clock` of a tick of 10.000000 us drains 11875 B at once, more than the threshold of 1000 B: marks follow the ticks",
            ],
        );
        let endless = |limit: &str| {
            format!(
                "topology.fattree.k = 4\nswitch = {{ profile = \"drop-tail\", pfc.xoff = \"9pkt\", \
                 detour = {{ packets = \"data\", threshold = \"4pkt\", limit = {limit} }} }}"
            )
        };
        check(
            &endless("\"none\""),
            &[
                "packets are detoured without limit over priority flow control: a cycle of paused ports (deadlock) is possible",
            ],
        );
        check(&endless("9"), &[]);
    }

    #[test]
    fn a_key_without_the_ports_that_it_needs_is_warned_of() {
        let drop_tail = |transport: &str| {
            format!(
                "topology.star.hosts = 4\ntransport.{transport}\nswitch.profile = \"drop-tail\""
            )
        };
        let unmet = |name: &str, key: &str, missing: &str| {
            format!("transport {name}: `{key}` acts on {missing}")
        };
        let [trimmed, notified] =
            ["trimmed packets, and no port trims", "notifications, and no port sends any"];
        for (table, name, key, missing) in [
            ("tcp.notifications = \"cut-payload\"", "tcp", "notifications", trimmed),
            ("tcp.notifications = \"source-quench\"", "tcp", "notifications", notified),
            ("dctcp.notifications = \"fastlane\"", "dctcp", "notifications", notified),
            ("pfabric.fastlane = true", "pfabric", "fastlane", notified),
            ("nscc.trimming = true", "nscc", "trimming", trimmed),
        ] {
            check(&drop_tail(table), &[&unmet(name, key, missing)]);
            // The default profile of the transport has it.
            check(&format!("transport.{table}"), &[]);
        }
        // One port that does it is enough.
        let port = "switch.port = [{ link = \"tor 0 down 1\", profile = \"cut-payload\" }]";
        check(&format!("{}\n{port}", drop_tail("tcp.notifications = \"cut-payload\"")), &[]);
    }

    #[test]
    fn a_transport_that_cannot_fill_an_idle_path_is_warned_of() {
        let narrow = |transport: &str| {
            let keys =
                format!("links = {{ rate = \"400Gbps\", delay = \"5us\" }}\ntransport.{transport}");
            let mut said = said(&keys);
            said.retain(|sentence| sentence.contains("an idle path"));
            said.concat()
        };
        // 20.37 us: 113 packets of 181.28 ns.
        assert_eq!(
            narrow("ndp.initial_window = 30"),
            "transport ndp: `initial_window` covers 30 of the 113 packets of the bandwidth-delay product between the farthest \
             hosts: one flow gets at most 26 % of an idle path"
        );
        for (transport, key) in [
            ("phost.token_window = 8", "token_window"),
            ("homa.rtt_bytes = \"100KB\"", "rtt_bytes"),
            ("pfabric.window = 8", "window"),
            ("nscc.initial_window = \"90KB\"", "initial_window"),
            ("rccc.first_credit = \"90KB\"", "first_credit"),
            ("hpcc.base_rtt = \"1us\"", "base_rtt"),
            ("dcqcn.window = \"100KB\"", "window"),
            ("tcp.receive_window = 64", "receive_window"),
            ("ndp.initial_window_bytes = \"90KB\"", "initial_window_bytes"),
        ] {
            assert!(narrow(transport).contains(&format!("`{key}` covers")), "{transport}");
        }
        // By default no window is too narrow, at any rate.
        for transport in
            ["ndp", "phost", "homa", "pfabric", "nscc", "rccc", "dcqcn", "hpcc", "tcp", "dctcp"]
        {
            assert_eq!(narrow(&format!("{transport} = {{}}")), "", "{transport}");
        }
    }
}
