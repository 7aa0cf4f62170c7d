//! Vectors of random arrivals and decisions, with the results of the Rust port. `cargo xtask vectors --generate`. The
//! files are kept, and checked against their seeds.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use trimline_packet::{Packet, Service, SplitMix};
use trimline_switch::Port;

use crate::frames::GENERATED;
use crate::vectors::{Command, Harness, PORTS, Vector, list, read};

/// Profile, settings and number of seeds of each set.
const SETS: [(&str, &str, u64); 6] = [
    ("paper", "packets=8 payload=9000", 8),
    ("paper", "packets=2 payload=1436 header_bytes=256", 8),
    ("paper", "packets=3 payload=1436 header_bytes=640 ratio=3", 6),
    ("netfpga", "header_bytes=1280", 6),
    ("p4", "packets=3 payload=1436 header_bytes=320", 6),
    ("drop-tail", "packets=4", 4),
];

const ARRIVALS: usize = 120;

/// Returns the seed of a vector's stream: FNV-1a over everything that identifies it, so that different sets have
/// different draws.
fn start(profile: &str, settings: &str, seed: u64) -> u64 {
    fnv1a(format!("{profile} {settings} {seed}").as_bytes())
}

/// Returns the 64-bit FNV-1a hash (Fowler, Noll and Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the text of a vector: random arrivals, then service until nothing waits.
pub(crate) fn generate(profile: &str, settings: &str, seed: u64) -> Result<String, String> {
    let jumbo = settings.contains("payload=9000");
    let mut stream = SplitMix(start(profile, settings, seed));
    let mut head = format!(
        "# claim: all\n# origin: the Rust reference, seed {seed}: cargo xtask vectors --generate\n\
         # profiles: {profile}\nconfig {settings}\n"
    );
    for index in 0..ARRIVALS {
        let from = stream.modulo(PORTS as u64);
        // Most packets go to two ports, so that queues fill.
        let to =
            if stream.modulo(8) < 7 { 1 + stream.modulo(2) } else { stream.modulo(PORTS as u64) };
        let size = match stream.modulo(6) {
            0 => 64 + stream.modulo(70),
            1 => 64 + stream.modulo(if jumbo { 9000 } else { 1436 }),
            _ if jumbo => 9064,
            _ => 1500,
        };
        let kind = match stream.modulo(20) {
            0 => "ack",
            1 => "nack",
            2 => "pull",
            3 => "droppable",
            _ => "data",
        };
        let size = if matches!(kind, "data" | "droppable") {
            format!(" size={size}")
        } else {
            String::new()
        };
        let _ = writeln!(head, "define d{index} {kind}{size} from={from} to={to} seq={index}");
        if kind == "data" {
            let _ = writeln!(
                head,
                "define h{index} trimmed d{index}\ndefine r{index} returned d{index}"
            );
        }
    }
    // Names for the packets that come out.
    let all: Vec<String> = (0..ARRIVALS).map(|index| format!("d{index}")).collect();
    let parsed = Vector::parse(Path::new("generated"), &head)?;
    let model = parsed.model(profile)?;
    let mut names = Vec::new();
    for line in head.lines().filter(|line| line.starts_with("define ")) {
        let name = line.split_whitespace().nth(1).expect("a define names a packet");
        let probe = format!("{head}expect 0 {name}\n");
        let vector = Vector::parse(Path::new("generated"), &probe)?;
        let Some((_, Command::Expect { packets, .. })) = vector.commands.last() else {
            continue;
        };
        names.push((name.to_owned(), packets[0].1));
    }
    let called = |packet: &Packet| -> Result<String, String> {
        let mut known = names.iter().filter(|(_, known)| known == packet);
        known.next().map(|(name, _)| name.clone()).ok_or_else(|| format!("no name for {packet:?}"))
    };

    let mut harness = Harness::<Port<2>>::new(&model);
    let mut body = String::new();
    let mut arrivals = all.iter();
    loop {
        if stream.modulo(5) < 3 {
            let Some(name) = arrivals.next() else { break };
            let packet = names.iter().find(|(known, _)| known == name).expect("named").1;
            // Some arrive as another switch left them.
            let (name, packet) = match (packet.service.service(), stream.modulo(16)) {
                (Service::Trimmable, 0 | 1) => {
                    let trimmed = format!("h{}", &name[1..]);
                    let packet =
                        names.iter().find(|(known, _)| *known == trimmed).expect("named").1;
                    (trimmed, packet)
                }
                (
                    Service::Trimmable
                    | Service::Trimmed
                    | Service::Returned
                    | Service::Notification
                    | Service::Control
                    | Service::Droppable,
                    _,
                ) => (name.clone(), packet),
            };
            let coin = stream.modulo(2) == 1;
            let drawn = harness.rng.drawn;
            harness.rng.scripted.push_back(coin);
            harness.arrive(packet)?;
            if harness.rng.drawn == drawn {
                harness.rng.scripted.pop_back();
            } else {
                let _ = writeln!(body, "coin {}", u8::from(coin));
            }
            let _ = writeln!(body, "packet {} {name}", packet.destination.index());
        } else {
            serve(&mut harness, stream.modulo(PORTS as u64) as usize, &called, &mut body)?;
        }
    }
    for name in ["trimmed", "cut_bytes", "dropped", "returned", "coins"] {
        let _ = writeln!(body, "count {name} {}", harness.count(name)?);
    }
    for port in 0..PORTS {
        for unit in ["data_packets", "data_bytes", "header_packets", "header_bytes"] {
            let name = format!("{port}.{unit}");
            let _ = writeln!(body, "count {name} {}", harness.count(&name)?);
        }
    }
    for port in 0..PORTS {
        while harness.ports[port].is_backlogged() {
            serve(&mut harness, port, &called, &mut body)?;
        }
    }
    Ok(head + &body)
}

fn serve(
    harness: &mut Harness<'_, Port<2>>,
    port: usize,
    called: &impl Fn(&Packet) -> Result<String, String>,
    body: &mut String,
) -> Result<(), String> {
    harness.serve(0, port)?;
    let _ = writeln!(body, "serve {port}");
    while let Some((_, packet)) = harness.left[port].pop_front() {
        let _ = writeln!(body, "expect {port} {}", called(&packet)?);
    }
    Ok(())
}

fn file(profile: &str, set: usize, seed: u64) -> String {
    format!("{profile}-{set}-{seed}.vec")
}

/// Writes all generated vectors. Returns their number, or problem and place.
pub(crate) fn write_all(root: &Path) -> Result<usize, String> {
    let folder = root.join(GENERATED);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut written = 0;
    for (set, &(profile, settings, seeds)) in SETS.iter().enumerate() {
        for seed in 1..=seeds {
            let path = folder.join(file(profile, set, seed));
            let text = generate(profile, settings, seed)?;
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            written += 1;
        }
    }
    Ok(written)
}

/// Checks that the generated vectors are exactly those of their seeds, and that the port obeys them. Returns their
/// number, or a line per failure.
pub(crate) fn check_all(root: &Path) -> Result<usize, Vec<String>> {
    let mut failures = Vec::new();
    let mut expected = Vec::new();
    for (set, &(profile, settings, seeds)) in SETS.iter().enumerate() {
        for seed in 1..=seeds {
            let path = Path::new(GENERATED).join(file(profile, set, seed));
            let outcome = generate(profile, settings, seed).and_then(|text| {
                let kept = read(root, &path)?;
                if kept != text {
                    return Err(format!("{}: not what its seed gives", path.display()));
                }
                Vector::parse(&path, &kept)?.run()
            });
            failures.extend(outcome.err());
            expected.push(path);
        }
    }
    match list(root, Path::new(GENERATED)) {
        Ok(files) => {
            let surplus = files.iter().filter(|file| !expected.contains(file));
            failures.extend(surplus.map(|file| format!("{}: no seed gives it", file.display())));
        }
        Err(error) => failures.push(error),
    }
    if failures.is_empty() { Ok(expected.len()) } else { Err(failures) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_hash_is_fnv_1a() {
        // Values that the authors publish.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn vector_sets_with_other_settings_draw_other_packets() {
        let packets = |profile, settings, seed| {
            let text = generate(profile, settings, seed).expect("a vector");
            let lines = text.lines().filter(|line| line.starts_with("define "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        // Equal first letters and equal lengths of settings; then each part alone.
        let (one, other) = ("packets=3 payload=1436", "packets=4 payload=1436");
        let drawn = [
            packets("p4", one, 1),
            packets("paper", one, 1),
            packets("paper", other, 1),
            packets("paper", one, 2),
        ];
        for (index, first) in drawn.iter().enumerate() {
            assert!(drawn[index + 1..].iter().all(|second| first != second));
        }
    }
}
