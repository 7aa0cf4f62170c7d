//! The list of transports in scenarios, and a transport from outside.

use super::*;
use crate::plan::{EngineChoice, Spraying};
use crate::scenario::{Scenario, schema};
use crate::suites::plans::star;
use std::collections::BTreeSet;
use trimline_packet::SplitMix;
use trimline_switch::ServiceModel;
use trimline_transport::Framing;

/// A transport from outside: constant rates with other name and traits.
#[derive(Clone, Copy, Debug)]
struct Other(&'static str);

static OTHER: Grammar = Grammar {
    about: "Another.",
    alternatives: &[],
    keys: &[fixed("strength", Form::Integer(1, 9), "3", "How strong.").with_samples(&["4", "5"])],
};

impl Transport for Other {
    type Endpoint = OtherEndpoint;

    fn name(self) -> &'static str {
        self.0
    }
    fn label(self) -> &'static str {
        "Other"
    }
    fn colour(self) -> &'static str {
        "#123456"
    }
    fn about(self) -> &'static str {
        "Another transport."
    }
    fn grammar(self) -> &'static Grammar {
        &OTHER
    }
    fn traits(self) -> Traits {
        let ends_flows = self.0 == "ending";
        let no = Some("which is another");
        Traits { keeps_paths: true, ends_flows, no_latencies: no }
    }
    fn profile(self, keys: &Keys<'_>) -> &'static str {
        if keys.integer("strength") > 5 { "ecn" } else { "drop-tail" }
    }
    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<(u32, u64), ScenarioError> {
        let strength = keys.integer("strength");
        if strength == 4 {
            return Err(keys.refuse("strength", "a strength of 4", "another number"));
        }
        Ok((strength, setting.topology.host_link.rate.as_bps()))
    }
    fn payload_bytes(self, _config: &(u32, u64)) -> u16 {
        1000
    }
    fn describe(self, config: &(u32, u64)) -> String {
        format!("another of strength {}", config.0)
    }
    fn work(self, config: &(u32, u64), plan: &Plan, group: &Group) -> Work {
        constant_rate(plan, 1000, OtherEndpoint::FRAMING, config.1 as f64, group)
    }
    fn samples(self) -> &'static [Sample] {
        &[Sample { name: "other", keys: "strength = 3", min_bytes: 1 }]
    }
}

struct OtherEndpoint(trimline_transport::cbr::Endpoint);

impl Endpoint for OtherEndpoint {
    const FRAMING: Framing = Framing { header: 100, min: 64 };
    type Command = flow::Command;
    type Event = trimline_transport::cbr::Event;

    fn handle_command(&mut self, now: Time, command: flow::Command, tables: &mut impl HostTables) {
        self.0.handle_command(now, command, tables);
    }
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        tables: &mut impl HostTables,
    ) -> Disposition {
        self.0.handle_packet(now, packet, tables)
    }
    fn handle_timeout(&mut self, now: Time, tables: &mut impl HostTables) {
        self.0.handle_timeout(now, tables);
    }
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        self.0.poll_transmit(now, allowed)
    }
    fn poll_event(&mut self) -> Option<Self::Event> {
        self.0.poll_event()
    }
    fn transmit_at(&self, allowed: Allowed) -> Time {
        self.0.transmit_at(allowed)
    }
    fn poll_timeout(&self) -> Time {
        self.0.poll_timeout()
    }
}

impl Protocol for OtherEndpoint {
    type Config = (u32, u64);

    fn new(host: HostId, config: &Arc<(u32, u64)>, seed: u64) -> Self {
        let rate = trimline_packet::BitRate::from_bps(config.1);
        let clock_lag = TimeDelta::ZERO;
        let config = trimline_transport::cbr::Config {
            payload_bytes: 1000,
            rate,
            clock_lag,
            marks_unscheduled: false,
        };
        OtherEndpoint(Protocol::new(host, &Arc::new(config), seed))
    }
    fn time_wait(_config: &(u32, u64)) -> TimeDelta {
        TimeDelta::ZERO
    }
    fn forget(&mut self, slot: u32) {
        Protocol::forget(&mut self.0, slot);
    }
    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        self.0.statistics_of(slot)
    }
}

fn known() -> Transports {
    Transports::built_in().with(&[&Other("other")]).expect("a new name")
}

/// The plans of a star of four, with two permutations.
fn plans(keys: &str, of_workloads: [&str; 2], size: &str) -> Result<Vec<Plan>, String> {
    let [w, v] = of_workloads.map(|keys| format!("permutation = {{}}\nsize = \"{size}\"\n{keys}"));
    let text = format!(
        "duration = \"1ms\"\ntopology.star.hosts = 4\n{keys}\n[[workload]]\nname = \"w\"\n{w}\n\
         [[workload]]\nname = \"v\"\n{v}\n"
    );
    let scenario = Scenario::parse_with("s.toml", &text, &[], &known());
    let runs = scenario.map_err(|error| error.to_string())?.runs;
    Ok(runs.into_iter().map(|run| run.plan).collect())
}

fn plan(keys: &str) -> Plan {
    plans(keys, ["", ""], "long-lived").unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn two(keys: &str, w: &str, v: &str) -> Result<Plan, String> {
    let named = |name: &str| match name {
        "" => String::new(),
        name => format!("transport = \"{name}\""),
    };
    plans(keys, [&named(w), &named(v)], "9KB").map(|mut plans| plans.remove(0))
}

fn names(plan: &Plan) -> Vec<&'static str> {
    plan.transports.iter().map(|chosen| chosen.name()).collect()
}

/// A name that led to another transport's parameters would show in its description, profile or name.
#[test]
fn every_transport_name_selects_its_transport() {
    let (mut described, mut labels) = (BTreeSet::new(), BTreeSet::new());
    for transport in known().iter() {
        let plan = plan(&format!("transport.{} = {{}}", transport.name()));
        assert_eq!(names(&plan), [transport.name()]);
        let chosen = &plan.transports[0];
        assert_eq!(chosen.traits(), transport.traits());
        assert!(described.insert(chosen.describe(&plan)), "the words of another: {transport:?}");
        assert!(labels.insert(transport.label()), "the label of another: {transport:?}");
        assert!(transport.colour().starts_with('#') && transport.colour().len() == 7);
        let group = Group {
            flows: 4.0,
            alive: 4.0,
            packets: 100.0,
            into: 1.0,
            out_of: 1.0,
            links: 2.0,
            seconds: 1e-3,
        };
        let work = chosen.work(&plan, &group);
        assert!(work.hops >= 100.0 && work.slowness >= 1.0 && work.bytes >= 0.0, "{work:?}");
        for sample in transport.samples() {
            let chosen = transport.with_keys(sample.keys, &plan.topology);
            let chosen = chosen.unwrap_or_else(|error| panic!("{}: {error}", sample.name));
            assert_eq!(chosen.name(), transport.name(), "a sample of another");
        }
        let random = random_parameters(transport, &mut SplitMix(1), 1000, &plan.topology);
        assert_eq!((random.name(), random.payload_bytes()), (transport.name(), 1000));
    }
    assert_eq!(names(&plan("")), ["ndp"]);
}

#[test]
fn refused_random_parameters_are_drawn_again() {
    let other = Other("other");
    for seed in 0..100 {
        let chosen = random_parameters(&other, &mut SplitMix(seed), 1000, &star(2));
        let strength = chosen.config::<(u32, u64)>().expect("its parameters").0;
        assert!([3, 5].contains(&strength), "{strength}");
    }
}

#[test]
fn an_unknown_transport_is_refused_with_the_nearest_name() {
    let refused = |keys: &str| plans(keys, ["", ""], "9KB").unwrap_err();
    assert_eq!(
        refused("transport.othre = {}"),
        "s.toml:3:11: unknown key `othre` (at `othre`); expected one of ndp, tcp, dctcp, mptcp, dcqcn, cbr, phost, \
         homa, pfabric, nscc, rccc, hpcc, other; nearest: other"
    );
    assert!(refused("transport.other.strong = 1").contains("unknown key `strong`"));
    assert!(refused("transport.other.strength = 10").contains("an integer from 1 to 9"));
    assert!(refused("transport.other.strength = 4").contains("3:28: a strength of 4"));
    assert!(refused("transport = {}").contains("no transport is given"));
    let text = "topology.star.hosts = 2\ntransport.other = {}\nworkload = []";
    let error = Scenario::parse("s", text, &[]).unwrap_err().to_string();
    assert!(error.contains("unknown key `other`"), "{error}");
}

#[test]
fn traits_of_an_external_transport_are_obeyed() {
    let plan = plan("transport.other = {}");
    assert_eq!(plan.switch, ServiceModel::drop_tail(200));
    assert_eq!(plan.full_wire_bytes(), 1100);
    let ecn = self::plan("transport.other.strength = 6");
    assert_eq!(ecn.switch, ServiceModel::ecn(200, 30));
    // A run with a duration may report undelivered data.
    assert!(two("transport.other = {}", "", "").is_ok());
    let endless = "topology.star.hosts = 4\ntransport.other = {}\n[[workload]]\nname = \"w\"\n\
                   permutation = {}\nsize = \"9KB\"\n";
    let sized = Scenario::parse_with("s.toml", endless, &[], &known()).unwrap_err().to_string();
    assert!(sized.contains("or `duration` in the scenario, with transport other"), "{sized}");
    let paths = |word: &str| {
        let keys = format!("spraying = \"{word}\"");
        plans("transport.other = {}", [&keys, ""], "long-lived")
    };
    assert_eq!(paths("per-flow").unwrap()[0].workloads[0].spraying, Spraying::SenderPermuted);
    assert!(paths("sender-permuted").unwrap_err().contains("does not choose"));
    let latencies = plans("transport.other = {}\noutput.latencies = true", ["", ""], "9KB");
    assert!(latencies.unwrap_err().contains("latencies of transport other, which is another"));
    assert!(schema(&known()).contains("How strong. Default: 3."));
    assert!(!schema(&Transports::built_in()).contains("How strong"));
}

#[test]
fn a_transport_without_messages_has_no_persistent_connections() {
    let known = Transports::built_in().with(&[&Other("ending")]).expect("a new name");
    let parsed = |connection: &str| {
        let text = format!(
            "topology.star.hosts = 2\ntransport.ending = {{}}\n[[workload]]\nname = \"w\"\npermutation = {{}}\n\
             size = \"9KB\"\nconnection = \"{connection}\"\n"
        );
        let scenario = Scenario::parse_with("s.toml", &text, &[], &known);
        scenario.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(parsed("new"), Ok(()));
    let expected = "s.toml:7:14: a persistent connection of ending, which sends one flow on each (at `\"persistent\"`); \
                    expected \"new\" with this transport";
    assert_eq!(parsed("persistent"), Err(expected.to_owned()));
}

#[test]
fn a_transport_list_refuses_a_repeated_name() {
    let refused = |name: &'static str| {
        let other: &'static Other = Box::leak(Box::new(Other(name)));
        Transports::built_in().with(&[other]).unwrap_err()
    };
    assert!(refused("dctcp").contains("a second transport named `dctcp`"));
    for name in ["", "Other", "o-ther", "9", "o ther"] {
        assert!(refused(name).contains("no name of a transport"), "{name}");
    }
}

#[test]
fn every_workload_names_its_transport_where_there_are_several() {
    let both = "switch.profile = \"paper\"\ntransport = { ndp = {}, dctcp = {} }";
    let plan = two(both, "dctcp", "ndp").unwrap();
    assert_eq!(names(&plan), ["ndp", "dctcp"]);
    assert_eq!([plan.workloads[0].transport, plan.workloads[1].transport], [1, 0]);
    assert_eq!(plan.transport_of(&plan.workloads[0]).name(), "dctcp");
    // An unused transport is left out.
    let plan = two("transport = { ndp = {}, dctcp = {} }", "dctcp", "dctcp").unwrap();
    assert_eq!((names(&plan), plan.switch), (vec!["dctcp"], ServiceModel::ecn(200, 30)));
    let refused = |keys, w, v| two(keys, w, v).unwrap_err();
    let nameless = refused(both, "ndp", "");
    assert!(nameless.contains("without `transport` where there are several"), "{nameless}");
    assert!(nameless.contains("one of ndp, dctcp"), "{nameless}");
    let missing = refused(both, "ndp", "tcp");
    assert!(missing.contains("no table `transport.tcp`"), "{missing}");
    assert!(refused(both, "ndp", "tpc").contains("nearest: \"tcp\""));
    assert!(refused("", "tcp", "tcp").contains("no table `transport.tcp`"));
    assert_eq!(names(&two("", "ndp", "ndp").unwrap()), ["ndp"]);
    let switches = refused("transport = { ndp = {}, dctcp = {} }", "dctcp", "ndp");
    assert!(switches.contains("ndp paper, dctcp ecn"), "{switches}");
    assert!(switches.contains("expected `switch.profile`"), "{switches}");
    let agreed = two("transport = { tcp = {}, mptcp = {} }", "tcp", "mptcp").unwrap();
    assert_eq!(agreed.switch, ServiceModel::drop_tail(200));
}

/// A setting changes a present transport. A whole table replaces all present transports.
#[test]
fn a_transport_table_replaces_the_earlier_transports() {
    let text = "duration = \"1ms\"\ntopology.star.hosts = 2\nswitch.profile = \"paper\"\n\
                transport = { ndp = {}, dctcp = {} }\n\
                [[workload]]\nname = \"w\"\npairs = [[0, 1]]\nsize = \"9KB\"\ntransport = \"ndp\"\n\
                [[workload]]\nname = \"v\"\npairs = [[1, 0]]\nsize = \"9KB\"\ntransport = \"dctcp\"\n";
    let laid = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let scenario = Scenario::parse("s", text, &settings).map_err(|error| error.to_string())?;
        Ok::<_, String>(names(&scenario.runs[0].plan))
    };
    assert_eq!(laid(&["transport.ndp.initial_window=5"]), Ok(vec!["ndp", "dctcp"]));
    let refused = laid(&["transport.tcp.ecn=true"]).unwrap_err();
    assert!(refused.contains("whose transport is ndp, dctcp"), "{refused}");
    assert!(laid(&["transport.tcp={}"]).unwrap_err().contains("no table `transport.ndp`"));
    let to_tcp =
        ["transport.tcp={ecn=true}", "workload.w.transport=tcp", "workload.v.transport=tcp"];
    assert_eq!(laid(&to_tcp), Ok(vec!["tcp"]));
    let both = [
        "transport = { tcp = {}, mptcp = {} }",
        "workload.w.transport=tcp",
        "workload.v.transport=mptcp",
    ];
    assert_eq!(laid(&both), Ok(vec!["tcp", "mptcp"]));
}

#[test]
fn one_external_transport_runs_beside_built_in_ones_and_two_are_refused() {
    let keys = "switch.profile = \"paper\"\ntransport = { ndp = {}, other = {} }";
    let of = ["transport = \"other\"", "transport = \"ndp\""];
    let mut plan = plans(keys, of, "long-lived").unwrap().remove(0);
    let run = |threads| crate::run_on(&plan, threads, &mut |_| ControlFlow::Continue(()));
    let record = run(1).unwrap();
    assert_eq!(record.flows.len(), 8);
    assert!(record.flows.iter().all(|flow| flow.delivered_bytes > 100_000), "{:?}", record.flows);
    let heap = Plan { engine: EngineChoice::Heap, ..plan.clone() };
    assert_eq!(record, crate::run(&heap, &mut |_| ControlFlow::Continue(())).unwrap());
    plan.transports[0] = Other("second").with((1, 1_000_000_000));
    let refused = crate::run(&plan, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(refused.contains("`other` beside `second`"), "{refused}");
    plan.transports.clear();
    assert!(crate::run(&plan, &mut |_| ControlFlow::Continue(())).is_err());
}

#[test]
fn times_print_in_the_format_of_scenarios() {
    let time = |ps| time(TimeDelta::from_ps(ps));
    assert_eq!(time(20_100_000_000), "20.1ms");
    assert_eq!(time(7_251_200), "7.2512us");
    assert_eq!(time(1_000_000_000_000), "1s");
    assert_eq!(time(0), "0ps");
}
