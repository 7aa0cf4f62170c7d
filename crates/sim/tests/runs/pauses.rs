//! Priority flow control (IEEE 802.1Qbb): pauses, headroom, and lost frames, which stop no sender for good.
//! `random_networks` and `every_transport` also check that nothing is dropped, and that engines and threads agree.

use trimline_metrics::timeline::{Event, PacketKind, What};
use trimline_metrics::{LinkPlace, RunRecord};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Impairment, LinkChange, LinkEvent, Lossless, Matrix, Plan, Share, Watch};
use trimline_sim::topology::{self, LinkId};
use trimline_sim::transports::{Cbr, Transport};
use trimline_switch::{Choices, Limit};
use trimline_transport::cbr;

use crate::plans::{both, fattree, plan, run, star, workload};

const PACKET: u32 = 9064;

/// Senders at line rate with packets of `payload` bytes; inputs pause them at `xoff` bytes.
fn constant(hosts: u32, pairs: &[(u32, u32)], payload: u16, xoff: u32) -> Plan {
    let matrix = Matrix::Pairs(pairs.to_vec());
    let mut plan = plan(star(hosts), 1, vec![workload("w", matrix, None)]);
    let mut choices = Choices::drop_tail(1);
    (choices.queues[0].whole, choices.queues[0].header) = (Limit::NONE, Limit::NONE);
    plan.switch = choices.build().expect("a model");
    plan.transports = vec![Cbr.with(cbr::Config {
        payload_bytes: payload,
        rate: BitRate::from_gbps(10),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    })];
    let xon = xoff.saturating_sub(PACKET);
    plan.lossless = Some(Lossless { xoff, xon, headroom: None, classes: 1 });
    plan.duration = Some(TimeDelta::from_ms(2));
    plan
}

fn dropped(record: &RunRecord) -> u64 {
    record.ports.iter().map(|port| port.dropped).sum()
}

/// Runs with a timeline of all events.
fn observed(plan: &Plan) -> RunRecord {
    let places = topology::links(&plan.topology).into_iter().map(|(_, link)| link).collect();
    let watch =
        Watch { places, flows: vec![], from: TimeDelta::ZERO, to: None, keep_packets: false };
    run(&Plan { timeline: Some(watch), ..plan.clone() })
}

/// The events of frames at a place.
fn frames<'a>(
    record: &'a RunRecord,
    place: &'a str,
    what: What,
) -> impl Iterator<Item = &'a Event> {
    let of_frames = move |event: &&Event| event.packet == PacketKind::Pause && event.what == what;
    record.timeline.at(Some(place)).filter(of_frames)
}

/// 51.2 ns for 64 bytes, and the microsecond of the link.
const MIN_PS: u64 = 1_051_200;
/// `MIN_PS` behind a packet that has just begun.
const MAX_PS: u64 = MIN_PS + 7_251_200;

/// Two senders to one receiver: each input fills at half the rate of its link.
#[test]
fn a_pause_acts_one_frame_and_one_link_delay_after_the_threshold() {
    let plan = constant(3, &[(1, 0), (2, 0)], 9000, 5 * PACKET);
    let record = observed(&plan);
    assert_eq!(dropped(&record), 0);
    for host in ["1", "2"] {
        let (port, host) = (format!("tor 0 down {host}"), format!("host {host}"));
        // The reverse direction carries nothing else: each frame leaves when an input crosses a threshold, and acts
        // when it reaches the host.
        let sent: Vec<u64> =
            frames(&record, &port, What::Depart).map(|event| event.time_ps).collect();
        let notified: Vec<u64> =
            frames(&record, &host, What::Arrive).map(|event| event.time_ps).collect();
        assert!(sent.len() > 20, "{} frames", sent.len());
        for (sent, notified) in sent.iter().zip(&notified) {
            assert_eq!(notified - sent, MIN_PS);
            // XOFF is crossed by an arrival from this host, XON by the last bit of a packet at the receiver's port.
            let arrives = |event: &Event| event.what == What::Enqueue && event.time_ps == *sent;
            let leaves =
                |event: &Event| event.what == What::Depart && event.until_ps == Some(*sent);
            let at = record.timeline.at(Some("tor 0 down 0"));
            assert!(at.into_iter().any(|event| arrives(event) || leaves(event)), "{sent}");
        }
        // Between XOFF and XON the host only finishes the packet that it had begun.
        let mut stopped_at = None;
        for event in record.timeline.at(Some(&host)) {
            match (event.packet, event.what) {
                (PacketKind::Pause, What::Arrive) => {
                    stopped_at = match stopped_at {
                        None => Some(event.time_ps),
                        Some(_) => None,
                    };
                }
                (PacketKind::Data, What::Depart) => {
                    assert!(stopped_at.is_none_or(|at| event.time_ps <= at), "{event:?}");
                }
                _ => {}
            }
        }
    }
}

/// With a full reverse direction a frame overtakes the queue.
#[test]
fn a_pause_frame_waits_for_no_more_than_one_packet() {
    let pairs = [(1, 0), (2, 0), (0, 1), (3, 1)];
    let mut waits = Vec::new();
    // The order of two packets at one instant decides when a threshold is crossed.
    for seed in 1..=8 {
        let mut plan = constant(4, &pairs, 9000, 5 * PACKET);
        plan.seed = seed;
        let record = observed(&plan);
        // The port towards host 1, which is never idle, sends the frames of the input from there.
        for notified in frames(&record, "host 1", What::Arrive) {
            let sent = notified.time_ps - MIN_PS;
            let crossing = record
                .timeline
                .at(Some("tor 0 down 0"))
                .filter_map(|event| match event.what {
                    What::Enqueue if event.flow.source == 1 => Some(event.time_ps),
                    What::Depart => event.until_ps,
                    _ => None,
                })
                .filter(|&at| at <= sent)
                .max()
                .expect("an input crosses a threshold");
            waits.push(notified.time_ps - crossing);
        }
    }
    assert!(waits.len() > 20, "{} frames", waits.len());
    assert!(waits.iter().all(|&wait| (MIN_PS..=MAX_PS).contains(&wait)), "{waits:?}");
    assert!(waits.iter().any(|&wait| wait > MIN_PS + 3_000_000), "{waits:?}");
}

/// The worst case of an input: the frame waits for a whole packet of the reverse direction, and finds the sender at the
/// beginning of another. With 10 Gb/s, 1 us and packets of 2564 B, 2 d R / 8 + 2 MTU + 64 B are 7692 B, three packets:
/// they fit, and with one byte less the third is lost.
#[test]
fn the_headroom_of_a_link_is_exact_to_the_byte() {
    // All hosts begin together, so that a packet begins in the reverse direction whenever one arrives. With 60 senders
    // no packet of the input leaves meanwhile.
    let mut pairs: Vec<(u32, u32)> = (1..=60).map(|sender| (sender, 0)).collect();
    pairs.extend([(61, 1), (62, 1)]);
    // The order of two packets at one instant decides whether all of it is needed.
    let lost = [None, Some(7692), Some(7691), Some(0)].map(|headroom| -> u64 {
        let of_seed = |seed| {
            let mut plan = constant(63, &pairs, 2500, 5 * 2564);
            plan.seed = seed;
            plan.lossless = plan.lossless.map(|lossless| Lossless { headroom, ..lossless });
            dropped(&both(&plan))
        };
        (1..=8).map(of_seed).sum()
    });
    assert_eq!(lost[..2], [0, 0], "the headroom that the link needs");
    assert!(lost[2] > 0, "one byte less");
    assert!(lost[3] > lost[2], "none");
}

/// Classes go on by themselves, and stop again.
#[test]
fn a_lost_pause_frame_stops_no_class_forever() {
    let mut plan = constant(3, &[(1, 0), (2, 0)], 9000, 5 * PACKET);
    plan.duration = Some(TimeDelta::from_ms(60));
    plan.impairment = Impairment {
        loss: Share::from_billionths(300_000_000).expect("a share"),
        // The switch sends only pause frames to the senders.
        links: topology::links(&plan.topology)
            .into_iter()
            .filter(|(name, _)| name == "tor 0 down 1" || name == "tor 0 down 2")
            .map(|(_, link)| link)
            .collect(),
        ..Impairment::default()
    };
    let record = both(&plan);
    let stopped: u64 = record.pauses.iter().map(|link| link.stopped_ps).sum();
    assert!(stopped > 1_000_000_000, "{stopped}");
    for flow in &record.flows {
        // A lost XON costs at most 3.36 ms: no flow waits for most of the run.
        assert!(flow.delivered_bytes > 10_000_000, "{flow:?}");
    }
}

/// Half of the frames from cores to the pods of the senders are lost.
#[test]
fn a_lost_pause_frame_stops_no_port_of_a_switch_forever() {
    let pairs: Vec<(u32, u32)> = (4..16).map(|host| (host, 0)).collect();
    let mut plan = constant(3, &pairs, 9000, 5 * PACKET);
    plan.topology = fattree(4);
    plan.duration = Some(TimeDelta::from_ms(60));
    plan.impairment = Impairment {
        loss: Share::from_billionths(500_000_000).expect("a share"),
        links: topology::links(&plan.topology)
            .into_iter()
            .filter(|(name, _)| name.starts_with("core") && !name.ends_with("down 0"))
            .map(|(_, link)| link)
            .collect(),
        ..Impairment::default()
    };
    let record = both(&plan);
    let of_switches =
        record.pauses.iter().filter(|link| link.place.to_string().contains("aggregation"));
    assert!(of_switches.map(|link| link.stopped_ps).sum::<u64>() > 1_000_000_000);
    for flow in &record.flows {
        assert!(flow.delivered_bytes > 1_000_000, "{flow:?}");
    }
}

#[test]
fn pauses_propagate_from_switch_to_switch() {
    let pairs: Vec<(u32, u32)> = (4..16).map(|host| (host, 0)).collect();
    let mut plan = constant(3, &pairs, 9000, 5 * PACKET);
    plan.topology = fattree(4);
    let record = both(&plan);
    assert_eq!(dropped(&record), 0);
    let notified = |words: &str| {
        let of = record.pauses.iter().filter(|link| link.place.to_string().contains(words));
        of.map(|link| link.received).sum::<u64>()
    };
    for words in ["aggregation 0 down", "core", "aggregation 2 up", "tor 2 up", "host 9"] {
        assert!(notified(words) > 0, "{words} was never told");
    }
    assert_eq!(notified("host 0"), 0);
    // The bottleneck is never idle.
    let bytes = record.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>();
    assert!(bytes > 2_400_000, "{bytes}");
}

/// A receiver whose link takes 7 ms for a packet: inputs are full for longer than a pause lasts.
fn slow_receiver() -> Plan {
    let mut plan = constant(3, &[(1, 0), (2, 0)], 9000, 5 * PACKET);
    plan.duration = Some(TimeDelta::from_ms(40));
    let link = link(&plan, "tor 0 down 0");
    let change = LinkChange::Rate(BitRate::from_bps(10_000_000));
    plan.link_events.push(LinkEvent {
        at: TimeDelta::from_us(1),
        link,
        both_directions: false,
        change,
    });
    plan
}

fn link(plan: &Plan, name: &str) -> LinkId {
    let links = topology::links(&plan.topology);
    links.into_iter().find(|(known, _)| known == name).expect("a link of this name").1
}

/// A pause lasts 3.36 ms at 10 Gb/s; a longer stop needs another frame before it ends.
#[test]
fn a_pause_is_renewed_before_it_expires() {
    let record = both(&slow_receiver());
    assert_eq!(dropped(&record), 0);
    let of_hosts = record.pauses.iter().filter(|link| matches!(link.place, LinkPlace::Host(1 | 2)));
    for link in of_hosts {
        assert!(link.received > 15 && link.stopped_ps > 38_000_000_000, "{link:?}");
    }
}

/// A port must renew a pause while it sends a packet for 7 ms: that packet counts until its last bit has left.
#[test]
fn a_packet_counts_at_its_input_until_its_last_bit_has_left() {
    // Hosts 1 and 2 wait for the port to host 0, which has to pause host 0 because of the port to host 3.
    let mut plan = constant(5, &[(1, 0), (2, 0), (0, 3), (4, 3)], 9000, 5 * PACKET);
    plan.duration = Some(TimeDelta::from_ms(120));
    for name in ["tor 0 down 0", "tor 0 down 3"] {
        let link = link(&plan, name);
        let change = LinkChange::Rate(BitRate::from_bps(10_000_000));
        let at = TimeDelta::from_us(1);
        plan.link_events.push(LinkEvent { at, link, both_directions: false, change });
    }
    let record = observed(&plan);
    let port = || record.timeline.at(Some("tor 0 down 0"));
    let sent: Vec<u64> =
        frames(&record, "tor 0 down 1", What::Depart).map(|event| event.time_ps).collect();
    let mut crossings = 0;
    for (place, &at) in sent.iter().enumerate() {
        // Half of a pause after the frame before, or when the input crosses a threshold.
        if place > 0 && at - sent[place - 1] == RENEWAL_PS {
            continue;
        }
        let arrives = |event: &Event| event.what == What::Enqueue && event.time_ps == at;
        let leaves = |event: &Event| event.what == What::Depart && event.until_ps == Some(at);
        assert!(port().into_iter().any(|event| arrives(event) || leaves(event)), "{at}");
        crossings += 1;
    }
    assert!(crossings > 4 && sent.len() > 20, "{crossings} of {}", sent.len());
}

/// Half of 65535 times 512 bits at 10 Gb/s.
const RENEWAL_PS: u64 = 1_677_696_000;

/// The sender goes on when its link fails, and gets new frames when the link is back.
#[test]
fn a_failed_link_clears_its_pauses() {
    let mut plan = slow_receiver();
    let link = link(&plan, "host 1");
    let (fails, back) = (2_000, 2_100);
    for (at, change) in [(fails, LinkChange::Fail), (back, LinkChange::Restore)] {
        let at = TimeDelta::from_us(at);
        plan.link_events.push(LinkEvent { at, link, both_directions: true, change });
    }
    // Packets before the new frame may find an input that was full.
    assert!(dropped(&both(&plan)) <= 3);
    let record = observed(&plan);
    let sent = |from: u64, to: u64| {
        let of_host = record.timeline.at(Some("host 1"));
        let data = of_host.filter(|event| {
            event.packet == PacketKind::Data
                && event.what == What::Depart
                && (from * 1_000_000..to * 1_000_000).contains(&event.time_ps)
        });
        data.count()
    };
    assert_eq!(sent(1_000, fails), 0, "stopped");
    // 100 us are 13.8 packets, the first at once.
    assert_eq!(sent(fails, back), 14, "lost, at line rate");
    assert!((1..6).contains(&sent(back, back + 50)), "until it is told again");
    assert_eq!(sent(back + 50, back + 1_000), 0, "stopped anew");
}
