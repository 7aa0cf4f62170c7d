//! NDP and the kernel's TCP into one port of the software switch (NDP 3.3).

use std::time::Duration;

use trimline_packet::BitRate;
use trimline_testbed::coexist::{self, Setting};
use trimline_testbed::incast::MTU;
use trimline_testbed::namespace::allowed;
use trimline_testbed::network::{Shape, TestNetwork};

/// A slow setting: a thread delayed by milliseconds does not empty NDP's queue of eight packets.
fn setting() -> Setting {
    Setting {
        rate: BitRate::from_bps(50_000_000),
        ndp_flows: 2,
        tcp_flows: 2,
        // Short, so that TCP fills it in its time.
        tcp_queue: Some(50),
        congestion: "cubic".to_owned(),
        time: Duration::from_secs(2),
        senders: 6,
        bytes: 100_000,
        incasts: 3,
    }
}

/// NDP's half is 49 %; over an eighth of the port to each side is the machine's.
#[test]
fn long_flows_share_a_port_with_a_queue_for_each_protocol() {
    let Some((one, count)) = allowed(coexist::long_flows(&setting())) else { return };
    let share = one.ndp_share();
    assert!((0.35..0.65).contains(&share), "NDP has {share}: {one:?}");
    let wire = one.ndp_wire_share();
    assert!((0.35..0.65).contains(&wire), "NDP has {wire} of the bytes: {one:?}");
    // The switch sent the applications' bytes and headers: no byte was counted twice or for the other protocol.
    let payload = |bytes: u64, wire: u64| bytes as f64 / wire as f64;
    let ndp = payload(one.ndp_bytes, one.port.data.bytes);
    let tcp = payload(one.tcp_bytes, one.port.tcp.bytes);
    assert!((0.85..1.05).contains(&ndp) && (0.85..1.05).contains(&tcp), "{one:?}");
    // A frame of 64 KB would count as one packet, and its length as 65,535 bytes.
    let mean = one.port.tcp.bytes / one.port.tcp.packets.max(1);
    assert!((1000..=MTU as u64 + 18).contains(&mean), "{mean} B a frame: {one:?}");
    // Each protocol gets its own signal that the port is full.
    assert!(one.port.trimmed > 0 && one.port.tcp.dropped > 0, "{one:?}");
    assert_eq!((one.port.headers.dropped, one.port.data.dropped), (0, 0), "{one:?}");
    assert!(one.kernel.retransmissions > 0, "{one:?}");
    assert_eq!(count.refused, 0, "{count:?}");
}

/// "NDP may shut out competing TCP traffic."
#[test]
fn long_ndp_flows_starve_tcp_in_a_shared_queue() {
    let both = Setting { tcp_queue: None, ..setting() };
    // On busy processors NDP's hosts pull late and leave TCP room: one success in three tries is enough.
    let mut seen = Vec::new();
    for _ in 0..3 {
        let Some((one, _)) = allowed(coexist::long_flows(&both)) else { return };
        if one.ndp_share() > 0.7 {
            return;
        }
        seen.push(one);
    }
    panic!("{seen:?}");
}

#[test]
fn an_incast_takes_at_most_half_of_the_link_from_tcp() {
    let setting = setting();
    let Some((done, _)) = allowed(coexist::incasts(&setting)) else { return };
    assert_eq!((done.alone.len(), done.beside.len()), (3, 3));
    for completions in done.alone.iter().chain(&done.beside) {
        assert_eq!(completions.len(), 6);
        // Links are paced: no answer is faster.
        let last = completions.iter().max().expect("six answers");
        assert!(*last > setting.ideal().mul_f64(0.9), "{completions:?}");
    }
    assert!(done.before.ndp_bytes == 0 && done.before.port.data.packets == 0, "{done:?}");
    assert_eq!(done.during.ndp_bytes, 3 * 6 * 100_000, "{done:?}");
    assert!(done.during.port.trimmed > 0, "{done:?}");
    let kept = done.during.tcp_bps() / setting.fair_share();
    // Alone it has two halves.
    assert!((0.65..1.5).contains(&kept), "TCP keeps {kept} of its half: {done:?}");
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    // Without a testbed the error is another one.
    if allowed(TestNetwork::build(Shape::BackToBack, MTU)).is_none() {
        return;
    }
    let setting = Setting { congestion: "vegetables".to_owned(), ..setting() };
    let error = coexist::long_flows(&setting).expect_err("no kernel has it");
    let said = error.to_string();
    assert!(said.contains("vegetables") && said.contains("cubic"), "{said}");
}
