//! Parses measures and refuses meaningless ones.

use super::Of;
use super::counts::{Count, Per, missing_bytes};
use super::reduce::{Reduced, Reduction, UnitOf};
use super::spec::{OneOrMore, PortFilter, Spec};
use super::{events, flows, hosts, paths, ports, samples};
use crate::record::HostCounters;
use crate::timeline::What;

const FLOWS: &[&str] = &["workload", "pair", "started_before_us", "size_bytes"];
const REDUCED: &[&str] = &["reduce", "within"];

/// Quantities and their keys.
const QUANTITIES: &[(&str, &[&[&str]])] = &[
    ("fct", &[&["at", "unit", "groups"], FLOWS, REDUCED]),
    ("query_completion", &[&["unit"], FLOWS, REDUCED]),
    ("waiting", &[&["unit", "groups"], FLOWS, REDUCED]),
    ("slowdown", &[&["at", "groups"], FLOWS, REDUCED]),
    ("goodput", &[&["unit"], FLOWS, REDUCED]),
    ("fair_share", &[FLOWS, REDUCED]),
    ("incast_overhead", &[FLOWS]),
    ("packets_sent", &[&["unit"], FLOWS]),
    ("packets_delivered", &[&["unit"]]),
    ("hops", &[&["per", "unit"]]),
    ("retransmissions", &[&["cause", "per", "unit"], FLOWS]),
    ("headers_received", &[&["per", "unit"], FLOWS]),
    ("headers_returned", &[&["per", "unit"], FLOWS]),
    ("timeouts", &[&["per", "unit"], FLOWS]),
    ("undelivered", &[FLOWS]),
    ("path_removals", &[FLOWS]),
    ("path_restorations", &[FLOWS]),
    ("port_packets", &[&["ports", "unit"], REDUCED]),
    ("port_bytes", &[&["ports", "unit"], REDUCED]),
    ("port_trimmed", &[&["ports", "beyond", "per", "unit"], REDUCED, FLOWS]),
    ("port_dropped", &[&["ports", "beyond", "per", "unit"], REDUCED, FLOWS]),
    ("port_returned", &[&["ports", "beyond", "per", "unit"], REDUCED, FLOWS]),
    ("port_detoured", &[&["ports", "beyond", "per", "unit"], REDUCED, FLOWS]),
    ("port_notified", &[&["ports", "beyond", "per", "unit"], REDUCED, FLOWS]),
    ("utilisation", &[&["ports"], REDUCED]),
    ("latency", &[&["packets", "unit"], REDUCED]),
    ("events", &[&["place", "event"]]),
    ("idle_time", &[&["place", "unit"], REDUCED]),
    ("bursts", &[&["place", "gap_us", "of", "unit"], REDUCED]),
    ("low_time", &[&["place", "interval_us", "below_percent", "unit"]]),
    ("queue_found", &[&["place"], REDUCED]),
    ("queue", &[&["ports", "pod", "of", "from_us", "to_us", "unit"], REDUCED]),
    ("fullest_queue", &[&["ports", "pod", "from_us", "to_us", "unit"], REDUCED]),
    ("sampled_utilisation", &[&["ports", "pod", "from_us", "to_us"], REDUCED]),
    ("links", &[&["workload", "size_bytes", "reduce"]]),
    ("detours", &[&["workload", "size_bytes"]]),
    ("detoured", &[&["workload", "size_bytes"]]),
    ("processor_load", &[&["host", "at"]]),
    ("bytes_an_answer", &[&["host", "unit"], FLOWS]),
    ("host_dropped", &[&["host", "unit"]]),
    ("paced", &[&["host", "unit"]]),
];

const TIMES: &[(&str, f64)] = &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
/// Sizes of the units in Gb/s.
const RATES: &[(&str, f64)] = &[("Mb/s", 1e-3), ("Gb/s", 1.0)];
const LINK_SHARE: &str = "% of the host link";
const COUNTS: &[(&str, f64)] = &[("thousand", 1e3), ("million", 1e6)];
const BYTES: &[(&str, f64)] = &[("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9)];

type Refused<T> = Result<T, String>;

/// Parses a measure.
pub(super) fn of(spec: &Spec) -> Refused<Of> {
    check_keys(spec)?;
    match spec.quantity.as_str() {
        "fct" | "waiting" | "slowdown" | "goodput" | "fair_share" => of_flows(spec),
        "query_completion" => of_queries(spec),
        "incast_overhead" => Ok(Of::IncastOverhead { flows: selection(spec)? }),
        "port_packets" | "port_bytes" | "port_trimmed" | "port_dropped" | "port_returned"
        | "port_detoured" | "port_notified" | "utilisation" => of_ports(spec),
        "latency" | "events" | "idle_time" | "bursts" | "low_time" | "queue_found" => {
            of_packets(spec)
        }
        "queue" | "fullest_queue" | "sampled_utilisation" => of_samples(spec),
        "links" | "detours" | "detoured" => of_paths(spec),
        "processor_load" | "bytes_an_answer" | "host_dropped" | "paced" => of_hosts(spec),
        _ => of_count(spec),
    }
}

/// Unit of the number, for people.
pub(super) fn unit_of<'a>(spec: &'a Spec, of: &Of) -> &'a str {
    let reduce = match of {
        Of::Flows { reduce, .. }
        | Of::Queries { reduce, .. }
        | Of::Ports { reduce, .. }
        | Of::Latency { reduce, .. }
        | Of::Samples { reduce, .. }
        | Of::Events {
            value:
                events::Value::IdleTime(reduce)
                | events::Value::QueueFound(reduce)
                | events::Value::Bursts { reduce, .. },
            ..
        } => Some(reduce.reduction),
        Of::Events { value: events::Value::Events(_) | events::Value::LowTime { .. }, .. }
        | Of::IncastOverhead { .. }
        | Of::Hosts { .. }
        | Of::Paths { .. }
        | Of::Count { .. } => None,
    };
    match reduce {
        Some(Reduction::Share(_) | Reduction::MinOfSwitch) => return "%",
        Some(Reduction::Jain | Reduction::MaxOverMin | Reduction::Count(_)) => return "",
        Some(
            Reduction::Mean
            | Reduction::Min
            | Reduction::Max
            | Reduction::Sum
            | Reduction::Quantile(_)
            | Reduction::LowestTenth
            | Reduction::MeanLessLowestTenth,
        )
        | None => {}
    }
    if let Some(unit) = &spec.unit {
        return unit;
    }
    match spec.quantity.as_str() {
        "fair_share" => "% of the fair share",
        "incast_overhead" | "utilisation" | "sampled_utilisation" | "processor_load" => "%",
        "queue_found" => "packets",
        "links" => "links",
        "detoured" | "undelivered" => "%",
        "path_removals" | "path_restorations" => "paths",
        _ => "",
    }
}

fn check_keys(spec: &Spec) -> Refused<()> {
    let Some((_, keys)) = QUANTITIES.iter().find(|(name, _)| *name == spec.quantity) else {
        let known: Vec<&str> = QUANTITIES.iter().map(|&(name, _)| name).collect();
        return Err(format!(
            "no quantity is named `{}`; expected one of {}",
            spec.quantity,
            known.join(", ")
        ));
    };
    let keys = keys.concat();
    match spec.keys().iter().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "`{key}` has no meaning for `{}`, which takes {}",
            spec.quantity,
            keys.join(", ")
        )),
        None => Ok(()),
    }
}

/// Looks up a name.
fn choice<T: Copy>(key: &str, name: Option<&str>, known: &[(&str, T)]) -> Refused<T> {
    let names = || known.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    let name = name.ok_or_else(|| format!("`{key}` is missing; expected one of {}", names()))?;
    let found = known.iter().find(|(each, _)| *each == name).map(|&(_, value)| value);
    found.ok_or_else(|| format!("`{key}` is `{name}`; expected one of {}", names()))
}

fn unit(spec: &Spec, known: &[(&str, f64)]) -> Refused<f64> {
    choice("unit", spec.unit.as_deref(), known)
}

/// Unit of reduced values; 1 if the number is the same in every unit.
fn unit_of_reduced(spec: &Spec, reduce: Reduction, known: &[(&str, f64)]) -> Refused<f64> {
    match (reduce.unit(), &spec.unit) {
        (UnitOf::Result | UnitOf::Values, _) => unit(spec, known),
        (UnitOf::Nothing, None) => Ok(1.0),
        (UnitOf::Nothing, Some(_)) => {
            Err("`unit` has no meaning: this number is the same in every unit".to_owned())
        }
    }
}

/// Unit of a number that may be plain.
fn unit_or_one(spec: &Spec, known: &[(&str, f64)]) -> Refused<f64> {
    if spec.unit.is_some() { unit(spec, known) } else { Ok(1.0) }
}

fn selection(spec: &Spec) -> Refused<flows::Selection> {
    if let Some(sizes) = &spec.size_bytes {
        let is_empty = sizes.from.zip(sizes.below).is_some_and(|(from, below)| from >= below);
        if is_empty || sizes.from.or(sizes.below).is_none() {
            return Err("`size_bytes` takes no size: expected from, below or both".to_owned());
        }
    }
    Ok(flows::Selection {
        workload: spec.workload.clone(),
        pair: spec.pair,
        started_before_ps: spec.started_before_us.map(|us| us.saturating_mul(1_000_000)),
        sizes: spec.size_bytes,
    })
}

fn reduction(spec: &Spec) -> Refused<Reduction> {
    let name = spec.reduce.as_deref();
    let name = name.ok_or("`reduce` is missing: how many values become one number")?;
    if spec.within.is_some_and(|within| {
        within.from.or(within.to).is_none()
            || within.from.zip(within.to).is_some_and(|(from, to)| from > to)
    }) {
        return Err("`within` takes no value: expected from, to or both".to_owned());
    }
    Reduction::parse(name, spec.within)
}

/// Refuses meaningless reductions.
fn refuse(spec: &Spec, reduce: Reduction, refused: &[Reduction]) -> Refused<Reduction> {
    if refused.contains(&reduce) {
        let name = spec.reduce.as_deref().unwrap_or_default();
        return Err(format!("`reduce` = `{name}` has no meaning for `{}`", spec.quantity));
    }
    Ok(reduce)
}

/// Combines a reduction with a unit.
fn reduced(spec: &Spec, reduction: Reduction, known: &[(&str, f64)]) -> Refused<Reduced> {
    Ok(Reduced { reduction, unit: unit_of_reduced(spec, reduction, known)? })
}

fn of_flows(spec: &Spec) -> Refused<Of> {
    let reduction = refuse(spec, reduction(spec)?, &[Reduction::MinOfSwitch])?;
    // Large times and slowdowns are bad: their lowest tenth is the best.
    let of_goodputs = [Reduction::LowestTenth, Reduction::MeanLessLowestTenth, Reduction::Sum];
    let (value, reduce) = match spec.quantity.as_str() {
        "fct" => {
            refuse(spec, reduction, &of_goodputs)?;
            let known =
                [("receiver", flows::Value::FctReceiver), ("sender", flows::Value::FctSender)];
            let value = choice("at", spec.at.as_deref(), &known)?;
            (value, reduced(spec, reduction, TIMES)?)
        }
        "waiting" => {
            refuse(spec, reduction, &of_goodputs)?;
            (flows::Value::Waiting, reduced(spec, reduction, TIMES)?)
        }
        "slowdown" => {
            refuse(spec, reduction, &of_goodputs)?;
            let known =
                [("receiver", flows::Value::Slowdown), ("sender", flows::Value::SlowdownSender)];
            let at = spec.at.as_deref().or(Some("receiver"));
            (choice("at", at, &known)?, Reduced::plain(reduction))
        }
        "goodput" if spec.unit.as_deref() == Some(LINK_SHARE) => {
            reduced(spec, reduction, &[(LINK_SHARE, 1.0)])
                .map(|reduce| (flows::Value::LinkShare, reduce))?
        }
        "goodput" => {
            let known = [RATES, &[(LINK_SHARE, 1.0)]].concat();
            (flows::Value::Goodput, reduced(spec, reduction, &known)?)
        }
        "fair_share" => (flows::Value::FairShare, Reduced::plain(reduction)),
        other => return Err(format!("`{other}` is no quantity of flows")),
    };
    if let Some(groups) = &spec.groups {
        let sizes = &groups.sizes_up_to;
        if !groups.receivers && sizes.is_empty() {
            return Err("`groups` are of nothing: expected receivers, sizes_up_to or both".into());
        }
        if !sizes.is_sorted_by(|one, next| one < next) {
            return Err("`groups.sizes_up_to` does not ascend".into());
        }
    }
    Ok(Of::Flows { value, flows: selection(spec)?, groups: spec.groups.clone(), reduce })
}

/// Parses a measure of queries, whose answers belong together.
fn of_queries(spec: &Spec) -> Refused<Of> {
    let refused = [
        Reduction::MinOfSwitch,
        Reduction::LowestTenth,
        Reduction::MeanLessLowestTenth,
        Reduction::Sum,
    ];
    let reduce = reduced(spec, refuse(spec, reduction(spec)?, &refused)?, TIMES)?;
    let flows = selection(spec)?;
    if flows.workload.is_none() {
        return Err("`workload` is missing: whose answers".to_owned());
    }
    Ok(Of::Queries { flows, reduce })
}

fn of_count(spec: &Spec) -> Refused<Of> {
    if spec.quantity == "undelivered" {
        let (of, per) = (Count::Flows(missing_bytes), Some(Per::Bytes));
        return Ok(Of::Count { of, per, scale: 100.0, flows: selection(spec)? });
    }
    let count = match spec.quantity.as_str() {
        "packets_sent" => Count::Flows(|flow| flow.packets_sent),
        "packets_delivered" => Count::PacketsDelivered,
        "hops" => Count::Hops,
        "headers_received" => Count::Flows(|flow| flow.trims),
        "headers_returned" => Count::Flows(|flow| flow.returns),
        "timeouts" => Count::Flows(|flow| flow.timeouts),
        "path_removals" => Count::Flows(|flow| flow.path_removals),
        "path_restorations" => Count::Flows(|flow| flow.path_restorations),
        "retransmissions" => Count::Flows(match spec.cause.as_deref() {
            None => |flow| {
                flow.retransmissions_signalled
                    + flow.retransmissions_return
                    + flow.retransmissions_timeout
            },
            Some("signalled") => |flow| flow.retransmissions_signalled,
            Some("return") => |flow| flow.retransmissions_return,
            Some("timeout") => |flow| flow.retransmissions_timeout,
            Some(other) => {
                return Err(format!(
                    "`cause` is `{other}`; expected one of signalled, return, timeout"
                ));
            }
        }),
        other => return Err(format!("`{other}` is no count")),
    };
    let known = [
        ("packet_sent", Per::PacketsSent),
        ("packet_delivered", Per::PacketsDelivered),
        ("header", Per::Headers),
        ("return", Per::Returns),
    ];
    let per = match (&spec.per, spec.quantity.as_str()) {
        (None, _) => None,
        (Some(_), "hops") => Some(choice(
            "per",
            spec.per.as_deref(),
            &[("packet_delivered", Per::PacketsDelivered)],
        )?),
        (Some(_), _) => Some(choice("per", spec.per.as_deref(), &known)?),
    };
    let scale = scale(spec, per)?;
    Ok(Of::Count { of: count, per, scale, flows: selection(spec)? })
}

/// Factor of a count or ratio.
fn scale(spec: &Spec, per: Option<Per>) -> Refused<f64> {
    match per {
        None => unit_or_one(spec, COUNTS),
        Some(_) => unit_or_one(spec, &[("%", 100.0)]),
    }
}

fn filters(spec: &Spec) -> Refused<Vec<PortFilter>> {
    match &spec.ports {
        None => Ok(Vec::new()),
        Some(OneOrMore::One(filter)) => Ok(vec![*filter]),
        Some(OneOrMore::More(filters)) if filters.is_empty() => {
            Err("`ports` is an empty list, which takes no port".to_owned())
        }
        Some(OneOrMore::More(filters)) => Ok(filters.clone()),
    }
}

fn of_ports(spec: &Spec) -> Refused<Of> {
    let counter: fn(&crate::record::PortRecord) -> u64 = match spec.quantity.as_str() {
        "port_packets" => |port| port.packets,
        "port_bytes" => |port| port.bytes,
        "port_trimmed" => |port| port.trimmed,
        "port_dropped" => |port| port.dropped,
        "port_returned" => |port| port.returned,
        "port_detoured" => |port| port.detoured,
        "port_notified" => |port| port.notified,
        "utilisation" => {
            let reduce = refuse(
                spec,
                reduction(spec)?,
                &[Reduction::Sum, Reduction::LowestTenth, Reduction::MeanLessLowestTenth],
            )?;
            let value = ports::Value::Utilisation;
            let reduce = Reduced::plain(reduce);
            return Ok(Of::Ports { value, ports: filters(spec)?, reduce });
        }
        other => return Err(format!("`{other}` is no quantity of ports")),
    };
    if spec.per.is_none() && spec.beyond.is_none() {
        if selection(spec)? != flows::Selection::default() {
            return Err(format!(
                "ports do not tell flows apart: `{}` is of selected flows only with `per`",
                spec.quantity
            ));
        }
        let reduction = reduction(spec)?;
        let reduce = match (&spec.unit, spec.quantity.as_str()) {
            (None, _) => Reduced::plain(reduction),
            (Some(_), "port_bytes") => reduced(spec, reduction, BYTES)?,
            (Some(_), _) => reduced(spec, reduction, COUNTS)?,
        };
        let value = ports::Value::Counter(counter);
        return Ok(Of::Ports { value, ports: filters(spec)?, reduce });
    }
    if spec.reduce.is_some() || spec.within.is_some() {
        return Err("a quotient is of all ports together: no `reduce`".to_owned());
    }
    let per = choice("per", spec.per.as_deref(), &[("packet_sent", Per::PacketsSent)])?;
    let of = match spec.beyond {
        Some(_) if spec.ports.is_some() => {
            return Err("`beyond` is of all ports but those: no `ports`".to_owned());
        }
        Some(filter) => Count::Beyond(counter, filter),
        None => Count::Ports(counter, filters(spec)?),
    };
    let scale = scale(spec, Some(per))?;
    Ok(Of::Count { of, per: Some(per), scale, flows: selection(spec)? })
}

fn of_packets(spec: &Spec) -> Refused<Of> {
    let not_for_packets =
        [Reduction::MinOfSwitch, Reduction::LowestTenth, Reduction::MeanLessLowestTenth];
    let place = spec.place.clone();
    let reduction = || refuse(spec, reduction(spec)?, &not_for_packets);
    let value = match spec.quantity.as_str() {
        "latency" => {
            let known = [("all", false), ("later", true)];
            let later = choice("packets", spec.packets.as_deref(), &known)?;
            return Ok(Of::Latency { later, reduce: reduced(spec, reduction()?, TIMES)? });
        }
        "events" => {
            let known = [
                ("enqueue", What::Enqueue),
                ("trim", What::Trim),
                ("mark", What::Mark),
                ("depart", What::Depart),
                ("arrive", What::Arrive),
                ("return", What::Return),
                ("notify", What::Notify),
                ("drop", What::Drop),
                ("detour", What::Detour),
                ("lose", What::Lose),
            ];
            events::Value::Events(choice("event", spec.event.as_deref(), &known)?)
        }
        "idle_time" => events::Value::IdleTime(reduced(spec, reduction()?, TIMES)?),
        "bursts" => {
            let gap_us = spec.gap_us.filter(|us| *us > 0).ok_or("`gap_us` is missing or 0")?;
            let gap_ps = gap_us.saturating_mul(1_000_000);
            let known = [
                ("packets", events::BurstOf::Packets),
                ("bytes", events::BurstOf::Bytes),
                ("span", events::BurstOf::Span),
                ("period", events::BurstOf::Period),
            ];
            let of = choice("of", spec.of.as_deref(), &known)?;
            let reduce = match of {
                events::BurstOf::Packets => Reduced::plain(reduction()?),
                events::BurstOf::Bytes => reduced(spec, reduction()?, BYTES)?,
                events::BurstOf::Span | events::BurstOf::Period => {
                    reduced(spec, reduction()?, TIMES)?
                }
            };
            events::Value::Bursts { gap_ps, of, reduce }
        }
        "low_time" => {
            let interval = spec.interval_us.filter(|us| *us > 0);
            let interval_us = interval.ok_or("`interval_us` is missing or 0")?;
            let interval_ps = interval_us.saturating_mul(1_000_000);
            let below_percent = spec.below_percent.ok_or("`below_percent` is missing")?;
            events::Value::LowTime { interval_ps, below_percent, unit: unit(spec, TIMES)? }
        }
        "queue_found" => events::Value::QueueFound(Reduced::plain(reduction()?)),
        other => return Err(format!("`{other}` is no quantity of packets")),
    };
    Ok(Of::Events { value, place })
}

fn of_hosts(spec: &Spec) -> Refused<Of> {
    let (value, scale) = match spec.quantity.as_str() {
        "processor_load" => {
            let known = [("receiver", hosts::Side::Receiving), ("sender", hosts::Side::Sending)];
            (hosts::Value::Load(choice("at", spec.at.as_deref(), &known)?), 1.0)
        }
        "bytes_an_answer" => (hosts::Value::BytesAnAnswer, unit(spec, BYTES)?),
        "host_dropped" => {
            let dropped: fn(&HostCounters) -> u64 =
                |host| host.queue_dropped + host.ring_dropped + host.pacer_dropped;
            (hosts::Value::Counter(dropped), unit_or_one(spec, COUNTS)?)
        }
        "paced" => (hosts::Value::Counter(|host| host.paced), unit_or_one(spec, COUNTS)?),
        other => return Err(format!("`{other}` is no quantity of hosts")),
    };
    Ok(Of::Hosts { value, host: spec.host, scale, flows: selection(spec)? })
}

fn of_paths(spec: &Spec) -> Refused<Of> {
    let value = match (spec.quantity.as_str(), spec.reduce.as_deref()) {
        ("links", Some("mean")) => paths::Value::MeanLinks,
        ("links", Some("max")) => paths::Value::MaxLinks,
        ("links", _) => return Err("`reduce` of links: expected mean or max".to_owned()),
        ("detours", _) => paths::Value::MeanDetours,
        ("detoured", _) => paths::Value::Detoured,
        (other, _) => return Err(format!("`{other}` is no quantity of ways")),
    };
    let flows = selection(spec)?;
    Ok(Of::Paths { value, workload: flows.workload, sizes: flows.sizes })
}

fn of_samples(spec: &Spec) -> Refused<Of> {
    let reduction = refuse(
        spec,
        reduction(spec)?,
        &[
            Reduction::MinOfSwitch,
            Reduction::LowestTenth,
            Reduction::MeanLessLowestTenth,
            Reduction::Sum,
        ],
    )?;
    let (value, reduce) = match spec.quantity.as_str() {
        "queue" => {
            let known = [
                ("all", samples::Queues::All),
                ("data", samples::Queues::Data),
                ("headers", samples::Queues::Headers),
            ];
            let queues = choice("of", spec.of.as_deref().or(Some("all")), &known)?;
            (samples::Value::Queue(queues), reduced(spec, reduction, BYTES)?)
        }
        "fullest_queue" => (samples::Value::FullestQueue, reduced(spec, reduction, BYTES)?),
        "sampled_utilisation" => (samples::Value::Utilisation, Reduced::plain(reduction)),
        other => return Err(format!("`{other}` is no quantity of samples")),
    };
    let ports = match filters(spec)?.as_slice() {
        [one] if one.layer.is_some() && one.direction.is_some() => *one,
        _ => return Err("samples are of one layer and direction: `ports` names them".to_owned()),
    };
    if ports.switch.or(ports.link).is_some() {
        return Err(
            "samples do not tell the ports of a layer apart: no `switch`, no `link`".to_owned()
        );
    }
    let ps = |us: Option<u64>| us.map(|us| us.saturating_mul(1_000_000));
    let window = samples::Window { from_ps: ps(spec.from_us), to_ps: ps(spec.to_us) };
    let ports = samples::Group { ports, pod: spec.pod };
    Ok(Of::Samples { value, ports, window, reduce })
}
