//! The quantity parser parses what it prints, and all that its predecessors parsed.

use proptest::prelude::*;
use trimline_packet::quantity::{self, BYTES, DURATIONS, Fault, RATES, SHARES, Units, scaled};
use trimline_packet::{BitRate, ByteCount, Time, TimeDelta};

proptest! {
    #[test]
    fn printed_quantities_parse_back(number in any::<u64>(), shift in 0u32..64) {
        let number = number >> shift;
        let rate = BitRate::from_bps(number.max(1));
        prop_assert_eq!(quantity::rate(&rate.to_string()), Ok(rate));
        // Round numbers print with a larger unit.
        let round = BitRate::from_bps((number % 1000 + 1) * [1, 1_000_000, 1_000_000_000][shift as usize % 3]);
        prop_assert_eq!(quantity::rate(&round.to_string()), Ok(round));
        let time = TimeDelta::from_ps(number);
        prop_assert_eq!(quantity::duration(&time.to_string()), Ok(time));
        prop_assert_eq!(quantity::duration(&Time::from_ps(number).to_string()), Ok(time));
        let size = ByteCount::new(number);
        prop_assert_eq!(quantity::bytes(&size.to_string()), Ok(size));
    }

    #[test]
    fn a_decimal_equals_its_digits_times_the_unit(digits in any::<u32>(), places in 0usize..12, unit in any::<prop::sample::Index>()) {
        for units in [RATES, DURATIONS, BYTES, SHARES] {
            let (name, factor) = units[unit.index(units.len())];
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, decimals) = digits.split_at(digits.len() - places);
            let text = format!("{whole}.{decimals}{name}");
            let exact = digits.parse::<u128>().unwrap() * u128::from(factor);
            let scale = 10u128.pow(places as u32);
            match scaled(&text, &[units]) {
                Ok((amount, read)) => prop_assert_eq!((u128::from(amount) * scale, read), (exact, name)),
                Err(_) => prop_assert!(exact % scale != 0 || exact / scale > u128::from(u64::MAX), "{}", text),
            }
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,20}|[0-9.]{0,45} ?[a-zA-Z/%]{0,4}") {
        for units in [RATES, DURATIONS, BYTES, SHARES] {
            if let Err(Fault { problem, .. }) = scaled(&text, &[units]) {
                prop_assert!(!problem.is_empty());
            }
        }
    }
}

#[test]
fn quantities_parse_to_the_recorded_values() {
    let mut refused = 0;
    let mut rows = 0;
    for row in include_str!("quantities.txt").lines().filter(|row| !row.starts_with('#')) {
        let [kind, text, scenario, switch] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let read = match kind {
            "rate" => quantity::rate(text).map(BitRate::as_bps),
            "duration" => quantity::duration(text).map(TimeDelta::as_ps),
            "bytes" => quantity::bytes(text).map(ByteCount::get),
            "share" => quantity::share(text),
            _ => panic!("{row}"),
        };
        if let Ok(value) = scenario.parse::<u64>() {
            assert_eq!(read, Ok(value), "{row}");
        }
        let in_switch = |value: u64| match kind {
            "share" => u64::try_from((u128::from(value) << 32) / 1_000_000_000)
                .unwrap()
                .min(u32::MAX.into()),
            _ => value,
        };
        if let Ok(value) = switch.parse::<u64>() {
            match read {
                // The switch's parser had no share finer than ten billionths.
                Ok(share) if kind == "share" && share % 10 != 0 => {}
                Ok(read) => assert_eq!(in_switch(read), value, "{row}"),
                // The switch's parser truncated to a whole number.
                Err(fault) => {
                    assert!(fault.problem.contains("no whole number"), "{row}: {fault}");
                    refused += 1;
                }
            }
        }
        rows += 1;
    }
    assert_eq!((rows, refused), (451, 21));
}

#[test]
fn an_ambiguous_unit_is_refused_with_the_reason() {
    let units: [(Units, &str, &str, Option<&str>); 6] = [
        (RATES, "10GBps", "has the unknown unit `GBps`: `b` is a bit, `B` a byte", Some("10Gbps")),
        (RATES, "10mbps", "has the unknown unit `mbps`: `m` is milli, `M` mega", Some("10Mbps")),
        (BYTES, "9Kb", "has the unknown unit `Kb`: `b` is a bit, `B` a byte", Some("9KB")),
        (DURATIONS, "20Ms", "has the unknown unit `Ms`: `m` is milli, `M` mega", Some("20ms")),
        (RATES, "10gbps", "has the unknown unit `gbps`", Some("10Gbps")),
        (RATES, "10", "has no unit", None),
    ];
    for (units, text, problem, nearest) in units {
        let fault = scaled(text, &[units]).unwrap_err();
        assert_eq!(
            (fault.problem.as_str(), fault.nearest.as_deref()),
            (problem, nearest),
            "{text}"
        );
    }
}

#[test]
fn long_decimals_with_trailing_zeros_parse() {
    let zeros = "0".repeat(60);
    assert_eq!(quantity::bytes(&format!("1.5{zeros}KB")), Ok(ByteCount::new(1500)));
    let min = "0.000000000931322574615478515625GiB";
    assert_eq!(quantity::bytes(min), Ok(ByteCount::new(1)));
    let fine = quantity::bytes(&format!("1.{zeros}1KB")).unwrap_err();
    assert_eq!(fine.problem, "is no whole number of B");
    assert_eq!(quantity::duration("18446744073709.551615us"), Ok(TimeDelta::from_ps(u64::MAX)));
    assert_eq!(quantity::duration("18446744073709.551616us").unwrap_err().problem, "is too large");
}
