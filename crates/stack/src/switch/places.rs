//! The checks of a configuration whose ports are real interfaces of one process.

use std::collections::HashSet;

use super::config::Config;

/// Bytes of the longest name of an interface (linux/if.h, IFNAMSIZ with the terminating zero).
const LONGEST_NAME: usize = 15;

impl Config {
    /// Checks the configuration for a process that opens the interfaces: there is a switch, no link leads from a switch
    /// to itself, and each interface has a valid name and one host.
    ///
    /// # Errors
    /// Returns what is wrong, where, and what was expected.
    pub fn check_places(&self) -> Result<(), String> {
        if self.switch.is_empty() {
            return Err("no switch; expected at least one [[switch]]".to_owned());
        }
        for (number, link) in (1..).zip(&self.link) {
            let [one, other] = &link.between;
            if one == other {
                return Err(format!(
                    "[[link]] {number}: between = [{one:?}, {other:?}]: expected two switches"
                ));
            }
        }
        let mut known = HashSet::new();
        for (number, host) in (1..).zip(&self.host) {
            let name = &host.interface;
            let place = format!("[[host]] {number}: interface = {name:?}");
            if !(1..=LONGEST_NAME).contains(&name.len()) {
                return Err(format!("{place}: expected a name of 1 to {LONGEST_NAME} bytes"));
            }
            if !known.insert(name) {
                return Err(format!(
                    "{place}: another host has this interface; expected one interface per host"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_places_of_a_network_are_named() {
        let switches = "[[switch]]\nname = \"s\"\n[[switch]]\nname = \"t\"\n";
        let host = |interface: &str| {
            format!("[[host]]\nswitch = \"s\"\ninterface = \"{interface}\"\naddresses = []\n")
        };
        let link = |other: &str| format!("[[link]]\nbetween = [\"s\", \"{other}\"]\n");
        let check = |text: String| Config::parse(&text).unwrap().check_places();
        let refused = |text: String, described: &[&str]| {
            let error = check(text).unwrap_err();
            described.iter().for_each(|word| assert!(error.contains(word), "{error}"));
        };
        let longest = "a".repeat(LONGEST_NAME);
        assert_eq!(
            check(format!("{switches}{}{}{}", link("t"), host("p"), host(&longest))),
            Ok(())
        );
        refused(String::new(), &["[[switch]]"]);
        refused(format!("{switches}{}{}", link("t"), link("s")), &["[[link]] 2", "two switches"]);
        refused(format!("{switches}{}", host("")), &["[[host]] 1", "1 to 15"]);
        refused(format!("{switches}{}", host(&"a".repeat(16))), &["[[host]] 1", "1 to 15"]);
        refused(format!("{switches}{}{}", host("p"), host("p")), &["[[host]] 2", "another host"]);
    }
}
