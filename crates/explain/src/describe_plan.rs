//! Describes a plan for people: every active setting, a line each.

use trimline_metrics::manifest;
use trimline_packet::TimeDelta;
use trimline_sim::plan::{
    Arrivals, Base, Bypass, Clock, Connection, EngineChoice, FixedRoute, Gap, Interrupts,
    LinkChange, LinkEvent, Matrix, PacedHosts, PhantomSettings, Plan, Pool, ReceiveHosts,
    ReceiverSettings, Receivers, Sampled, Servers, ServiceModel, Share, Size, Spraying,
    TransmitHosts, TransmitterSettings, WhenBusy, Workload,
};
use trimline_sim::scenario::Output;
use trimline_sim::topology::{self, Clos, HostDelay, LinkId, LinkSpec, Processing};
use trimline_sim::transports::time;
use trimline_sim::{offered, self_pairs};

use crate::describe_detour;
use crate::line::{Line, plural, shortened};

/// Max number of workloads that are listed singly.
const MAX: usize = 40;

pub(crate) fn describe(plan: &Plan, output: &Output) -> Vec<Line> {
    let mut lines = vec![Line::new("topology", describe_shape(&plan.topology))];
    lines.push(Line::new("links", describe_link(&plan.topology)));
    lines.extend(describe_processing(&plan.topology));
    lines.extend(describe_impairment(plan));
    lines.extend(describe_event(plan));
    lines.extend(describe_fixed_routes(plan));
    lines.extend(describe_phantom(plan));
    lines.extend(describe_nic(plan));
    lines.extend(describe_pacer(plan));
    lines.extend(describe_switch("switch", &plan.base, &plan.switch));
    if let Some(droppable) = &plan.droppable {
        let beside = "droppable packets have a separate queue (deficit round robin)";
        lines.push(Line::new("droppable", beside));
        lines.extend(describe_model("", "", droppable));
    }
    for rule in &plan.port_rules {
        let ports = match rule.ports.len() {
            1 => "1 port differs".to_owned(),
            count => format!("{count} ports differ"),
        };
        let beside = if rule.model.droppable.is_some() {
            ", with a queue for droppable packets"
        } else {
            ""
        };
        lines.push(Line::new("ports", format!("{ports}{beside}: {}", names_of(plan, &rule.ports))));
        lines.extend(describe_switch("", &rule.base, &rule.model.main));
    }
    if plan.switch.shares_memory() {
        let min = plan.shared_memory.of(u64::from(plan.topology.min_switch_ports()));
        let described = format!(
            "min {} B per switch, by its number of ports, shared by its queues (dynamic thresholds)",
            min.get()
        );
        lines.push(Line::new("memory", described));
    }
    lines.extend(describe_lossless(plan));
    lines.extend(describe_detour::describe(plan).map(|described| Line::new("detour", described)));
    for chosen in &plan.transports {
        for text in chosen.describe(plan).lines() {
            let (about, described) = text.trim().split_once("  ").unwrap_or(("", text.trim()));
            match about {
                "" => lines.push(Line::new("", described)),
                about => lines.push(Line::new(about, described.trim())),
            }
        }
    }
    lines.extend((0..plan.workloads.len().min(MAX)).map(|place| workload_line(plan, place)));
    if plan.workloads.len() > MAX {
        lines.push(Line::new("", format!("and {} more workloads", plan.workloads.len() - MAX)));
    }
    lines.push(Line::new(
        "duration",
        match plan.duration {
            Some(duration) => format!("{}, warm-up {}", time(duration), time(plan.warm_up)),
            None => "until every flow has ended".to_owned(),
        },
    ));
    lines.push(Line::new("output", describe_output(plan, output)));
    if let Some(watch) = &plan.timeline {
        let (places, pairs) = (watch.places.len(), watch.flows.len());
        let of = format!("{places} places and {pairs} pairs of hosts, with the heap engine (slow)");
        lines.push(Line::new("timeline", of));
    } else if plan.engine == EngineChoice::Heap {
        lines.push(Line::new("engine", "heap (slow)"));
    }
    lines
}

/// Lines of `other` that differ from `first`, for later series.
pub(crate) fn different(first: &[Line], other: &[Line]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut about = "";
    for line in other {
        if !line.about.is_empty() {
            about = &line.about;
        }
        if !first.contains(line) {
            // The first line of a subject names it.
            lines.push(Line::new(about, &*line.described));
            about = "";
        }
    }
    let is_gone =
        |line: &&Line| !line.about.is_empty() && !other.iter().any(|kept| kept.about == line.about);
    let mut gone: Vec<&str> = first.iter().filter(is_gone).map(|line| &*line.about).collect();
    gone.dedup();
    lines.extend(gone.into_iter().map(|about| Line::new(about, "none")));
    lines
}

fn describe_shape(clos: &Clos) -> String {
    let hosts = clos.hosts();
    match clos.tiers {
        0 => "two hosts, back to back".to_owned(),
        1 => format!("{hosts} hosts on one switch"),
        2 => format!(
            "{hosts} hosts: {} leaves of {} hosts, {} spines",
            clos.tors_per_pod, clos.hosts_per_tor, clos.aggregations_per_pod
        ),
        _ => format!(
            "FatTree of {hosts} hosts: {} pods of {} ToRs with {} hosts each, {} aggregation switches per \
             pod, {} cores",
            clos.pods,
            clos.tors_per_pod,
            clos.hosts_per_tor,
            clos.aggregations_per_pod,
            clos.aggregations_per_pod * clos.cores_per_aggregation
        ),
    }
}

fn tiers(clos: &Clos) -> impl Iterator<Item = (&'static str, LinkSpec)> {
    let links =
        [("host", clos.host_link), ("ToR", clos.tor_link), ("aggregation", clos.aggregation_link)];
    links.into_iter().take(usize::from(clos.tiers.max(1)))
}

fn describe_lossless(plan: &Plan) -> Option<Line> {
    let lossless = plan.lossless?;
    let all = (1u16 << plan.switch.queue_count()) - 1;
    let what = match u16::from(lossless.classes) == all {
        true => "all packets are lossless",
        false => "data is lossless; control packets have priority and may be dropped",
    };
    let mut inputs: Vec<(LinkSpec, Vec<&str>)> = Vec::new();
    for (tier, link) in tiers(&plan.topology) {
        match inputs.iter_mut().find(|(known, _)| *known == link) {
            Some((_, tiers)) => tiers.push(tier),
            None => inputs.push((link, vec![tier])),
        }
    }
    let headroom = |(link, tiers): &(LinkSpec, Vec<&str>)| {
        let bytes = plan.headroom(link).unwrap_or(0);
        format!("{bytes} B at {} and {} ({})", link.rate, time(link.delay), tiers.join(", "))
    };
    let headrooms: Vec<String> = inputs.iter().map(headroom).collect();
    let described = format!(
        "priority flow control: {what}; an input with more than {} B (XOFF) pauses its sender until {} B (XON); \
         headroom {}",
        lossless.xoff,
        lossless.xon,
        headrooms.join("; ")
    );
    Some(Line::new("pauses", described))
}

fn describe_link(clos: &Clos) -> String {
    let links = tiers(clos).map(|(tier, link)| {
        let framing = match link.framing_bytes {
            0 => String::new(),
            bytes => format!(", {bytes} B of framing"),
        };
        format!("{tier} {}, {}{framing}", link.rate, time(link.delay))
    });
    links.collect::<Vec<_>>().join("; ")
}

fn describe_impairment(plan: &Plan) -> Option<Line> {
    let impairment = &plan.impairment;
    let share = |share: Share| format!("{} %", f64::from(share.billionths()) / 1e7);
    let mut parts = Vec::new();
    if impairment.loss > Share::default() {
        parts.push(format!("{} of packets lost", share(impairment.loss)));
    }
    if impairment.corruption > Share::default() {
        parts.push(format!("{} damaged", share(impairment.corruption)));
    }
    if impairment.reordering > TimeDelta::ZERO {
        parts.push(format!("each delayed by up to {}", time(impairment.reordering)));
    }
    if parts.is_empty() {
        return None;
    }
    let on = match &impairment.links[..] {
        [] => "on every link".to_owned(),
        links => format!("on {}", names_of(plan, links)),
    };
    Some(Line::new("impairment", format!("{} {on}", parts.join(", "))))
}

fn describe_event(plan: &Plan) -> Option<Line> {
    if plan.link_events.is_empty() {
        return None;
    }
    let said =
        |event: &LinkEvent| format!("{} at {}", describe_change(plan, event), time(event.at));
    // Naming a link scans all links, so only some events are named.
    let some = first_of(&plan.link_events, said);
    let known = time(plan.routing_convergence);
    Some(Line::new("events", format!("{some}; routing converges {known} later")))
}

/// Fixed routes of packets that do not go up and down.
fn describe_fixed_routes(plan: &Plan) -> Option<Line> {
    let said = |fixed_route: &FixedRoute| {
        let names = [fixed_route.over, fixed_route.by].map(|link| names_of(plan, &[link]));
        format!("packets from {} leave by {}", names[0], names[1])
    };
    let some = first_of(&plan.fixed_routes, said);
    (!some.is_empty()).then(|| Line::new("routes", some))
}

fn first_of<T>(all: &[T], said: impl Fn(&T) -> String) -> String {
    let some: Vec<String> = all.iter().take(6).map(said).collect();
    match all.len() - some.len() {
        0 => some.join(", "),
        more => format!("{}, and {more} more", some.join(", ")),
    }
}

fn describe_phantom(plan: &Plan) -> Vec<Line> {
    let mut groups: Vec<(PhantomSettings, Vec<LinkId>)> = Vec::new();
    for phantom in &plan.phantom_queues {
        // For a link with two the later one holds.
        groups.iter_mut().for_each(|(_, links)| links.retain(|link| *link != phantom.link));
        match groups.iter_mut().find(|(settings, _)| *settings == phantom.settings) {
            Some((_, links)) => links.push(phantom.link),
            None => groups.push((phantom.settings, vec![phantom.link])),
        }
    }
    groups.retain(|(_, links)| !links.is_empty());
    let said = |(settings, links): &(PhantomSettings, Vec<LinkId>)| {
        let PhantomSettings { drain, threshold, clock } = settings;
        let text = format!(
            "on {}: drains at {drain}{}, ECN marks above {threshold}",
            names_of(plan, links),
            describe_clock(*clock),
        );
        Line::new("phantom", text)
    };
    groups.iter().map(said).collect()
}

fn describe_clock(clock: Clock) -> String {
    match clock {
        Clock::Continuous => String::new(),
        Clock::Tick(tick) => format!(" every {}", time(tick)),
    }
}

fn whose(hosts: Option<&Vec<u32>>) -> String {
    match hosts {
        None => "every host".to_owned(),
        Some(hosts) => format!("{} hosts", hosts.len()),
    }
}

fn describe_nic(plan: &Plan) -> Vec<Line> {
    let costs = |costs: &[(TimeDelta, &str)]| -> String {
        let said = costs.iter().filter(|(cost, _)| *cost > TimeDelta::ZERO);
        said.map(|(cost, of)| format!("; {} of CPU time per {of}", time(*cost))).collect()
    };
    let fifo = plan.nics.transmit.as_ref().map(|TransmitHosts { hosts, settings, .. }| {
        let TransmitterSettings { queue, burst, per_burst } = settings;
        let handed = match burst.get() {
            0 => "packet by packet".to_owned(),
            _ => format!("in bursts of up to {burst}"),
        };
        let whose = whose(hosts.as_ref());
        let costs = costs(&[(*per_burst, "burst")]);
        Line::new(
            "fifo",
            format!("{whose}: a transmit queue of {queue}, handed to the NIC {handed}{costs}"),
        )
    });
    let cpu = plan.nics.receive.as_ref().map(|ReceiveHosts { hosts, settings, .. }| {
        let ReceiverSettings { interrupts, ring, round, merge, processors, .. } = settings;
        let told = match interrupts {
            Interrupts::EachFrame => "an interrupt per frame".to_owned(),
            Interrupts::Coalesced { frames, time: max } => {
                format!("an interrupt per {frames} frames, or {} after the first", time(*max))
            }
            Interrupts::Adaptive(adaptive) => format!(
                "an interrupt per {} frames, or {} to {} after the first, adapted to their rate",
                adaptive.frames,
                time(adaptive.min),
                time(adaptive.max)
            ),
        };
        let joined = match merge.get() {
            0 => String::new(),
            _ => format!("; GRO merges up to {merge} of a flow"),
        };
        let costs = costs(&[
            (settings.per_interrupt, "interrupt"),
            (settings.per_packet, "frame"),
            (settings.per_answer, "answer"),
        ]);
        let Bypass { notifications, probes } = settings.bypass;
        let past = match (notifications, probes) {
            (false, false) => "",
            (true, false) => "; notifications bypass the processors",
            (false, true) => "; probes bypass the processors",
            (true, true) => "; notifications and probes bypass the processors",
        };
        Line::new("cpu", format!(
            "{}: a ring of {ring} frames, {told}; processors: {processors}, each takes up to {round} frames at \
             once{joined}{costs}{past}",
            whose(hosts.as_ref())
        ))
    });
    fifo.into_iter().chain(cpu).collect()
}

fn describe_pacer(plan: &Plan) -> Option<Line> {
    let PacedHosts { hosts, settings, .. } = plan.pacer.as_ref()?;
    let whose = whose(hosts.as_ref());
    let percent = |billionths: u32| f64::from(billionths) / 1e7;
    let probability = percent(settings.association_chance);
    let lifetime = time(settings.association_lifetime);
    let text = format!(
        "{whose}: {probability} % of ECN echoes make their flow paced, until {lifetime} after the last echo; the \
         pacing rate is updated every {} with weight {} % and {} B/s per queued byte; a token bucket of {}{}",
        time(settings.interval),
        percent(settings.gain),
        settings.backlog_gain,
        settings.bucket,
        describe_clock(settings.clock),
    );
    Some(Line::new("pacer", text))
}

fn describe_change(plan: &Plan, event: &LinkEvent) -> String {
    let what = match event.change {
        LinkChange::Rate(rate) => format!("sends at {rate}"),
        LinkChange::Fail => "fails".to_owned(),
        LinkChange::Restore => "is restored".to_owned(),
    };
    let both = if event.both_directions { " and back" } else { "" };
    format!("{}{both} {what}", names_of(plan, &[event.link]))
}

/// Describes the link events of a plan for a manifest: the first 64.
pub fn link_changes(plan: &Plan) -> Vec<manifest::LinkChange> {
    const MAX: usize = 64;
    let change = |event: &LinkEvent| manifest::LinkChange {
        at_ps: event.at.as_ps(),
        what: describe_change(plan, event),
    };
    plan.link_events.iter().take(MAX).map(change).collect()
}

fn names_of(plan: &Plan, links: &[LinkId]) -> String {
    let all = topology::links(&plan.topology);
    let name = |link: &LinkId| all.iter().find(|(_, known)| known == link).map(|(name, _)| &**name);
    let names: Vec<&str> = links.iter().take(9).filter_map(name).collect();
    match links.len() > names.len() {
        true => format!("{} ({} links)", names[..2.min(names.len())].join(", "), links.len()),
        false => shortened(&names),
    }
}

/// Describes a port: profile, order and queues; then the profile's lines that they replace.
fn describe_switch(about: &str, base: &Base, model: &ServiceModel) -> Vec<Line> {
    let changed = if base.model == *model { "" } else { ", changed" };
    let mut lines = describe_model(about, &format!("profile {}{changed}: ", base.name), model);
    let own = model.describe();
    let unlike = base.model.describe().into_iter().filter(|described| !own.contains(described));
    lines.extend(unlike.map(|described| Line::new("", format!("instead of: {described}"))));
    lines
}

fn describe_model(about: &str, head: &str, model: &ServiceModel) -> Vec<Line> {
    let mut described = model.describe().into_iter();
    let first = Line::new(about, format!("{head}{}", described.next().unwrap_or_default()));
    std::iter::once(first).chain(described.map(|described| Line::new("", described))).collect()
}

fn describe_output(plan: &Plan, output: &Output) -> String {
    let Output { flows, ports, links, latencies, timeline, fct, series } = *output;
    let every = plan.sample_every.map(|every| {
        let Sampled { flows, ports, pods } = &plan.sampled;
        let chosen = match (flows.len(), ports.len()) {
            (0, 0) => String::new(),
            (flows, ports) => {
                let (some, more) = (plural(flows), plural(ports));
                format!(" ({flows} pair{some} of hosts and {ports} port{more} in detail)")
            }
        };
        let apart = match pods.len() {
            0 => String::new(),
            pods => format!(", {pods} pod{} separately", plural(pods)),
        };
        format!("series every {}{chosen}{apart}", time(every))
    });
    let files = [
        (flows, "flows"),
        (ports, "ports"),
        (links, "links"),
        (latencies, "latencies"),
        (timeline, "timeline"),
        (fct, "fct"),
        (series, every.as_deref().unwrap_or("series")),
    ];
    let files: Vec<&str> =
        files.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| name).collect();
    if files.is_empty() { "only the summary".to_owned() } else { files.join(", ") }
}

fn workload_line(plan: &Plan, place: usize) -> Line {
    let workload = &plan.workloads[place];
    let with = match &plan.transports[..] {
        [_] => String::new(),
        _ => format!(", with {}", plan.transport_of(workload).name()),
    };
    let paths = match (workload.spraying, plan.transport_of(workload).traits().keeps_paths) {
        (Spraying::SwitchRandom, _) => "paths chosen by the switches",
        (Spraying::SenderPermuted, false) => "paths permuted by the sender",
        (Spraying::SenderPermuted, true) => "one path per flow or subflow",
        (Spraying::PerPair, _) => "one path per pair of hosts, or per subflow",
    };
    let load = offered(plan, place).map_or_else(String::new, |offered| {
        let percent = offered.billionths as f64 / 1e7;
        let links = offered.links as usize;
        format!(", payload load {percent:.1} % on {links} link{}", plural(links))
    });
    let own =
        workload.payload.map_or_else(String::new, |own| format!(", {own} B payload per packet"));
    let unmade = match self_pairs(plan, place) {
        0 => String::new(),
        some => {
            let seed = plan.seed;
            format!(
                ", {some} of them left out, because the source is the destination (seed {seed})"
            )
        }
    };
    let described = describe_workload(workload, plan.topology.hosts(), paths);
    Line::new("workload", described + &own + &unmade + &load + &with)
}

fn describe_processing(clos: &Clos) -> Option<Line> {
    let processing = &clos.processing;
    if *processing == Processing::default() {
        return None;
    }
    let host = |delay: HostDelay| match delay.spread {
        TimeDelta::ZERO => time(delay.min),
        spread => {
            format!("{} to {}", time(delay.min), time(delay.min + spread))
        }
    };
    let mut described = format!(
        "hosts {} to send, {} to receive",
        host(processing.host_send),
        host(processing.host_receive)
    );
    let switches = ["ToR", "aggregation", "core"].iter().zip(processing.switch);
    for (layer, latency) in switches.take(usize::from(clos.tiers)) {
        described += &format!("; {layer} {}", time(latency));
    }
    Some(Line::new("processing", described))
}

fn describe_workload(workload: &Workload, hosts: u32, paths: &str) -> String {
    let matrix = match &workload.matrix {
        Matrix::Permutation => format!("each of {hosts} hosts sends to one other host"),
        Matrix::Incast { receiver, senders, .. } => {
            format!("{senders} hosts send to host {receiver}")
        }
        Matrix::Random { flows, excluding } => {
            let members = hosts.saturating_sub(excluding.len() as u32);
            format!(
                "each of {members} hosts sends {flows} flow{} to random other hosts",
                plural(*flows as usize)
            )
        }
        Matrix::RandomPairs { total, not_source, not_destination, .. } => {
            let but = |excluded: &[u32]| hosts.saturating_sub(excluded.len() as u32);
            let (from, to) = (but(not_source), but(not_destination));
            format!("{total} random flows, from {from} hosts to {to} hosts")
        }
        Matrix::AllToAll => format!("each of {hosts} hosts sends to every other host"),
        Matrix::Outcast { sender, receivers, .. } => {
            format!("host {sender} sends to {receivers} hosts")
        }
        Matrix::RandomIncast { senders, receivers, .. } => {
            let to = match receivers {
                Receivers::Any => "to a random host".to_owned(),
                Receivers::OneOf(set) => format!("to one of {} hosts", set.len()),
                Receivers::EachOneOf(set) => format!("each to one of {} hosts", set.len()),
            };
            format!("{senders} hosts send {to}")
        }
        Matrix::Pairs(pairs) if pairs.len() == 1 => "1 flow".to_owned(),
        Matrix::Pairs(pairs) => format!("{} flows", pairs.len()),
        Matrix::Listed(listed) => format!("{} flows from a file", listed.flows.len()),
        Matrix::Requests(queries) => {
            let who = match queries.clients.as_deref() {
                Some([client]) => format!("host {client} queries"),
                Some(clients) => format!("{} hosts query", clients.len()),
                None => format!("{hosts} hosts query"),
            };
            let servers = match &queries.servers {
                Servers::Fixed(servers) => servers.to_string(),
                Servers::Groups(groups) => format!("up to {}", groups.max()),
            };
            format!("{who} {servers} random other hosts at once")
        }
        Matrix::Responses => "the responses".to_owned(),
    };
    let size = match (&workload.matrix, &workload.size) {
        (Matrix::Listed(_), _) => "sizes from the file".to_owned(),
        (_, Size::LongLived) => "long-lived".to_owned(),
        (_, Size::Fixed(size)) => format!("{size} each"),
        (_, Size::Drawn(sizes)) => {
            format!("random sizes with a mean of {} B", sizes.mean_millibytes() / 1000)
        }
        (_, Size::Pareto(sizes)) => {
            let (above, below) = sizes.shape();
            let bound =
                if sizes.is_bounded() { format!(", max {} B", sizes.max()) } else { String::new() };
            format!(
                "Pareto sizes of shape {}, mean {} B, min {} B{bound}",
                f64::from(above) / f64::from(below),
                sizes.mean_bytes(),
                sizes.min_millibytes() / 1000
            )
        }
    };
    let arrivals = match workload.arrivals {
        Arrivals::Once => String::new(),
        Arrivals::Periodic { every, .. } => format!(", repeated every {}", time(every)),
        Arrivals::Poisson { mean, .. } => {
            format!(", Poisson arrivals with a mean gap of {}", time(mean))
        }
        Arrivals::ClosedLoop { gap: Gap::Fixed(gap), .. } => {
            format!(", closed loop with a gap of {}", time(gap))
        }
        Arrivals::ClosedLoop { gap: Gap::Exponential(mean), .. } => {
            format!(", closed loop with exponential gaps of mean {}", time(mean))
        }
    };
    let jitter = match workload.start_jitter.as_ps() {
        0 => String::new(),
        _ => format!(" plus jitter up to {}", time(workload.start_jitter)),
    };
    let connection = match workload.connection {
        Connection::New => String::new(),
        Connection::Persistent => ", persistent connections".to_owned(),
        Connection::Pool(Pool { each, when_busy }) => {
            let else_words = match when_busy {
                WhenBusy::Wait => "the first that becomes idle",
                WhenBusy::LeastBusy => "the one with the fewest flows",
            };
            format!(
                ", {each} persistent connections to each host (a flow takes an idle one, else {else_words})"
            )
        }
    };
    format!(
        "{}: {matrix}, {size}{arrivals}, start at {}{jitter}, class {}, {paths}{connection}",
        workload.name,
        time(workload.start),
        workload.class
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn of(text: &str) -> String {
        let scenario = scenario(text);
        let run = &scenario.runs[0];
        describe(&run.plan, &run.output).iter().map(Line::text).collect()
    }

    const STAR: &str =
        "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";

    #[test]
    fn nics_and_processors_are_described() {
        let with = |keys: &str| {
            of(&format!("transport.tcp = {{}}\nhost = {{ {keys} }}\n{STAR}"))
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let fifo = with("fifo = { queue = \"2MB\", burst_cost = \"2us\", hosts = [1, 2] }");
        let said = "fifo 2 hosts: a transmit queue of 2000000 B, handed to the NIC in bursts of up to 64000 B; 2us of \
                    CPU time per burst";
        assert!(fifo.contains(said), "{fifo}");
        assert!(with("fifo = { queue = \"2MB\", lso = \"0B\" }").contains("packet by packet"));
        let cpu =
            with("cpu = { interrupts = { frames = 8, time = \"16us\" }, packet_cost = \"260ns\" }");
        let said = "cpu every host: a ring of 1024 frames, an interrupt per 8 frames, or 16us after the first; \
                    processors: 1, each takes up to 64 frames at once; GRO merges up to 64000 B of a flow; 260ns of CPU time per frame";
        assert!(cpu.contains(said), "{cpu}");
        assert!(with("cpu = { interrupts = \"adaptive\" }").contains("adapted to their rate"));
        assert!(!of(STAR).contains("cpu") && !of(STAR).contains("fifo"));
    }

    #[test]
    fn a_timeline_is_described_as_slow() {
        let timeline =
            "[output]\ntimeline = { places = [\"host 1\", \"host 2\"], flows = [[0, 1]] }\n";
        let described = of(&format!("{STAR}{timeline}"));
        assert!(
            described
                .contains("timeline   2 places and 1 pairs of hosts, with the heap engine (slow)")
        );
    }

    #[test]
    fn pools_heavy_tails_and_loads_are_described() {
        let described =
            of("topology.star.hosts = 3\nduration = \"1ms\"\n[[workload]]\nname = \"w\"\n\
             partition_aggregate = { client = 1, servers = 1 }\nconnection.each = 16\n\
             size.pareto = { shape = \"1.05\", mean = \"100KB\", max = \"1GB\" }\n\
             arrivals.poisson.load = \"40%\"\n");
        let described = described.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Pareto sizes of shape 1.05, mean 100000 B, min ",
            " B, max 1000000000 B",
            "16 persistent connections to each host (a flow takes an idle one, else the first that becomes idle)",
            "payload load 40.0 % on 1 link",
        ] {
            assert!(described.contains(part), "{part}: {described}");
        }
        assert_eq!(described.matches("payload load").count(), 1, "{described}");
    }

    #[test]
    fn persistent_connections_are_described() {
        let loops = "arrivals.closed_loop = { gap = \"1us\", count = 3 }\n";
        let workload = |connection: &str| of(&format!("{STAR}{loops}{connection}"));
        let kept = workload("connection = \"persistent\"\n").replace("\n             ", " ");
        assert!(kept.contains("persistent connections"), "{kept}");
        assert_eq!(workload("connection = \"new\"\n"), workload(""));
    }

    #[test]
    fn the_paths_of_a_flow_are_described() {
        let chosen = ("spraying = \"switch-random\"\n", "paths chosen by the switches");
        let own = [
            ("ndp", "paths permuted by the sender"),
            ("phost", "paths permuted by the sender"),
            ("homa", "paths permuted by the sender"),
            ("dctcp", "one path per flow or subflow"),
            ("dcqcn", "one path per flow or subflow"),
        ];
        for (transport, said) in own {
            for (key, said) in [("", said), chosen] {
                let described = of(&format!("transport.{transport} = {{}}\n{STAR}{key}"));
                let described = described.replace("\n             ", " ");
                assert!(described.contains(said), "{transport}: {described}");
            }
        }
    }

    #[test]
    fn differing_ports_are_described() {
        let described = of(&format!(
            "switch.droppable_queue = \"50pkt\"\n{STAR}\
             [[switch.port]]\nlink = \"tor 0 down 1\"\nprofile = \"drop-tail\"\n"
        ));
        let described = described.replace("\n             ", " ");
        assert!(
            described.contains("droppable  droppable packets have a separate queue"),
            "{described}"
        );
        assert!(described.contains("ports      1 port differs: tor 0 down 1"), "{described}");
        assert!(described.contains("profile drop-tail: one FIFO queue"), "{described}");
        let short = [Line::new("switch", "a"), Line::new("", "b"), Line::new("", "c")];
        let other = [Line::new("switch", "a"), Line::new("", "d"), Line::new("", "e")];
        assert_eq!(different(&short, &other), [Line::new("switch", "d"), Line::new("", "e")]);
    }

    #[test]
    fn every_active_setting_is_described() {
        let settings = [
            ("switch.profile = \"p4\"\n", "profile p4: 2 queues"),
            ("switch.data_queue = \"13pkt\"\n", "data: 13 packets"),
            ("switch.header_queue = \"200B\"\n", "headers and control: 200 B"),
            ("impairment.loss = \"1%\"\n", "impairment 1 % of packets lost on every link"),
            ("impairment.corruption = \"2%\"\n", "2 % damaged"),
            ("impairment.reordering = \"5us\"\n", "each delayed by up to 5us"),
            ("engine = \"heap\"\n", "engine     heap"),
            ("output.ports = true\n", "output     flows, ports"),
            ("output.series = \"7us\"\n", "series every 7us"),
        ];
        let plain = of(STAR);
        for (setting, said) in settings {
            let described = of(&format!("{setting}{STAR}")).replace("\n             ", " ");
            assert!(described.contains(said) && !plain.contains(said), "{setting}: {described}");
        }
        let event =
            "[[link_event]]\nlink = \"host 1\"\nat = \"3us\"\nchange = { rate = \"1Gbps\" }\n";
        let described = of(&format!("{STAR}{event}")).replace("\n             ", " ");
        assert!(
            described.contains("host 1") && described.contains("sends at 1 Gb/s at 3us"),
            "{described}"
        );
        let leaves = STAR.replace(
            "star.hosts = 3",
            "leafspine = { leaves = 2, spines = 1, hosts_per_leaf = 2 }",
        );
        let fixed_route = "[[fixed_route]]\nover = \"tor 1 up 0\"\nby = \"spine 0 down 1\"\n";
        let described = of(&format!("{leaves}{fixed_route}")).replace("\n             ", " ");
        let said = "routes     packets from tor 1 up 0 leave by spine 0 down 1\n";
        assert!(described.contains(said), "{described}");
    }

    #[test]
    fn lossless_classes_are_described_with_the_headroom_of_each_rate() {
        let pfc = "transport.dcqcn = {}\nswitch.pfc = { xoff = \"15pkt\", xon = \"12pkt\" }\n";
        let described = of(&format!("{pfc}{STAR}")).replace("\n             ", " ");
        // 2 x 1 us at 10 Gb/s, two packets of 9064 B and a frame of 64 B.
        let said = "pauses     priority flow control: all packets are lossless; an input with more than 135960 B \
                    (XOFF) pauses its sender until 108768 B (XON); headroom 20692 B at 10 Gb/s and 1us (host)";
        assert!(described.contains(said), "{described}");
        let data = pfc.replace("xoff =", "classes = \"data\", headroom = \"9KB\", xoff =");
        let tree = "topology.fattree.k = 4\nlinks.host.rate = \"1Gbps\"\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        let described = of(&format!("{data}{tree}")).replace("\n             ", " ");
        assert!(
            described.contains("data is lossless; control packets have priority"),
            "{described}"
        );
        assert!(described.contains("headroom 9000 B at 1 Gb/s and 1us (host); 9000 B at 10 Gb/s and 1us (ToR, aggregation)"), "{described}");
        assert!(!of(STAR).contains("pauses"));
    }

    #[test]
    fn a_later_series_is_described_by_its_differences() {
        let line = |about: &str, described: &str| Line::new(about, described);
        let first = [line("links", "10G"), line("memory", "1 MB"), line("output", "flows")];
        let other = [line("links", "40G"), line("output", "flows")];
        assert_eq!(different(&first, &other), [line("links", "40G"), line("memory", "none")]);
        assert_eq!(different(&first, &first), []);
    }
}
