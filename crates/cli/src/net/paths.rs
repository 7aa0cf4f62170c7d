//! The paths to a peer on the command line (`--peer-paths`): an address or labels for each.

use std::net::IpAddr;
use std::str::FromStr;

use trimline_packet::wire::labels::{MAX_LABEL, MAX_LABELS, MIN_LABEL};
use trimline_stack::host::{Config, Core};

/// The paths to one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PeerPaths {
    pub(super) peer: IpAddr,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// An address of the peer for each path (NDP 3.1.1, L3).
    Addresses(Vec<IpAddr>),
    /// Labels for each path, the outermost first (NDP 3.1.1, L2).
    Labels(Vec<Vec<u32>>),
}

impl FromStr for PeerPaths {
    type Err = String;

    /// Reads `PEER=PATH,PATH...`; a path is an address, or labels between slashes.
    fn from_str(text: &str) -> Result<PeerPaths, String> {
        let (peer, paths) = text.split_once('=').ok_or("expected PEER=PATH,PATH,...")?;
        let peer = peer.parse().map_err(|_| format!("{peer:?}: expected an IP address"))?;
        let paths: Vec<&str> = paths.split(',').collect();
        let addresses: Vec<IpAddr> = paths.iter().filter_map(|path| path.parse().ok()).collect();
        let kind = match addresses.len() {
            0 => Kind::Labels(paths.into_iter().map(labels).collect::<Result<_, _>>()?),
            count if count < paths.len() => {
                return Err("expected only addresses, or only labels".to_owned());
            }
            _ if !addresses.contains(&peer) => {
                return Err(format!("expected {peer} among the path addresses"));
            }
            _ if addresses.iter().any(|way| way.is_ipv4() != peer.is_ipv4()) => {
                return Err("expected addresses of one family".to_owned());
            }
            _ => Kind::Addresses(addresses),
        };
        Ok(PeerPaths { peer, kind })
    }
}

/// Reads the labels of one path.
fn labels(path: &str) -> Result<Vec<u32>, String> {
    let labels: Vec<u32> = path.split('/').map_while(|label| label.parse().ok()).collect();
    let is_valid = labels.len() == path.split('/').count()
        && labels.len() <= MAX_LABELS
        && labels.iter().all(|label| (MIN_LABEL..=MAX_LABEL).contains(label));
    match is_valid {
        true => Ok(labels),
        false => Err(format!(
            "{path:?}: expected an IP address, or at most {MAX_LABELS} labels from {MIN_LABEL} to {MAX_LABEL}, such as \
             16/17"
        )),
    }
}

impl PeerPaths {
    /// Leaves room for the labels in packets.
    pub(super) fn prepare(&self, config: &mut Config) {
        if let Kind::Labels(stacks) = &self.kind {
            let depth = stacks.iter().map(Vec::len).max().unwrap_or(0);
            config.leave_room_for_labels(depth);
        }
    }

    /// Adds the peer and its paths to a host.
    pub(super) fn apply(&self, core: &mut Core) -> Result<(), String> {
        match &self.kind {
            Kind::Addresses(ways) => core.name_peer(self.peer, ways),
            Kind::Labels(stacks) => {
                core.name_peer(self.peer, &[]);
                core.label_peer(self.peer, stacks)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_addresses_or_labels() {
        let read = |text: &str| text.parse::<PeerPaths>();
        let peer: IpAddr = [10, 0, 0, 2].into();
        let ways = vec![peer, [10, 1, 0, 2].into()];
        let expected = PeerPaths { peer, kind: Kind::Addresses(ways) };
        assert_eq!(read("10.0.0.2=10.0.0.2,10.1.0.2"), Ok(expected));
        let stacks = vec![vec![16], vec![17, 1_048_575]];
        let expected = PeerPaths { peer, kind: Kind::Labels(stacks) };
        assert_eq!(read("10.0.0.2=16,17/1048575"), Ok(expected));
        for (text, expected) in [
            ("10.0.0.2", "PEER=PATH"),
            ("peer=16", "an IP address"),
            ("10.0.0.2=10.0.0.2,16", "only addresses"),
            ("10.0.0.2=10.1.0.2", "among the path addresses"),
            ("10.0.0.2=10.0.0.2,fd00::1", "one family"),
            ("10.0.0.2=15", "from 16"),
            ("10.0.0.2=1048576", "to 1048575"),
            ("10.0.0.2=16/", "at most 8 labels"),
            ("10.0.0.2=", "at most 8 labels"),
            ("10.0.0.2=16/16/16/16/16/16/16/16/16", "at most 8 labels"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn labels_take_their_room_from_the_payload() {
        let rate = trimline_packet::BitRate::from_gbps(10);
        let mut config = Config::new([10, 0, 0, 1].into(), 1500, rate).unwrap();
        let before = config.ndp.payload_bytes;
        let paths: PeerPaths = "10.0.0.2=16,17/18/19".parse().unwrap();
        paths.prepare(&mut config);
        paths.prepare(&mut config);
        assert_eq!(config.ndp.payload_bytes, before - 12);
        paths.apply(&mut Core::new(config)).unwrap();
    }
}
