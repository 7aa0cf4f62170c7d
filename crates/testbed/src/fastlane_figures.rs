//! The figure about notifications of drops and their effect on kernels (FastLane 3.2, 3.3).

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use trimline_packet::{BitRate, TimeDelta};

use super::fastlane::{self, Measured, Setting};
use super::report::Report;
use super::steps::Steps;

/// Packets of each port's memory. A fortieth of it is for notifications: 782 B, twelve of them.
const MEMORY: u32 = 20;

/// The cap is one part in `CAP_PART` of the rate, at least ten notifications a second. Chosen: low enough that ports
/// reach it, otherwise it has no visible effect.
const CAP_PART: u64 = 20_000;
const MIN_CAP: u64 = 10 * 64 * 8;

const SENDERS: u32 = 2;
const FLOWS: u32 = 4;

/// Seconds in which all flows together would fill the port: several of those over which the cap is judged.
const SECONDS: u64 = 4;

/// The options of the figure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rate of every link.
    pub rate: BitRate,
    /// Delay of every link: a round trip has four links.
    pub delay: TimeDelta,
    /// The kernel's name of TCP's congestion control.
    pub congestion: String,
    /// Rounds, each with all flows once.
    pub rounds: u64,
}

impl Options {
    fn setting(&self) -> Setting {
        let flows = u64::from(SENDERS * FLOWS);
        Setting {
            rate: self.rate,
            delay: self.delay,
            packets: MEMORY,
            cap: BitRate::from_bps((self.rate.as_bps() / CAP_PART).max(MIN_CAP)),
            senders: SENDERS,
            flows: FLOWS,
            bytes: (self.rate.as_bps() / 8).saturating_mul(SECONDS) / flows,
            congestion: self.congestion.clone(),
        }
    }
}

type Shown = fn(&Measured) -> f64;

/// The lines of the table, with their names as measures.
const LINES: [(&str, &str, Shown); 14] = [
    ("frames that the receiver's port sent", "frames", |one| one.port.packets as f64),
    ("drops that allow a notification", "notified", |one| one.notified as f64),
    ("  notifications sent", "sent", |one| one.sent() as f64),
    ("  no room in the notification memory", "without_room", |one| one.without_room as f64),
    ("data dropped without a notification", "untold_data", |one| one.unnotified_data() as f64),
    ("drops in no counter", "unaccounted", |one| one.unaccounted() as f64),
    ("min notifications to a sender", "fewest", |one| {
        one.told.iter().map(|told| told.notifications).min().unwrap_or(0) as f64
    }),
    ("  difference from the kernel's counter", "miscounted", |one| one.miscounted() as f64),
    ("max of a port within any second", "max_in_a_second", |one| one.max_in_a_second() as f64),
    ("flows complete", "complete", |one| one.flows.complete.into()),
    ("segments sent again", "sent_again", |one| one.kernel.retransmissions as f64),
    ("time-outs", "timeouts", |one| one.kernel.timeouts as f64),
    ("time until all data is read, s", "seconds", |one| one.time.as_secs_f64()),
    ("switch's thread had no CPU, %", "held_up_percent", Measured::held_up_percent),
];

fn report(setting: &Setting, runs: &[Measured]) -> Report {
    let mut report = Report::default();
    let Setting { rate, delay, cap, senders, flows, bytes, congestion, .. } = setting;
    let allowed = setting.max_in_a_second();
    let round_trip = (*delay * 4).as_ps() as f64 / 1e9;
    report.line(&format!(
        "{senders} hosts with {flows} flows of {:.1} MB each to one; TCP: {congestion}",
        *bytes as f64 / 1e6
    ));
    report.line(&format!("{rate} per link, round trip {round_trip} ms; {} rounds", runs.len()));
    report.line(&format!("cap {cap} per port: {allowed} notifications within any second"));
    report.line("                                              median (min, max)");
    let mut csv = String::from("round");
    for (_, name, _) in LINES {
        let _ = write!(csv, ",{name}");
    }
    csv.push('\n');
    for (round, one) in runs.iter().enumerate() {
        let _ = write!(csv, "{round}");
        for (_, _, value) in LINES {
            let _ = write!(csv, ",{:.3}", value(one));
        }
        csv.push('\n');
    }
    report.files.push(("rounds.csv".to_owned(), csv));
    for (label, name, value) in LINES {
        let [median, min, max] = report.of_rounds(name, runs.iter().map(value));
        report.line(&match name {
            "seconds" | "held_up_percent" => {
                format!("  {label:42} {median:7.2} ({min:.2}, {max:.2})")
            }
            _ => format!("  {label:42} {median:7.0} ({min:.0}, {max:.0})"),
        });
    }
    let max = report.of("max_in_a_second_max");
    report.measure("beyond_cap", max - allowed as f64);
    report.measure("of_cap_percent", max / allowed as f64 * 100.0);
    for fault in runs.iter().flat_map(|one| &one.flows.faults) {
        report.line(&format!("  a flow broke: {fault}"));
    }
    report
}

/// Measures notifications of drops of the kernel's TCP at one port, and the kernels' counts of them. The capture has
/// the first round.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn notifications(
    options: &Options,
    capture: Option<&Path>,
    steps: &Steps<'_>,
) -> io::Result<Report> {
    let setting = options.setting();
    let mut runs = Vec::new();
    steps.begin(options.rounds);
    for round in 0..options.rounds {
        let run = fastlane::sized_flows(&setting, capture.filter(|_| round == 0))?;
        runs.push(steps.end(run));
    }
    Ok(report(&setting, &runs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastlane::Told;

    #[test]
    fn flows_last_for_seconds_and_the_cap_scales_with_the_rate() {
        let options = Options {
            rate: BitRate::from_bps(200_000_000),
            delay: TimeDelta::from_us(250),
            congestion: "cubic".to_owned(),
            rounds: 1,
        };
        let setting = options.setting();
        assert_eq!((setting.bytes, setting.cap), (12_500_000, BitRate::from_bps(10_000)));
        assert_eq!(setting.max_in_a_second(), 20);
        let slow = Options { rate: BitRate::from_bps(10_000_000), ..options };
        assert_eq!(slow.setting().cap, BitRate::from_bps(5120));
        let told = |notifications, max_in_a_second| Told {
            notifications,
            truncated: notifications as u64,
            max_in_a_second,
        };
        let one = Measured::sound(vec![told(40, 21), told(20, 19)]);
        let report = report(&setting, &[one]);
        assert_eq!([report.of("fewest_min"), report.of("beyond_cap")], [20.0, 1.0]);
        assert_eq!(report.of("of_cap_percent"), 105.0);
        let widest = report.table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{}", report.table);
        assert_eq!(report.files[0].1.lines().count(), 2);
    }
}
