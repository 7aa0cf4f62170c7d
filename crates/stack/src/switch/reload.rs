//! The change of configuration of running switches.

use toml::{Table, Value};

use super::config::Config;

/// The keys that running switches take over, by their list ("" at the head of the file).
const TAKEN: [(&str, &[&str]); 4] = [
    ("", &["rate", "delay", "port_security"]),
    ("switch", &["spread"]),
    ("link", &["rate", "delay"]),
    ("host", &["rate", "delay", "addresses", "port_security"]),
];

impl Config {
    /// Checks that switches of this configuration can continue with another one. Fails with the first key that needs a
    /// restart.
    pub(super) fn check_change(&self, other: &Config) -> Result<(), String> {
        let followers = [
            ("phantom queues", self.describe_phantom()?),
            ("pacers", self.describe_pacers()?),
            ("caps of notifications", self.describe_notifications()?),
        ];
        let follows_rates = followers.iter().find(|(_, lines)| !lines.is_empty()).map(|one| one.0);
        if let Some(who) = follows_rates
            && self.rates() != other.rates()
        {
            return Err(format!("rate: {who} depend on the rate of their port; {RESTART}"));
        }
        let (old, new) = (&self.source, &other.source);
        differing("", "", old, new)?;
        for (list, _) in &TAKEN[1..] {
            let of = |table: &Table| match table.get(*list) {
                Some(Value::Array(entries)) => entries.clone(),
                Some(_) | None => Vec::new(),
            };
            let (before, after) = (of(old), of(new));
            if before.len() != after.len() {
                let (before, after) = (before.len(), after.len());
                return Err(format!("[[{list}]]: {before} became {after}; {RESTART}"));
            }
            for (number, pair) in (1..).zip(before.iter().zip(&after)) {
                if let (Value::Table(before), Value::Table(after)) = pair {
                    differing(list, &format!("[[{list}]] {number}: "), before, after)?;
                }
            }
        }
        Ok(())
    }
}

const RESTART: &str = "that needs a restart of the switch";

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("{text:?}"),
        Some(Value::Integer(number)) => number.to_string(),
        Some(Value::Boolean(is)) => is.to_string(),
        Some(_) => "a value".to_owned(),
    }
}

fn differing(list: &str, place: &str, before: &Table, after: &Table) -> Result<(), String> {
    let is_taken = |key: &str| {
        TAKEN.iter().any(|&(of, keys)| {
            (of == list && keys.contains(&key)) || (list.is_empty() && of == key)
        })
    };
    for key in before.keys().chain(after.keys()).filter(|key| !is_taken(key)) {
        let (old, new) = (before.get(key), after.get(key));
        if old != new {
            let (old, new) = (shown(old), shown(new));
            return Err(format!("{place}{key}: {old} became {new}; {RESTART}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_change_is_named_with_both_values() {
        let text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p\"\n\
                    addresses = [{ address = \"10.0.0.1\" }]\n";
        let check = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let other = Config::parse(&text.replace(from, to)).unwrap();
            Config::parse(text).unwrap().check_change(&other)
        };
        for (from, to) in [
            ("1Gbps", "2Gbps"),
            ("10.0.0.1", "10.0.0.2"),
            ("interface", "rate = \"5Mbps\"\ninterface"),
            ("[[switch]]", "delay = \"5us\"\nport_security = {}\n[[switch]]"),
            ("[[host]]", "spread = \"spray\"\n[[host]]"),
        ] {
            assert_eq!(check(from, to), Ok(()), "{to}");
        }
        for (from, to, said) in [
            ("\"p\"", "\"q\"", "[[host]] 1: interface: \"p\" became \"q\"; "),
            ("[[switch]]", "packets = 9\n[[switch]]", "packets: nothing became 9; "),
            ("[[host]]", "forwarding = \"l2\"\n[[host]]", "[[switch]] 1: forwarding: nothing"),
            ("[[host]]", "[[switch]]\nname = \"t\"\n[[host]]", "[[switch]]: 1 became 2; "),
        ] {
            let error = check(from, to).unwrap_err();
            assert!(error.starts_with(said) && error.ends_with(RESTART), "{error}");
        }
    }
}
