//! Counters in the text format of OpenMetrics 1.0, and their socket, which serves HTTP.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Max time of a request (chosen): a silent reader blocks others no longer.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);

const LONGEST_REQUEST: usize = 8192;

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A count that never falls while the process lives. Its samples end in `_total`.
    Counter,
    /// A value that rises and falls.
    Gauge,
}

/// Labels of a sample, with values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// An exposition under construction.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// Adds a metric with its samples. The name ends with the unit, if any.
    ///
    /// # Panics
    /// Panics if the name does not end with the unit.
    pub(crate) fn add(
        &mut self,
        (name, unit, help): (&str, &str, &str),
        kind: Kind,
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) {
        assert!(name.ends_with(unit), "the metric {name} is in {unit}");
        let (word, suffix) = match kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        let text = &mut self.0;
        let _ = writeln!(text, "# TYPE {name} {word}");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", escaped(help));
        for (labels, value) in samples {
            let labels = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
            let labels = labels.collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(text, "{name}{suffix}{labels} {value}");
        }
    }

    /// Returns the whole text.
    pub(crate) fn finish(mut self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        self.0 += "# TYPE trimline_build info\n# HELP trimline_build The program.\n";
        self.0 += &format!("trimline_build_info{{version=\"{version}\"}} 1\n# EOF\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A socket that serves the newest exposition. Dropping it removes the socket.
#[derive(Debug)]
pub(crate) struct Endpoint {
    path: PathBuf,
    newest: Arc<Mutex<Arc<str>>>,
}

impl Endpoint {
    /// Opens the socket of a target such as "unix:/run/trimline.sock". Replaces a socket without a listener.
    ///
    /// # Errors
    /// Returns an error with the target if its form is wrong, another process answers, the file is not a socket, or
    /// permission is missing.
    pub(crate) fn open(target: &str) -> io::Result<Endpoint> {
        let Some(path) = target.strip_prefix("unix:").filter(|path| !path.is_empty()) else {
            let text =
                format!("--metrics {target:?}: expected unix:PATH, the path of a new socket");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let path = Path::new(path);
        let named = |kind: io::ErrorKind, what: &str| {
            io::Error::new(kind, format!("--metrics {}: {what}", path.display()))
        };
        if let Ok(about) = std::fs::symlink_metadata(path) {
            if !about.file_type().is_socket() {
                let text = "a file exists; expected an unused socket or a new path";
                return Err(named(io::ErrorKind::AlreadyExists, text));
            }
            if UnixStream::connect(path).is_ok() {
                return Err(named(
                    io::ErrorKind::AddrInUse,
                    "another process listens on this socket",
                ));
            }
            std::fs::remove_file(path).map_err(|error| named(error.kind(), &error.to_string()))?;
        }
        let listener =
            UnixListener::bind(path).map_err(|error| named(error.kind(), &error.to_string()))?;
        let newest: Arc<Mutex<Arc<str>>> =
            Arc::new(Mutex::new(Exposition::default().finish().into()));
        let shared = Arc::clone(&newest);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let text = Arc::clone(&shared.lock().unwrap_or_else(PoisonError::into_inner));
                // A reader that went away does not matter here.
                let _ = answer(&mut stream, &text);
            }
        });
        Ok(Endpoint { path: path.to_owned(), newest })
    }

    /// Publishes an exposition to readers.
    pub(crate) fn publish(&self, exposition: Exposition) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = exposition.finish().into();
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn answer(stream: &mut UnixStream, text: &str) -> io::Result<()> {
    let start = Instant::now();
    stream.set_write_timeout(Some(STALL_TIMEOUT))?;
    let (mut request, mut chunk) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = STALL_TIMEOUT.saturating_sub(start.elapsed());
        if left.is_zero() || request.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&chunk[..count]),
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut described = line.split_whitespace();
    let (status, kind, body) = match (described.next(), described.next()) {
        (Some("GET"), Some("/" | "/metrics")) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, text)
        }
        (Some("GET"), _) => ("404 Not Found", "text/plain", "expected /metrics\n"),
        _ => ("405 Method Not Allowed", "text/plain", "expected GET\n"),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Parses an exposition by the rules of OpenMetrics 1.0: a metric comes before its adjacent samples; names have the
    /// suffix of their kind and end with their unit; samples are unique; the end is marked.
    pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, u64>, String> {
        let body = text.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?;
        let (mut name, mut kind, mut known) = ("", "", BTreeSet::new());
        let mut samples = BTreeMap::new();
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
        };
        for line in body.lines() {
            let wrong = |what: &str| format!("{what}: {line}");
            if let Some(rest) = line.strip_prefix("# ") {
                let mut described = rest.splitn(3, ' ');
                let mut word = || described.next().ok_or_else(|| wrong("too short"));
                let (what, of, value) = (word()?, word()?, word()?);
                match what {
                    "TYPE" => {
                        if !known.insert(of) || !is_name(of) {
                            return Err(wrong("described twice, or no name"));
                        }
                        if !["counter", "gauge", "info"].contains(&value) {
                            return Err(wrong("unknown type"));
                        }
                        (name, kind) = (of, value);
                    }
                    "UNIT" if of == name && name.ends_with(&format!("_{value}")) => {}
                    "HELP" if of == name => {}
                    _ => return Err(wrong("out of place")),
                }
                continue;
            }
            let (sample, value) = line.rsplit_once(' ').ok_or_else(|| wrong("no value"))?;
            let (own, labels) = sample.split_once('{').unwrap_or((sample, "}"));
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            if own.strip_suffix(suffix) != Some(name) {
                return Err(wrong("of another metric"));
            }
            let labels = labels.strip_suffix('}').ok_or_else(|| wrong("labels without end"))?;
            for label in labels.split("\",").filter(|label| !label.is_empty()) {
                let (key, _) = label.split_once("=\"").ok_or_else(|| wrong("no label"))?;
                if !is_name(key) {
                    return Err(wrong("no name of a label"));
                }
            }
            let value = value.parse().map_err(|_| wrong("no number"))?;
            if samples.insert(sample.to_owned(), value).is_some() {
                return Err(wrong("there twice"));
            }
        }
        Ok(samples)
    }

    pub(crate) fn are_documented(text: &str) {
        let documents = include_str!("../../../docs/operators.md");
        for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let name = line.split(' ').next().unwrap();
            assert!(documents.contains(&format!("`{name}`")), "{name} is not in docs/operators.md");
        }
    }

    fn exposition() -> Exposition {
        let mut one = Exposition::default();
        let labelled = |value: &str| vec![("port", value.to_owned())];
        let samples = [(labelled("a"), 1), (labelled("b \"quoted\""), 2)];
        one.add(("trimline_sent_bytes", "bytes", "Sent bytes."), Kind::Counter, samples);
        one.add(("trimline_peers", "", "Peers."), Kind::Gauge, [(Labels::new(), 3)]);
        one
    }

    #[test]
    fn an_exposition_follows_the_openmetrics_format() {
        let text = exposition().finish();
        let samples = parse(&text).unwrap();
        assert_eq!(samples["trimline_sent_bytes_total{port=\"a\"}"], 1);
        assert_eq!(samples["trimline_peers"], 3);
        for (from, to) in [
            ("# EOF\n", ""),
            ("bytes_total{port=\"a\"}", "bytes{port=\"a\"}"),
            ("# TYPE trimline_peers gauge\n", ""),
            ("port=\"a\"} 1", "port=\"a\"} one"),
            ("# UNIT trimline_sent_bytes bytes", "# UNIT trimline_sent_bytes frames"),
            ("port=\"a\"", "port=\"b \\\"quoted\\\"\""),
        ] {
            assert!(text.contains(from) && parse(&text.replace(from, to)).is_err(), "{from}");
        }
    }

    fn asked(path: &Path, request: &[u8]) -> String {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        // A dropped connection is an error, or the end.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn a_metrics_socket_replaces_only_dead_sockets() {
        let name = format!("trimline-metrics-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let target = format!("unix:{}", path.display());
        let refused = |target: &str| Endpoint::open(target).unwrap_err().to_string();
        std::fs::write(&path, "kept").unwrap();
        assert!(refused(&target).contains("a file exists"));
        std::fs::remove_file(&path).unwrap();
        assert!(refused("/run/x").contains("expected unix:PATH"));
        // A socket without a listener.
        drop(UnixListener::bind(&path).unwrap());
        let endpoint = Endpoint::open(&target).unwrap();
        assert!(refused(&target).contains("another process listens"));
        endpoint.publish(exposition());
        // Silent or long requests do not block other readers for long.
        let silent = UnixStream::connect(&path).unwrap();
        let answer = asked(&path, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
        assert_eq!(parse(body).unwrap()["trimline_peers"], 3);
        assert!(asked(&path, b"GET /x HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(asked(&path, b"POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert_eq!(asked(&path, &[b'x'; 4 * LONGEST_REQUEST]), "");
        drop(silent);
        drop(endpoint);
        assert!(!path.exists());
    }
}
