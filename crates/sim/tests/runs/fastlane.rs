//! Switches that notify senders of drops or congestion, and hosts that react (FastLane).

use trimline_metrics::RunRecord;
use trimline_sim::scenario::Scenario;

use crate::plans::same_everywhere;

/// An incast of fifteen hosts with 30 KB each, in a FatTree of sixteen. Ports with a cap may idle while packets wait:
/// engines and threads agree on when.
fn incast(keys: &str) -> RunRecord {
    let text = format!(
        "topology.fattree.k = 4\nseeds = [3]\n{keys}\n[[workload]]\nname = \"i\"\n\
         incast = {{ receiver = 0, senders = 15 }}\nsize = \"30KB\"\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let plan = &scenario.runs[0].plan;
    let record = same_everywhere(plan, 2);
    assert_eq!(record, same_everywhere(plan, 3), "{keys}");
    assert!(record.flows.iter().all(|flow| flow.delivered_bytes == 30_000), "{keys}");
    record
}

const TCP: &str = "payload = \"1436B\", handshake = \"standing\", initial_window = 21, rto_min = \"1ms\", \
                   rto_initial = \"1ms\", ack_every = 1";

/// Returns timeouts, notifications used by senders, notifications of ports, drops, and the last flow's end.
fn seen(record: &RunRecord) -> (u64, u64, u64, u64, u64) {
    let flows = |of: fn(&trimline_metrics::FlowRecord) -> u64| {
        record.flows.iter().map(|flow| of(&flow)).sum()
    };
    let last = record.flows.iter().filter_map(|flow| flow.fct_receiver_ps).max();
    (
        flows(|flow| flow.timeouts),
        flows(|flow| flow.returns),
        record.ports.iter().map(|port| port.notified).sum(),
        record.ports.iter().map(|port| port.dropped).sum(),
        last.expect("a flow has ended"),
    )
}

/// FastLane 2.1.
#[test]
fn tcp_with_notifications_does_not_wait_for_timeouts() {
    let notified = incast(&format!(
        "transport.tcp = {{ {TCP}, notifications = \"fastlane\" }}\nswitch.data_queue = \"128KB\""
    ));
    let alone = incast(&format!(
        "transport.tcp = {{ {TCP} }}\nswitch = {{ profile = \"drop-tail\", data_queue = \"128KB\" }}"
    ));
    let (timeouts, received, notified, dropped, end) = seen(&notified);
    assert!(notified > 50 && received > 50, "{notified} of ports, {received} at senders");
    let (slow_timeouts, none, _, _, slow_end) = seen(&alone);
    assert_eq!(none, 0);
    assert!(timeouts < slow_timeouts && end < slow_end, "{timeouts} {slow_timeouts} {dropped}");
}

/// NDP 2.3: a trimmed packet is not lost silently.
#[test]
fn tcp_over_switches_that_trim_does_not_wait_for_timeouts() {
    let trimmed = incast(&format!(
        "transport.tcp = {{ {TCP}, notifications = \"cut-payload\" }}\nswitch.data_queue = \"128KB\""
    ));
    let dropped = incast(&format!(
        "transport.tcp = {{ {TCP} }}\nswitch = {{ profile = \"drop-tail\", data_queue = \"128KB\" }}"
    ));
    let (timeouts, nacks, _, drops, end) = seen(&trimmed);
    assert!(nacks > 50 && drops == 0, "{nacks} NACKs at senders, {drops} drops");
    let (slow_timeouts, none, _, _, slow_end) = seen(&dropped);
    assert_eq!((timeouts, none), (0, 0));
    assert!(slow_timeouts > 0 && end < slow_end, "{slow_timeouts}");
}

/// FastLane 3.4.1: control packets are resent at once. A notified segment is resent under another counter.
#[test]
fn a_dropped_syn_is_notified_and_resent_before_its_timeout() {
    let record = incast(
        "transport.tcp = { payload = \"256B\", rto_min = \"1ms\", syn_timeout = \"100ms\", ack_every = 1, \
         initial_window = 1, notifications = \"fastlane\" }\nswitch.data_queue = \"384B\"",
    );
    let resent_syns = |flow: &trimline_metrics::FlowRecord| {
        if flow.timeouts == 0 { flow.returns - flow.retransmissions_return } else { 0 }
    };
    let syns: u64 = record.flows.iter().map(|flow| resent_syns(&flow)).sum();
    let (_, _, _, _, last) = seen(&record);
    assert!(syns > 0 && last < 100_000_000_000, "{syns} SYNs, {last} ps");
}

/// FastLane 3.3.2: notifications without room are dropped, so timeouts decide.
#[test]
fn a_tiny_cap_and_memory_drop_notifications() {
    let bounds = "cap = \"0.01%\", memory = \"64B\", work_conserving = false";
    let record = incast(&format!(
        "transport.tcp = {{ {TCP}, notifications = \"fastlane\" }}\n\
         switch = {{ data_queue = \"128KB\", notifications = {{ {bounds} }} }}"
    ));
    let (timeouts, received, notified, dropped, _) = seen(&record);
    assert!(dropped > 0 && received < notified && timeouts > 0, "{dropped} {received} {notified}");
}

/// FastLane 5: quenches resend nothing.
#[test]
fn senders_are_quenched_where_codel_would_mark() {
    let record = incast(&format!(
        "transport.tcp = {{ {TCP}, notifications = \"source-quench\" }}\nswitch.data_queue = \"400KB\"\n\
         switch.codel = {{ target = \"10us\", interval = \"50us\" }}"
    ));
    let (_, received, notified, ..) = seen(&record);
    assert!(notified > 0 && received > 0, "{notified} {received}");
    assert!(record.flows.iter().all(|flow| flow.retransmissions_return == 0));
}

#[test]
fn pfabric_with_notifications_ends_an_incast_with_fewer_timeouts() {
    let queue = "switch.data_queue = \"64KB\"";
    let alone = incast(&format!("transport.pfabric = {{ payload = \"1436B\" }}\n{queue}"));
    let notified =
        incast(&format!("transport.pfabric = {{ payload = \"1436B\", fastlane = true }}\n{queue}"));
    let ((slow, none, ..), (few, received, ..)) = (seen(&alone), seen(&notified));
    assert!(none == 0 && received > 0 && few < slow, "{none} {received} {few} {slow}");
}

#[test]
fn contradicting_fastlane_keys_are_refused_with_their_place() {
    let refused = |keys: &str| {
        let text = format!(
            "topology.star.hosts = 4\n{keys}\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        );
        match Scenario::parse("s.toml", &text, &[]) {
            Ok(_) => panic!("accepted: {keys}"),
            Err(error) => error.to_string(),
        }
    };
    for (keys, words) in [
        (
            "transport.tcp = { notifications = \"fastlane\", sack = true }",
            "`sack` beside notifications",
        ),
        ("transport.tcp = { max_sim_shift = 2 }", "`max_sim_shift` without"),
        ("transport.ndp = {}\nswitch.notifications.cap = \"1%\"", "which tells of no drops"),
        ("transport.ndp = {}\nswitch.codel.target = \"1us\"", "which does not look at waits"),
        (
            "transport.pfabric.fastlane = true\nswitch.notifications.memory = \"63B\"",
            "64 B at least",
        ),
        (
            "transport.pfabric.fastlane = true\nswitch.notifications.cap = \"0%\"",
            "lets nothing through",
        ),
        ("transport.pfabric = {}\nswitch.droppable_queue = \"8pkt\"", "`droppable_queue` beside"),
        ("transport.pfabric = {}\nswitch.pfc.xoff = \"90KB\"", "`pfc` beside ports"),
    ] {
        let error = refused(keys);
        assert!(error.contains(words) && error.contains("s.toml:"), "{keys}: {error}");
    }
}
