//! Events of commands that go on by themselves, on standard error: a line each, for people or for programs.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::terminal;

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Sentences.
    #[default]
    Text,
    /// A JSON object a line: `time`, `program`, `event`, what the event is about, `message`.
    Json,
}

/// The log of a command.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    program: &'static str,
    format: Format,
}

impl Default for Log {
    fn default() -> Log {
        Log::new("trimline", Format::Text)
    }
}

impl Log {
    /// The log of a program.
    pub fn new(program: &'static str, format: Format) -> Log {
        Log { program, format }
    }

    /// Says whether programs read the log.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes the line of an event, with what the event is about.
    pub fn event(&self, event: &str, about: &[(&str, Value)], message: &str) {
        terminal::say(&self.line(SystemTime::now(), event, about, message));
    }

    fn line(&self, now: SystemTime, event: &str, about: &[(&str, Value)], message: &str) -> String {
        if self.format == Format::Text {
            return message.to_owned();
        }
        let mut line = Map::new();
        let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
        add("time", json!(utc(now)));
        add("program", json!(self.program));
        add("event", json!(event));
        for (key, value) in about {
            add(key, value.clone());
        }
        add("message", json!(message));
        Value::Object(line).to_string()
    }
}

/// A time as RFC 3339 has it, in UTC and to the millisecond.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years begin in March, so that the day that some have is their last; 400 of them have 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let ms = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_for_people_or_for_programs() {
        let line = |format| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_709_210_096_789);
            Log::new("trimline-switch", format).line(
                now,
                "link_down",
                &[("interface", json!("p\"1"))],
                "p\"1: the link is down",
            )
        };
        assert_eq!(line(Format::Text), "p\"1: the link is down");
        assert_eq!(
            line(Format::Json),
            r#"{"time":"2024-02-29T12:34:56.789Z","program":"trimline-switch","event":"link_down","interface":"p\"1","message":"p\"1: the link is down"}"#
        );
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_767_225_599, "2025-12-31"),
            (1_767_225_600, "2026-01-01"),
            (4_107_542_400, "2100-03-01"),
        ] {
            let text = utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert!(text.starts_with(day), "{text}, expected {day}");
        }
    }
}
