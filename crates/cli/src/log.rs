//! Events of long-running commands on standard error: a line each, for people or programs.

use std::time::SystemTime;

use serde_json::{Map, Value, json};
use trimline_experiments::notice;

use crate::terminal;

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One sentence per line.
    #[default]
    Text,
    /// One JSON object per line, with `time`, `program`, `event`, `message` and the subject of the event.
    Json,
}

/// The log of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
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
    pub(crate) fn new(program: &'static str, format: Format) -> Log {
        Log { program, format }
    }

    /// True if programs read the log.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Writes an event's line; `about` names its subject.
    pub(crate) fn event(&self, event: &str, about: &[(&str, Value)], message: &str) {
        let line = self.line(SystemTime::now(), event, about, message);
        if self.is_json() { terminal::say(&line) } else { notice(&line) }
    }

    fn line(&self, now: SystemTime, event: &str, about: &[(&str, Value)], message: &str) -> String {
        if self.format == Format::Text {
            return message.to_owned();
        }
        let mut line = Map::new();
        let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
        add("time", json!(humantime::format_rfc3339_millis(now).to_string()));
        add("program", json!(self.program));
        add("event", json!(event));
        for (key, value) in about {
            add(key, value.clone());
        }
        add("message", json!(message));
        Value::Object(line).to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_event_is_a_line_of_text_or_of_json() {
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
}
