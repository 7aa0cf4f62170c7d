//! Time series of chosen flows and ports: they add up to the run's counts, and change nothing.

use std::collections::BTreeMap;

use trimline_metrics::series::{FlowRow, FlowSeries};
use trimline_metrics::{FlowRecord, PortRecord, RunRecord};
use trimline_packet::{ByteCount, TimeDelta};
use trimline_sim::plan::{Connection, Plan, Sampled, Size};
use trimline_sim::scenario::Scenario;
use trimline_sim::suites::case;
use trimline_sim::suites::plans::{both, same_everywhere};
use trimline_sim::topology;

use crate::plans::run;

fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse("s", text, &[]);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).runs.remove(0).plan
}

/// An incast of eight flows to host 0; two flows and their shared port are chosen.
fn incast(transport: &str) -> Plan {
    plan(&format!(
        "topology.star.hosts = 9\n{transport}\noutput.series = {{ every = \"20us\", flows = [[1, 0], [2, 0]], \
         ports = [\"tor 0 down 0\"] }}\n[[workload]]\nname = \"w\"\nincast = {{ receiver = 0, senders = 8 }}\n\
         size = \"900KB\"\n"
    ))
}

/// A port after its last packet holds nothing, though no event runs it.
#[test]
fn a_sampled_queue_is_empty_after_its_last_packet() {
    let text = "duration = \"1ms\"\ntopology.star.hosts = 3\ntransport.cbr.rate = \"1Gbps\"\n\
                workload = [{ name = \"p\", pairs = [[1, 0]], size = \"9000B\" }]\n\
                output.series = { every = \"2us\", ports = [\"tor 0 down 0\"] }\n";
    let record = both(&plan(text));
    let bytes = |row: &trimline_metrics::series::PortRow| row.queue_bytes;
    let held: Vec<u64> = record.samples.ports.rows.iter().map(bytes).collect();
    // The packet is at the port from 8.25 to 15.5 us.
    assert_eq!(held[..8], [0, 0, 0, 0, 9064, 9064, 9064, 0]);
    assert_eq!(held.iter().sum::<u64>(), 3 * 9064);
    for number in 0..40 {
        let mut plan = case(number);
        plan.duration = None;
        plan.workloads
            .iter_mut()
            .filter(|workload| workload.size == Size::LongLived)
            .for_each(|workload| workload.size = Size::Fixed(ByteCount::new(90_000)));
        let end = TimeDelta::from_ps(run(&plan).simulated_ps);
        plan.duration = Some(end + TimeDelta::from_ms(30));
        plan.sample_every = Some(TimeDelta::from_ms(1));
        let record = both(&plan);
        let samples = &record.samples;
        let last = samples.samples.iter().map(|sample| sample.time_ps).max();
        let queues = samples.samples.iter().filter(|sample| Some(sample.time_ps) == last);
        for sample in queues {
            assert_eq!(
                sample.queue_bytes, 0,
                "case {number}: {:?}",
                samples.groups[sample.group as usize]
            );
        }
    }
}

fn column(series: &FlowSeries, name: &str) -> usize {
    let place = series.columns.iter().position(|column| column.name == name);
    place.unwrap_or_else(|| panic!("no {name} among {:?}", series.columns))
}

fn values<'a>(
    series: &'a FlowSeries,
    name: &str,
    source: u32,
) -> impl Iterator<Item = Option<u64>> + 'a {
    let place = column(series, name);
    let rows = series.rows.iter().filter(move |row| row.source == source);
    rows.map(move |row| row.own[place])
}

/// Checks that each flow's rows add up to its record, and that a run without series is equal.
fn adds_up(plan: &Plan, record: &RunRecord) {
    let without = run(&Plan { sample_every: None, sampled: Sampled::default(), ..plan.clone() });
    assert_eq!(RunRecord { samples: Default::default(), ..record.clone() }, without);
    let mut sums: BTreeMap<(u32, u64, u32, u32), [u64; 6]> = BTreeMap::new();
    for FlowRow { workload, index, source, destination, counted, .. } in &record.samples.flows.rows
    {
        let sum = sums.entry((*workload, *index, *source, *destination)).or_default();
        sum.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
    }
    let chosen = |flow: &FlowRecord| plan.sampled.flows.contains(&(flow.source, flow.destination));
    let flows: Vec<_> = record.flows.iter().filter(chosen).collect();
    assert_eq!(flows.len(), sums.len());
    for flow in flows {
        let resent = flow.retransmissions_signalled
            + flow.retransmissions_return
            + flow.retransmissions_timeout;
        let expected = [
            flow.packets_sent,
            resent,
            flow.trims,
            flow.returns,
            flow.timeouts,
            flow.delivered_bytes,
        ];
        assert_eq!(sums[&(0, flow.index, flow.source, flow.destination)], expected, "{flow:?}");
    }
}

#[test]
fn series_of_flows_and_ports_add_up_to_the_record() {
    for transport in ["ndp", "tcp", "dctcp", "mptcp"] {
        let plan = incast(&format!("transport.{transport} = {{}}"));
        let record = run(&plan);
        adds_up(&plan, &record);
        let ports = &record.samples.ports;
        let sent: u64 = ports.rows.iter().map(|row| row.counters.bytes).sum();
        let of = |port: &&PortRecord| port.place == ports.ports[0].0;
        let all = record.ports.iter().find(of).unwrap().bytes;
        // The last interval, which the run did not end, has no row: 20 us at 10 Gb/s.
        assert!(sent <= all && all <= sent + 25_000, "{transport}: {sent} of {all}");
        assert!(ports.rows.iter().any(|row| row.queue_bytes > 50_000), "{transport}");
    }
}

#[test]
fn ndp_series_count_pulls() {
    let record = run(&incast("transport.ndp = { initial_window = 12 }"));
    let series = &record.samples.flows;
    for source in [1, 2] {
        let received: u64 = values(series, "pulls_received", source).flatten().sum();
        let sent: u64 = values(series, "pulls_sent", source).flatten().sum();
        // Twelve packets are pushed. Every other one needs a pull; pulls with the last ACKs ask for nothing.
        let rows = series.rows.iter().filter(|row| row.source == source);
        let packets: u64 = rows.map(|row| row.counted[0]).sum();
        assert!(
            (packets - 12..=packets).contains(&received) && sent >= received,
            "{sent}, {received}"
        );
        let in_flight = values(series, "in_flight_packets", source).flatten().max();
        assert!(in_flight.is_some_and(|packets| (1..=12).contains(&packets)), "{in_flight:?}");
        assert!(values(series, "pulls_queued", source).flatten().any(|pulls| pulls > 0));
    }
}

#[test]
fn a_window_of_tcp_moves_and_only_dctcp_has_an_alpha() {
    let dctcp = run(&incast("transport.dctcp = {}"));
    let series = &dctcp.samples.flows;
    let windows: Vec<u64> = values(series, "window_packets", 1).flatten().collect();
    assert_eq!(windows[0], 10_000, "ten segments in thousandths");
    assert!(windows.iter().max() > windows.iter().min());
    let alphas: Vec<u64> = values(series, "alpha", 1).flatten().collect();
    assert!(
        alphas.iter().all(|&alpha| alpha <= 1_000_000) && alphas.iter().min() < alphas.iter().max()
    );
    let rounds: Vec<u64> = values(series, "round_trip_ps", 1).flatten().collect();
    // A SYN and its answer over four links at least; a segment and its ACK take 18 us.
    assert!(rounds.iter().all(|&ps| ps > 4_000_000), "{rounds:?}");
    assert!(rounds.iter().any(|&ps| ps > 18_000_000), "{rounds:?}");
    let tcp = run(&incast("transport.tcp = {}"));
    assert!(tcp.samples.flows.columns.iter().all(|column| column.name != "alpha"));
}

#[test]
fn several_transports_have_the_columns_of_each() {
    let text = "topology.star.hosts = 3\nswitch.profile = \"ecn\"\n\
                transport = { ndp = {}, dctcp = {} }\n\
                output.series = { every = \"10us\", flows = [[0, 1], [0, 2]] }\n\
                [[workload]]\nname = \"a\"\npairs = [[0, 1]]\nsize = \"90KB\"\ntransport = \"ndp\"\n\
                [[workload]]\nname = \"b\"\npairs = [[0, 2]]\nsize = \"90KB\"\ntransport = \"dctcp\"\n";
    let record = run(&plan(text));
    let series = &record.samples.flows;
    let (pulls, alpha) = (column(series, "pulls_received"), column(series, "alpha"));
    for row in &series.rows {
        let is_ndp = row.destination == 1;
        assert_eq!(
            (row.own[pulls].is_some(), row.own[alpha].is_some()),
            (is_ndp, !is_ndp),
            "{row:?}"
        );
    }
    assert!(series.rows.len() > 10);
}

#[test]
fn messages_of_a_persistent_connection_have_their_own_rows() {
    let text = "topology.star.hosts = 2\noutput.series = { every = \"3us\", flows = [[0, 1]] }\n\
                duration = \"400us\"\n[[workload]]\nname = \"w\"\npairs = [[0, 1]]\nsize = \"90KB\"\n\
                arrivals.closed_loop = { gap = \"30us\", count = 3 }\nconnection = \"persistent\"\n";
    let plan = plan(text);
    assert_eq!(plan.workloads[0].connection, Connection::Persistent);
    let series = run(&plan).samples.flows;
    let sent: u64 = series.rows.iter().map(|row| row.counted[0]).sum();
    assert_eq!(sent, 30);
    let of = |index| series.rows.iter().filter(move |row| row.index == index);
    for index in 0..3 {
        let sent: u64 = of(index).map(|row| row.counted[0]).sum();
        assert!((8..=12).contains(&sent), "message {index}: {sent}");
    }
}

#[test]
fn a_series_agrees_on_both_engines_and_on_threads() {
    let text = "topology.fattree.k = 4\noutput.series = { every = \"17us\", flows = [[0, 15], [15, 0], [3, 9]], \
                ports = [\"core 0 down 1\", \"tor 0 up 0\"] }\n[[workload]]\nname = \"w\"\nall_to_all = {}\n\
                size = \"45KB\"\n";
    let plan = plan(text);
    let record = same_everywhere(&plan, 2);
    assert!(record.samples.flows.rows.len() > 3 && record.samples.ports.rows.len() > 10);
    let names: Vec<String> =
        record.samples.ports.ports.iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!(names, ["core 0 down 1", "tor 0 up 0"]);
    assert_eq!(plan.sample_every, Some(TimeDelta::from_us(17)));
    assert_eq!(
        topology::links(&plan.topology).iter().filter(|(name, _)| names.contains(name)).count(),
        2
    );
}

#[test]
fn a_series_names_switch_ports_and_pairs_of_hosts() {
    let refused = |series: &str| {
        let text = format!(
            "topology.star.hosts = 2\noutput.series = {series}\n[[workload]]\nname = \"w\"\npairs = [[0, 1]]\n\
             size = \"9KB\"\n"
        );
        Scenario::parse("s", &text, &[]).unwrap_err().to_string()
    };
    for (series, problem) in [
        ("{ flows = [[0, 1]] }", "`every`"),
        ("{ every = \"0s\" }", "infinitely many at once"),
        ("{ every = \"1us\", flows = [[0, 2]] }", "host 2"),
        ("{ every = \"1us\", ports = [\"host 0\"] }", "a host has no queue of packets"),
        ("{ every = \"1us\", ports = [\"tor 0 down 7\"] }", "no link is named `tor 0 down 7`"),
        ("{ every = \"1us\", places = [] }", "`places`"),
    ] {
        let error = refused(series);
        assert!(error.contains(problem), "{series}: {error}");
    }
}

#[test]
fn dcqcn_series_have_rate_and_alpha() {
    let plan = incast("transport.dcqcn = {}\nswitch.pfc = { xoff = \"30pkt\" }");
    let record = same_everywhere(&plan, 2);
    adds_up(&plan, &record);
    let series = &record.samples.flows;
    let of = |name| values(series, name, 1).flatten().collect::<Vec<u64>>();
    let (rates, alphas) = (of("sending_rate_bps"), of("alpha"));
    // At line rate with an alpha of one until the first CNP, which cuts it by half; alpha stays one then.
    assert_eq!((rates[0], alphas[0]), (10_000_000_000, 1_000_000));
    let cut = rates.iter().position(|&rate| rate < rates[0]).expect("a cut");
    assert_eq!((rates[cut], alphas[cut]), (5_000_000_000, 1_000_000));
    assert!(rates.iter().all(|&rate| (10_000_000..=10_000_000_000).contains(&rate)), "{rates:?}");
    // Alpha falls by a 256th in 55 us without a CNP, and the rate rises by itself: also if no packet left since.
    assert!(alphas.windows(2).any(|two| two[1] < two[0]), "{alphas:?}");
    let rows: Vec<&FlowRow> = series.rows.iter().filter(|row| row.source == 1).collect();
    let rises = |at: usize| rows[at].counted[0] == 0 && rates[at] > rates[at - 1];
    assert!((1..rows.len()).any(rises), "{rates:?}");
    assert!(of("in_flight_packets").iter().any(|&packets| packets > 1));
}

#[test]
fn phost_series_count_tokens() {
    let plan = incast("transport.phost = {}");
    let record = same_everywhere(&plan, 2);
    adds_up(&plan, &record);
    let series = &record.samples.flows;
    for source in [1, 2] {
        let unanswered: Vec<u64> = values(series, "tokens_unanswered", source).flatten().collect();
        assert!(unanswered.iter().all(|&tokens| tokens <= 8), "a window: {unanswered:?}");
        assert!(unanswered.contains(&8) && unanswered.contains(&0), "{unanswered:?}");
    }
    // Free tokens at first; later those that the receiver shares out, which are used in 1.5 packet times.
    let held: Vec<u64> = values(series, "tokens_held", 1).flatten().collect();
    assert!((1..8).contains(&held[0]) && held.contains(&0), "{held:?}");
}

/// The pauses of layers and chosen ports add up to pauses.csv.
#[test]
fn layers_and_ports_report_their_pause_time() {
    let text = "topology.leafspine = { leaves = 2, spines = 1, hosts_per_leaf = 4 }\n\
                switch = { profile = \"ecn\", pfc = { xoff = \"5pkt\" } }\ntransport.dcqcn = {}\n\
                duration = \"2ms\"\noutput.series = { every = \"20us\", ports = [\"spine 0 down 0\"] }\n\
                [[workload]]\nname = \"w\"\npairs = [[4, 0], [5, 0], [6, 0], [1, 0]]\nsize = \"long-lived\"\n";
    let record = same_everywhere(&plan(text), 2);
    let stopped = |words: &str| {
        let of = record.pauses.iter().filter(|link| link.place.to_string().contains(words));
        of.map(|link| link.stopped_ps).sum::<u64>()
    };
    let samples = &record.samples;
    for (place, words) in ["tor", "tor", "spine", "host"].into_iter().enumerate() {
        let words = match place {
            0 => format!("{words} 0 down"),
            1 => " up ".to_owned(),
            _ => words.to_owned(),
        };
        let rows = samples.samples.iter().filter(|sample| sample.group == place as u32);
        let sum: u64 = rows.map(|sample| sample.stopped_ps).sum();
        assert_eq!(sum, stopped(&words), "{words}");
        assert_eq!(sum > 0, place > 0, "hosts stop nobody: {words} {sum}");
    }
    let port: u64 = samples.ports.rows.iter().map(|row| row.stopped_ps).sum();
    assert_eq!(port, stopped("spine 0 down 0"));
}
