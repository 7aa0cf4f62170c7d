//! SACK: reads blocks, and infers losses from them (RFC 6675).

use super::{Ack, DUPLICATES, Extra, Phase, SenderStatistics, State, Subflow};

impl Subflow {
    /// Reads the SACK blocks. Returns whether they bring news.
    pub(super) fn receive_blocks(
        &mut self,
        ack: &Ack,
        acked: u32,
        statistics: &mut SenderStatistics,
    ) -> bool {
        let blocks = match ack.extra {
            Extra::Blocks(blocks) => blocks,
            Extra::Twice(sequence, blocks) => {
                self.arrived_twice(sequence, statistics);
                blocks
            }
            _ => return false,
        };
        let before = self.sacked;
        for &(first, length) in blocks.as_slice() {
            let mut first = first;
            let end = first.wrapping_add(length);
            if length == 0
                || !self.sent.contains(first)
                || !self.sent.contains(end.wrapping_sub(1))
                || first.wrapping_sub(self.sent.first()) < acked
            {
                continue;
            }
            let known = self.last_block;
            self.last_block = (first, length);
            // The part of the block that the last ACK reported is known.
            if first == known.0 && length >= known.1 {
                first = first.wrapping_add(known.1);
            }
            while first != end {
                let record = self.sent.record(first);
                match record.state {
                    State::InFlight => self.flight -= 1,
                    State::Lost => self.lost -= 1,
                    State::Sacked => {
                        first = first.wrapping_add(1);
                        continue;
                    }
                }
                record.state = State::Sacked;
                self.sacked += 1;
                first = first.wrapping_add(1);
            }
            if self.sacked == before && before == 0 {
                continue;
            }
            if before == 0 || (end.wrapping_sub(self.sacked_end) as i32) > 0 {
                self.sacked_end = end;
            }
        }
        self.sacked > before
    }

    /// RFC 6675 4, IsLost: three SACKed segments lie beyond it.
    pub(super) fn judge_blocks(&mut self, has_new: bool) {
        let mut seen = 0;
        let mut edge = self.sacked_end;
        let first = self.sent.first();
        while edge != first && seen < DUPLICATES {
            edge = edge.wrapping_sub(1);
            seen += u32::from(self.sent.record(edge).state == State::Sacked);
        }
        if seen == DUPLICATES {
            self.judge_until(edge);
        }
        let may_rescue =
            |subflow: &Subflow| subflow.phase == Phase::Recovery && subflow.lost == 0 && !has_new;
        // NextSeg (3): with nothing else to send, segments below the highest block.
        if may_rescue(self) {
            self.judge_until(self.sacked_end);
        }
        // NextSeg (4): then the last segment, once per recovery. Nothing behind it can show its loss, and its own
        // block, when it arrives, covers all before it.
        if may_rescue(self) && !self.is_rescued && self.pipe() < self.congestion.segments() {
            self.is_rescued = true;
            let last = self.sent.next().wrapping_sub(1);
            if self.sent.contains(last) {
                self.mark_lost(last);
            }
        }
    }

    fn judge_until(&mut self, end: u32) {
        while (end.wrapping_sub(self.judged) as i32) > 0 {
            let record = self.sent.record(self.judged);
            if !record.is_resent {
                let sequence = self.judged;
                self.mark_lost(sequence);
            }
            self.judged = self.judged.wrapping_add(1);
        }
    }
}
