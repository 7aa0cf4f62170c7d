//! A phantom queue on a port of the software switch, between kernels with TCP (HULL, NSDI 2012, 3.1).

use std::time::Duration;

use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_testbed::hull::{self, Marker, Measured, Setting};
use trimline_testbed::namespace::allowed;

/// A slow rate: threads delayed by milliseconds make no long queue.
const RATE: BitRate = BitRate::from_bps(50_000_000);

fn measured(marker: Marker, has_ecn: bool) -> Option<Measured> {
    run(marker, has_ecn, false)
}

fn run(marker: Marker, has_ecn: bool, has_pacers: bool) -> Option<Measured> {
    allowed(hull::long_flows(&Setting {
        rate: RATE,
        delay: TimeDelta::from_us(250),
        queue: 100,
        marker,
        congestion: "reno".to_owned(),
        has_ecn,
        has_pacers,
        time: Duration::from_secs(2),
    }))
}

const PHANTOM: Marker =
    Marker::Phantom { drain: BitRate::from_bps(45_000_000), threshold: ByteCount::new(6000) };

/// A phantom queue gives up some of the port's rate and most of the wait.
#[test]
fn a_phantom_queue_avoids_the_waits_of_a_full_queue() {
    let Some(plain) = measured(Marker::None, true) else { return };
    let phantom = measured(PHANTOM, true).expect("the first was allowed");
    let queue = measured(Marker::Queue { packets: 20 }, true).expect("the first was allowed");
    for one in [&plain, &phantom, &queue] {
        assert_eq!(one.waits.len(), one.port.packets, "a wait a frame: {one:?}");
        assert_eq!(one.bytes.len(), 2);
        assert!(one.bytes.iter().all(|&bytes| bytes > 0), "{:?}", one.bytes);
        // The port sent the applications' bytes and headers: full frames, each a segment.
        let payload = one.goodput_percent() / one.throughput_percent();
        assert!((0.85..1.02).contains(&payload), "{payload}");
        let mean = one.port.bytes / one.port.packets;
        assert!((1300..=1518).contains(&mean), "{mean} B a frame");
    }
    assert_eq!((plain.port.marked, plain.by_phantom), (0, 0));
    assert!(plain.port.dropped > 0, "what marks nothing drops: {:?}", plain.port);
    assert!(phantom.by_phantom > 0 && phantom.by_phantom == phantom.port.marked);
    assert!(queue.port.marked > 0 && queue.by_phantom == 0);
    // A phantom queue does not let the load exceed its drain for long.
    assert!(phantom.throughput_percent() < 92.0, "{}", phantom.throughput_percent());
    assert!(phantom.throughput_percent() > 40.0, "{}", phantom.throughput_percent());
    assert!(plain.throughput_percent() > 90.0, "{}", plain.throughput_percent());
    let (wait, full) = (phantom.mean_us(), plain.mean_us());
    assert!(wait * 4.0 < full, "{wait} us beside {full} us");
}

/// RFC 3168: a phantom queue does not slow a flow without ECN.
#[test]
fn flows_without_ecn_pass_a_phantom_queue_unmarked() {
    let Some(one) = measured(PHANTOM, false) else { return };
    assert_eq!((one.port.marked, one.by_phantom), (0, 0), "{:?}", one.port);
    assert!(one.throughput_percent() > 92.0, "{}", one.throughput_percent());
}

/// HULL 4.2 on real packets: the flows of kernels hear of congestion, and then wait for the pacers of their hosts.
#[test]
fn flows_of_kernels_that_hear_of_congestion_are_paced() {
    // So slow a drain marks flows of a busy machine too.
    let (drain, threshold) = (BitRate::from_bps(1_000_000), ByteCount::new(1000));
    let slow = Marker::Phantom { drain, threshold };
    let Some(paced) = run(slow, true, true) else { return };
    assert!(paced.by_phantom > 0, "{:?}", paced.port);
    assert!(paced.pacers.paced > 0, "{:?}", paced.pacers);
    assert!(paced.bytes.iter().all(|&bytes| bytes > 0), "{:?}", paced.bytes);
    let deaf = run(PHANTOM, false, true).expect("the first was allowed");
    assert_eq!((deaf.pacers.paced, deaf.pacers.dropped), (0, 0), "no flow hears of congestion");
    assert!(deaf.pacers.passed > 0, "{:?}", deaf.pacers);
}
