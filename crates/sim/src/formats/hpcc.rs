//! Files of HPCC's simulations: flows, topologies, and the lines of its FCT output.

use std::collections::BTreeMap;
use std::fmt::Write;

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use super::{FormatError, Text, decimal, scientific};
use crate::topology::{Clos, LinkSpec, Processing};

/// A flow of a flow file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Line of the file.
    pub line: usize,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Payload bytes.
    pub size: ByteCount,
    /// Start of the flow.
    pub start: TimeDelta,
}

/// Reads a flow file: a count, then a line `src dst pg dport size_bytes start_seconds` for each flow, sorted by start,
/// then notes. Priority group and port are checked and ignored.
///
/// # Errors
/// Returns the first error.
pub fn flows(file: &str, text: &str) -> Result<Vec<Flow>, FormatError> {
    const EXPECTED: &str =
        "the number of flows, then `src dst pg dport size_bytes start_seconds`, sorted by start";
    let text = Text { file, text };
    let mut lines = text.lines();
    let Some((head, words)) = lines.next() else {
        return Err(text.error(1, "an empty file", EXPECTED));
    };
    let count = match words[..] {
        [count] => count.parse::<usize>().ok(),
        _ => None,
    };
    let Some(count) = count else {
        return Err(text.error(head, format!("`{}` is no count", words.join(" ")), EXPECTED));
    };
    let mut flows: Vec<Flow> = Vec::new();
    for (line, words) in lines {
        if flows.len() == count && are_notes(&words, 6) {
            break;
        }
        let wrong = || text.error(line, format!("`{}`", words.join(" ")), EXPECTED);
        let [source, destination, group, port, size, start] = words[..] else {
            return Err(wrong());
        };
        let host = |word: &str| word.parse::<u32>().ok();
        let size = size.parse().ok().filter(|&bytes| bytes > 0 && bytes <= u64::MAX / 2);
        let start = scientific(start, 1_000_000_000_000).filter(|&ps| ps <= u64::MAX / 2);
        let (Some(source), Some(destination), Some(_), Some(_), Some(size), Some(start)) =
            (host(source), host(destination), host(group), host(port), size, start)
        else {
            return Err(wrong());
        };
        if source == destination {
            return Err(text.error(line, format!("host {source} sends to itself"), EXPECTED));
        }
        let start = TimeDelta::from_ps(start);
        if flows.last().is_some_and(|last| start < last.start) {
            return Err(text.error(line, "a start before that of the line above", EXPECTED));
        }
        flows.push(Flow { line, source, destination, size: ByteCount::new(size), start });
    }
    if flows.len() != count {
        let problem = format!("{count} flows in the first line, but there are {}", flows.len());
        return Err(text.error(text.last_line(), problem, "the number that the file has"));
    }
    Ok(flows)
}

/// Returns whether a line behind the last row is a note: its number of words or its first two differ from a row.
fn are_notes(words: &[&str], row: usize) -> bool {
    words.len() != row || words[..2].iter().any(|word| word.parse::<u32>().is_err())
}

/// A finished flow: `sip dip sport dport size start_ns fct_ns ideal_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Port that distinguishes flows of one pair of hosts.
    pub source_port: u16,
    /// Payload bytes.
    pub size_bytes: u64,
    /// Start of the flow.
    pub start_ps: u64,
    /// Completion time of the flow.
    pub fct_ps: u64,
    /// Completion time in an idle network.
    pub ideal_ps: u64,
}

/// Returns a line of HPCC's FCT output, with its newline. Times are rounded down to nanoseconds.
pub fn completion(line: &Completion) -> String {
    // HPCC gives host n the address 11.(n / 256).(n % 256).1 and prints it as a number.
    let address = |host: u32| 0x0b00_0001 + (host / 256) * 0x0001_0000 + (host % 256) * 0x0000_0100;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:08x} {:08x} {} 100 {} {} {} {}",
        address(line.source),
        address(line.destination),
        line.source_port,
        line.size_bytes,
        line.start_ps / 1000,
        line.fct_ps / 1000,
        line.ideal_ps / 1000,
    );
    text
}

struct Cable {
    line: usize,
    ends: [u32; 2],
    spec: LinkSpec,
}

const TOPOLOGY: &str =
    "`nodes switches links`, a line with the switches, then `a b rate delay loss` for each link";

/// Reads a topology file of HPCC, or of PowerTCP, whose first line has the number of ToRs before the number of links.
/// Notes may follow the last link. Rates without a unit are in bit/s, delays in seconds. HPCC takes any graph; this
/// reader needs a folded Clos with hosts numbered rack by rack.
///
/// # Errors
/// Returns the first error, or why the graph is not a folded Clos.
pub fn topology(file: &str, text: &str) -> Result<Clos, FormatError> {
    graph(Text { file, text })?.clos()
}

/// Returns the host nodes of a topology file in order: host n of the network is the n-th.
///
/// # Errors
/// Returns the first error of the file.
pub fn host_numbers(file: &str, text: &str) -> Result<Vec<u32>, FormatError> {
    Ok(graph(Text { file, text })?.hosts().collect())
}

fn graph(text: Text<'_>) -> Result<Graph<'_>, FormatError> {
    let mut lines = text.lines();
    let numbers = |words: &[&str]| -> Option<Vec<u32>> {
        words.iter().map(|word| word.parse::<u32>().ok().filter(|&n| n <= 1 << 20)).collect()
    };
    let head = lines.next().and_then(|(_, words)| numbers(&words));
    let (nodes, switches, links) = match head.as_deref() {
        Some(&[nodes, switches, links]) => (nodes, switches, links),
        Some(&[nodes, switches, _tors, links]) => (nodes, switches, links),
        _ => return Err(text.error(1, "no line with three or four numbers", TOPOLOGY)),
    };
    let (line, names) = match lines.next() {
        Some((line, words)) if switches > 0 => (line, numbers(&words)),
        Some((line, _)) => return Err(text.error(line, "no switches", TOPOLOGY)),
        None => return Err(text.error(1, "no line with the switches", TOPOLOGY)),
    };
    let mut is_switch = vec![false; nodes as usize];
    for switch in names.unwrap_or_default() {
        match is_switch.get_mut(switch as usize) {
            Some(known @ false) => *known = true,
            _ => return Err(text.error(line, format!("switch {switch}"), TOPOLOGY)),
        }
    }
    if is_switch.iter().filter(|&&is_switch| is_switch).count() != switches as usize {
        return Err(text.error(line, format!("not {switches} switches"), TOPOLOGY));
    }
    let mut cables = Vec::new();
    for (line, words) in lines {
        if cables.len() == links as usize && are_notes(&words, 5) {
            break;
        }
        cables.push(cable(&text, line, &words, nodes)?);
    }
    if cables.len() != links as usize {
        let problem = format!("{links} links in the first line, but there are {}", cables.len());
        return Err(text.error(text.last_line(), problem, "the number that the file has"));
    }
    Ok(Graph { text, is_switch, cables })
}

fn cable(text: &Text<'_>, line: usize, words: &[&str], nodes: u32) -> Result<Cable, FormatError> {
    let wrong = |problem: String| text.error(line, problem, TOPOLOGY);
    let &[a, b, rate, delay, loss] = words else {
        return Err(wrong(format!("`{}`", words.join(" "))));
    };
    let node = |word: &str| word.parse::<u32>().ok().filter(|&node| node < nodes);
    let (Some(a), Some(b)) = (node(a), node(b)) else {
        return Err(wrong(format!("`{a} {b}` are not two nodes below {nodes}")));
    };
    if a == b {
        return Err(wrong(format!("node {a} is linked to itself")));
    }
    if decimal(loss, 1_000_000_000) != Some(0) {
        return Err(wrong(format!("loss {loss}: say it in the scenario, as `impairment`")));
    }
    let unit = |word: &str, units: &[(&str, u64)]| {
        let start = word.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
        let (number, name) = word.split_at(start.unwrap_or(word.len()));
        let &(_, scale) = units.iter().find(|(unit, _)| *unit == name)?;
        scientific(number, scale).filter(|&value| value <= u64::MAX / 8)
    };
    const RATES: [(&str, u64); 5] =
        [("", 1), ("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)];
    const TIMES: [(&str, u64); 6] = [
        ("", 1_000_000_000_000),
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ];
    let (Some(rate @ 1..), Some(delay)) = (unit(rate, &RATES), unit(delay, &TIMES)) else {
        return Err(wrong(format!("`{rate} {delay}` are no rate and delay")));
    };
    let spec = LinkSpec::new(BitRate::from_bps(rate), TimeDelta::from_ps(delay));
    Ok(Cable { line, ends: [a, b], spec })
}

/// A graph that should be a folded Clos.
struct Graph<'a> {
    text: Text<'a>,
    is_switch: Vec<bool>,
    cables: Vec<Cable>,
}

impl Graph<'_> {
    fn hosts(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.is_switch).filter(|(_, is_switch)| !**is_switch).map(|(node, _)| node)
    }

    fn no_clos(&self, line: usize, problem: String) -> FormatError {
        self.text.error(
            line,
            problem,
            "a folded Clos: every ToR with as many hosts, numbered rack by rack, every pod alike, one link \
             from each switch to each of those above it",
        )
    }

    /// Returns the switches that each node is linked to, by number, with the line of the link.
    fn neighbours(&self) -> Vec<BTreeMap<u32, usize>> {
        let mut neighbours = vec![BTreeMap::new(); self.is_switch.len()];
        for cable in &self.cables {
            for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                neighbours[from as usize].insert(to, cable.line);
            }
        }
        neighbours
    }

    /// Returns the specification that all links of a layer share.
    fn spec(&self, layer: impl Fn(u32, u32) -> bool) -> Result<Option<LinkSpec>, FormatError> {
        let mut found: Option<LinkSpec> = None;
        for cable in &self.cables {
            let [a, b] = cable.ends;
            if !layer(a, b) && !layer(b, a) {
                continue;
            }
            if found.is_some_and(|spec| spec != cable.spec) {
                return Err(
                    self.no_clos(cable.line, "a link unlike others of its layer".to_owned())
                );
            }
            found = Some(cable.spec);
        }
        Ok(found)
    }

    fn clos(&self) -> Result<Clos, FormatError> {
        let neighbours = self.neighbours();
        let distinct: usize = neighbours.iter().map(BTreeMap::len).sum();
        let end = self.text.last_line();
        if distinct != 2 * self.cables.len() {
            return Err(self.no_clos(end, "two links between the same nodes".to_owned()));
        }
        let is_switch = |node: u32| self.is_switch[node as usize];
        let all = || 0..self.is_switch.len() as u32;
        let above = |node: u32| neighbours[node as usize].keys().copied();

        // Racks: hosts grouped by their one switch, in the order of their first hosts.
        let mut tors: Vec<u32> = Vec::new();
        let mut rack_of = Vec::new();
        for host in self.hosts() {
            let mut links = neighbours[host as usize].iter();
            let (Some((&tor, &line)), None) = (links.next(), links.next()) else {
                return Err(self.no_clos(end, format!("host {host} without exactly one link")));
            };
            if !is_switch(tor) {
                return Err(self.no_clos(line, "a link between two hosts".to_owned()));
            }
            if tors.last() != Some(&tor) {
                if tors.contains(&tor) {
                    return Err(self.no_clos(line, format!("host {host} is in an earlier rack")));
                }
                tors.push(tor);
            }
            rack_of.push(tors.len() - 1);
        }
        let hosts = rack_of.len();
        let hosts_per_tor = hosts / tors.len().max(1);
        if hosts < 2 || rack_of.iter().enumerate().any(|(host, &rack)| rack != host / hosts_per_tor)
        {
            return Err(self.no_clos(end, "racks of different sizes".to_owned()));
        }
        let is_tor = |node: u32| tors.contains(&node);
        let ups = |tor: u32| above(tor).filter(|&node| is_switch(node)).collect::<Vec<u32>>();
        let aggregations: Vec<u32> = all()
            .filter(|&node| is_switch(node) && !is_tor(node) && above(node).any(is_tor))
            .collect();
        let is_aggregation = |node: u32| aggregations.contains(&node);
        let cores: Vec<u32> = all()
            .filter(|&node| is_switch(node) && !is_tor(node) && !is_aggregation(node))
            .collect();

        // Pods: consecutive ToRs with the same switches above them.
        let mut pods: Vec<(Vec<u32>, usize)> = Vec::new();
        for &tor in &tors {
            let above = ups(tor);
            if let Some(&other) = above.iter().find(|&&node| !is_aggregation(node)) {
                return Err(self.no_clos(end, format!("ToRs {tor} and {other} are linked")));
            }
            match pods.last_mut() {
                Some((pod, count)) if *pod == above => *count += 1,
                _ => pods.push((above, 1)),
            }
        }
        let (first, tors_per_pod) = pods[0].clone();
        let mut members: Vec<u32> = pods.iter().flat_map(|(pod, _)| pod.clone()).collect();
        members.sort_unstable();
        if pods.iter().any(|(pod, count)| pod.len() != first.len() || *count != tors_per_pod)
            || members != aggregations
        {
            return Err(self.no_clos(end, "pods that are not alike".to_owned()));
        }

        // Groups of cores: the n-th aggregation switches of all pods lead to the same cores.
        let to_cores = |node: u32| above(node).filter(|&up| !is_tor(up)).collect::<Vec<u32>>();
        let mut reached: Vec<u32> = Vec::new();
        let cores_per_aggregation = first.first().map_or(0, |&node| to_cores(node).len());
        for place in 0..first.len() {
            let group = to_cores(pods[0].0[place]);
            let alike = pods.iter().all(|(pod, _)| to_cores(pod[place]) == group);
            if !alike || group.len() != cores_per_aggregation {
                return Err(self.no_clos(
                    end,
                    format!(
                        "aggregation switches number {place} of the pods lead to different cores"
                    ),
                ));
            }
            reached.extend(group);
        }
        reached.sort_unstable();
        if reached != cores || (pods.len() > 1 && cores.is_empty()) {
            return Err(self.no_clos(end, "cores that are not reached alike".to_owned()));
        }
        let tiers = match (first.len(), cores.len()) {
            (0, _) => 1,
            (_, 0) => 2,
            _ => 3,
        };
        let default = LinkSpec::new(BitRate::from_gbps(10), TimeDelta::from_us(1));
        let host_link = self.spec(|a, b| !is_switch(a) && is_switch(b))?;
        let tor_link = self.spec(|a, b| is_tor(a) && is_aggregation(b))?;
        let aggregation_link = self.spec(|a, b| is_aggregation(a) && cores.contains(&b))?;
        Ok(Clos {
            tiers,
            pods: pods.len() as u32,
            tors_per_pod: tors_per_pod as u32,
            hosts_per_tor: hosts_per_tor as u32,
            aggregations_per_pod: first.len() as u32,
            cores_per_aggregation: cores_per_aggregation as u32,
            host_link: host_link.unwrap_or(default),
            tor_link: tor_link.unwrap_or(default),
            aggregation_link: aggregation_link.unwrap_or(default),
            processing: Processing::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_read() {
        let read = flows("f.txt", "2\n0 1 3 100 1000 2\n5 4 3 100 7 2.000000000001\n").unwrap();
        assert_eq!((read[0].start, read[0].size), (TimeDelta::from_ms(2000), ByteCount::new(1000)));
        assert_eq!(read[1].start, TimeDelta::from_ps(2_000_000_000_001));
    }

    #[test]
    fn notes_after_the_last_row_are_ignored() {
        let notes = "\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n";
        let text = format!("1\n2 1 3 65540 200000000 2\n{notes}");
        assert_eq!(flows("f.txt", &text).unwrap().len(), 1);
        assert_eq!(topology("t.txt", &(fat_tree() + notes)).unwrap().hosts(), 8);
    }

    /// HPCC's own topology, scaled down: node 0 is the switch. PowerTCP's head, and numbers without units.
    #[test]
    fn host_numbers_may_follow_those_of_switches() {
        let star = "3 1 2\n0\n0 1 10Gbps 500ns 0\n0 2 10Gbps 500ns 0\n";
        let clos = topology("t.txt", star).unwrap();
        assert_eq!((clos.hosts(), host_numbers("t.txt", star).unwrap()), (2, vec![1, 2]));
        let bare = "3 1 1 2\n0\n0 1 10000000000 0.0000005 0\n0 2 1e10 5e-7 0\n";
        assert_eq!(topology("t.txt", bare).unwrap(), clos);
    }

    #[test]
    fn errors_in_flows_name_file_and_line() {
        for (text, line) in [
            ("1\n0 1 3 100 9 2\n1 0 3 100 9 2\n", 3),
            ("", 1),
            ("x\n", 1),
            ("1\n0 1 3 100 1000\n", 2),
            ("1\n0 0 3 100 1000 2\n", 2),
            ("1\n0 1 3 100 0 2\n", 2),
            ("2\n0 1 3 100 9 2\n0 1 3 100 9 1\n", 3),
            ("2\n0 1 3 100 9 2\n", 2),
        ] {
            let error = flows("f.txt", text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("f.txt:{line}: ")), "{text:?}: {error}");
        }
    }

    #[test]
    fn completion_times_are_written_in_the_format_of_hpcc() {
        let line = Completion {
            source: 1,
            destination: 258,
            source_port: 10_000,
            size_bytes: 1000,
            start_ps: 2_000_000_999,
            fct_ps: 5_400_000,
            ideal_ps: 5_300_999,
        };
        assert_eq!(completion(&line), "0b000101 0b010201 10000 100 1000 2000000 5400 5300\n");
    }

    /// Two pods of two racks with two hosts, two aggregation switches a pod, four cores.
    fn fat_tree() -> String {
        let mut links = Vec::new();
        // Hosts 0..8, ToRs 8..12, aggregations 12..16, cores 16..20.
        links.extend((0..8).map(|host| (host, 8 + host / 2)));
        for tor in 0..4 {
            links.extend((0..2).map(|up| (8 + tor, 12 + tor / 2 * 2 + up)));
        }
        for aggregation in 0..4 {
            links.extend((0..2).map(|up| (12 + aggregation, 16 + aggregation % 2 * 2 + up)));
        }
        let mut text = format!("20 12 {}\n", links.len());
        text += &(8..20).map(|switch| switch.to_string()).collect::<Vec<_>>().join(" ");
        for (a, b) in links {
            let rate = if a < 8 { "100Gbps" } else { "400Gbps" };
            text += &format!("\n{a} {b} {rate} 0.001ms 0");
        }
        text + "\n"
    }

    #[test]
    fn a_fat_tree_is_recognised() {
        let clos = topology("t.txt", &fat_tree()).unwrap();
        assert_eq!((clos.tiers, clos.pods, clos.tors_per_pod, clos.hosts_per_tor), (3, 2, 2, 2));
        assert_eq!((clos.aggregations_per_pod, clos.cores_per_aggregation), (2, 2));
        assert_eq!(clos.host_link.rate, BitRate::from_gbps(100));
        assert_eq!(clos.aggregation_link.delay, TimeDelta::from_us(1));
    }

    #[test]
    fn a_star_is_recognised() {
        let clos =
            topology("t.txt", "3 1 2\n2\n0 2 10Gbps 500ns 0\n1 2 10Gbps 500ns 0.0\n").unwrap();
        assert_eq!(
            (clos.tiers, clos.hosts(), clos.host_link.delay),
            (1, 2, TimeDelta::from_ps(500_000))
        );
    }

    #[test]
    fn a_network_that_is_no_clos_is_refused() {
        let whole = fat_tree();
        for (from, to, problem) in [
            ("\n7 11 100", "\n7 10 100", "host 7 is in an earlier rack"),
            ("\n6 11 100", "\n6 10 100", "racks of different sizes"),
            ("\n11 15 400", "\n11 13 400", "pods that are not alike"),
            ("\n15 19 400", "\n15 16 400", "different cores"),
            ("\n15 19 400", "\n15 18 400", "two links between"),
            ("\n15 19 400", "\n15 19 100", "unlike others of its layer"),
            ("\n7 11 100Gbps 0.001ms 0", "\n7 11 100Gbps 0.001ms 0.1", "loss 0.1"),
            ("\n0 8 ", "\n0 1 ", "a link between two hosts"),
            ("\n7 11 ", "\n0 11 ", "without exactly one link"),
            ("20 12 24", "20 12 25", "there are 24"),
            ("20 12 24", "20 13 24", "not 13 switches"),
        ] {
            let text = whole.replacen(from, to, 1);
            assert_ne!(text, whole, "{from}");
            let error = topology("t.txt", &text).unwrap_err().to_string();
            assert!(error.contains(problem), "{to}: {error}");
        }
    }
}
