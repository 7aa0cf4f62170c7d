//! The scoreboard of each path, over all connections.

use trimline_packet::wire::Routes;
use trimline_packet::{HostId, PathId, Time};
use trimline_transport::ndp::Command;
use trimline_transport::{Key, PathList};

use super::super::scoreboard::{Board, PathStatus};
use super::Core;

impl Core {
    pub(super) fn avoid_outliers(&mut self, now: Time, key: Key) {
        let board = self.boards.get(key.peer.index()).and_then(Option::as_deref);
        let Some(board) = board.filter(|board| !board.is_quiet()) else { return };
        let avoided: Vec<(u16, Time)> = board.avoided(now).collect();
        for (path, until) in avoided {
            self.command(now, Command::Avoid { key, path: PathId::new(path), until });
        }
    }

    #[inline]
    pub(super) fn record_sent(&mut self, now: Time, peer: HostId, path: u16, lost_on: Option<u16>) {
        match self.boards.get_mut(peer.index()) {
            Some(Some(board)) => board.sent(now, path, lost_on),
            _ => self.first_sent(now, peer, path),
        }
    }

    #[cold]
    fn first_sent(&mut self, now: Time, peer: HostId, path: u16) {
        let mut paths = PathList::new();
        self.peers.paths(peer, &mut paths);
        let mut board = Board::new(paths.len(), self.config.ndp.path_penalty.as_ref());
        board.sent(now, path, None);
        let index = peer.index();
        self.boards.resize_with(self.boards.len().max(index + 1), || None);
        self.boards[index] = Some(Box::new(board));
    }

    /// Returns the scoreboard: each path to each peer that data was sent to, with counters; at most `max` rows, because
    /// a host may have many peers.
    pub fn paths(&self, now: Time, max: usize) -> Vec<PathStatus> {
        let mut all = Vec::new();
        for (host, board) in (0..).map(HostId::new).zip(&self.boards) {
            let (Some(board), Some(peer)) = (board, self.peers.canonical(host)) else { continue };
            let avoided: Vec<(u16, Time)> = board.avoided(now).collect();
            for (path, &counters) in (0..).zip(board.counters()) {
                let Some((address, source_port)) = self.peers.toward(host, PathId::new(path))
                else {
                    continue;
                };
                let removed_until =
                    avoided.iter().find(|&&(other, _)| other == path).map(|&(_, until)| until);
                if all.len() >= max {
                    return all;
                }
                let is_withdrawn = self.peers.is_withdrawn(host, path);
                all.push(PathStatus {
                    peer,
                    path,
                    address,
                    source_port,
                    counters,
                    removed_until,
                    is_withdrawn,
                });
            }
        }
        all
    }
}
