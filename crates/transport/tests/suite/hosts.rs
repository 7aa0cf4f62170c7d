//! A host of each transport, for links of 10 Gb/s.

use trimline_packet::{BitRate, ByteCount, HostId, TimeDelta};
use trimline_transport::path_choice::PathChoice;
use trimline_transport::{cbr, dcqcn, homa, hpcc, ndp, nscc, pfabric, phost, rccc, tcp};

pub(crate) fn ndp_host(host: HostId) -> ndp::Endpoint {
    let config = ndp::Config {
        initial_window: 10,
        marked: 0,
        payload_bytes: 1436,
        backstop_owed: TimeDelta::from_ms(10),
        ..ndp::Config::paper(BitRate::from_gbps(10))
    };
    ndp::Endpoint::new(host, config)
}

pub(crate) fn tcp_host(host: HostId) -> tcp::Endpoint {
    let config = tcp::Config {
        subflows: 2,
        ack_delay: TimeDelta::from_ms(1),
        ..tcp::Config::new_reno(1436, TimeDelta::from_us(500))
    };
    tcp::Endpoint::new(host, config)
}

pub(crate) fn cbr_host(host: HostId) -> cbr::Endpoint {
    let config = cbr::Config {
        payload_bytes: 1436,
        rate: BitRate::from_gbps(1),
        clock_lag: TimeDelta::from_ps(0),
        marks_unscheduled: false,
    };
    cbr::Endpoint::new(host, config)
}

pub(crate) fn phost_host(host: HostId) -> phost::Endpoint {
    let packet_times = |count: u64| TimeDelta::from_ns(count * 1200);
    let config = phost::Config {
        payload_bytes: 1436,
        packet_time: packet_times(1),
        free_tokens: 8,
        free_for: phost::FreeTokens::AllFlows,
        marked: 8,
        token_window: 8,
        token_expiry: packet_times(10),
        downgrade: packet_times(25),
        resend: packet_times(9),
        receiver: phost::ReceiverRules::Prompt,
        rts_repeat: packet_times(100),
        time_wait: TimeDelta::from_ms(1),
        receiver_order: phost::Order::Srpt,
        sender_order: phost::Order::Srpt,
    };
    phost::Endpoint::new(host, config)
}

pub(crate) fn pfabric_host(host: HostId) -> pfabric::Endpoint {
    let config = pfabric::Config {
        payload_bytes: 1436,
        window: 12,
        priority: pfabric::Priority::Remaining,
        rto: TimeDelta::from_us(100),
        probe_after: 5,
        fastlane: true,
        time_wait: TimeDelta::from_ms(1),
    };
    pfabric::Endpoint::new(host, config)
}

pub(crate) fn homa_host(host: HostId) -> homa::Endpoint {
    let config = homa::Config {
        payload_bytes: 1436,
        overhead_bytes: 76,
        packet_time: TimeDelta::from_ns(1200),
        rtt_bytes: 10_000,
        unscheduled_bytes: 9328,
        marked: 0,
        aeolus: false,
        boost_bytes: 10_000,
        unscheduled_levels: 5,
        cutoffs: vec![300, 1500, 5000, 9000],
        scheduled_levels: 3,
        overcommitment: 3,
        resend: TimeDelta::from_us(200),
        retry: TimeDelta::from_us(400),
        backoff: TimeDelta::from_us(100),
        ending: homa::Ending::Acknowledged,
        time_wait: TimeDelta::from_ms(1),
    };
    homa::Endpoint::new(host, config)
}

/// 18,750 bytes of credit, as NSCC's window has.
fn credit() -> rccc::Rule {
    rccc::Rule {
        max: 18_750,
        first: 18_750,
        pull: 16,
        line: BitRate::from_gbps(10),
        share: 990_000,
        core: Some(rccc::CoreControl { base: TimeDelta::from_us(10), floor: 225_000 }),
    }
}

pub(crate) fn rccc_host(host: HostId) -> nscc::Endpoint {
    uet_host(host, nscc::Control::Credit(credit()))
}

pub(crate) fn both_host(host: HostId) -> nscc::Endpoint {
    uet_host(host, nscc::Control::Both(credit()))
}

pub(crate) fn nscc_host(host: HostId) -> nscc::Endpoint {
    uet_host(host, nscc::Control::Window)
}

fn uet_host(host: HostId, control: nscc::Control) -> nscc::Endpoint {
    let base = TimeDelta::from_us(10);
    let config = nscc::Config {
        payload_bytes: 1436,
        trims: true,
        path_choice: PathChoice::Mixed,
        entropies: None,
        ack_every: 6_000,
        rto: TimeDelta::from_us(100),
        rto_doublings: 6,
        time_wait: TimeDelta::from_ms(1),
        control,
        law: nscc::Law {
            step_bytes: 1436,
            packet_bytes: 1500,
            line: BitRate::from_gbps(10),
            base,
            target: TimeDelta::from_ns(7_500),
            clear: TimeDelta::from_us(1),
            first: None,
            average: nscc::Average::Exponential,
            quick_adapt: nscc::QuickAdapt::Delay,
        },
    };
    nscc::Endpoint::new(host, config)
}

fn hpcc_config(resend: hpcc::Resend) -> hpcc::Config {
    hpcc::Config {
        payload_bytes: 1436,
        law: hpcc::Law {
            line: BitRate::from_gbps(10),
            base: TimeDelta::from_us(10),
            target: hpcc::Law::TARGET,
            max_stage: hpcc::Law::MAX_STAGE,
            additive_increase: ByteCount::new(6),
            min_rate: BitRate::from_bps(10_000_000),
            units: hpcc::Units::Exact,
        },
        resend,
        rto: TimeDelta::from_us(500),
    }
}

pub(crate) fn hpcc_host(host: HostId) -> hpcc::Endpoint {
    hpcc::Endpoint::new(host, hpcc_config(hpcc::Resend::GoBack))
}

pub(crate) fn selective_hpcc_host(host: HostId) -> hpcc::Endpoint {
    hpcc::Endpoint::new(host, hpcc_config(hpcc::Resend::Selective))
}

pub(crate) fn dcqcn_host(host: HostId) -> dcqcn::Endpoint {
    let config = dcqcn::Config {
        payload_bytes: 1436,
        rto: TimeDelta::from_us(500),
        ..dcqcn::Config::published(BitRate::from_gbps(10))
    };
    dcqcn::Endpoint::new(host, config)
}
