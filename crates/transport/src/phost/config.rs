//! Parameters of a host.

use trimline_packet::TimeDelta;

use super::ENDLESS;

/// Max doublings of a wait, so up to 1024 times the first. More frequent repeats fill links much slower than a host's
/// own.
pub(super) const MAX_DOUBLINGS: u8 = 10;

/// The flows that have free tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeTokens {
    /// All flows: first packets go at once (NDP 6.2: pHost sends the first round trip at line rate).
    AllFlows,
    /// Flows that need no other tokens (the simulator of pHost's authors).
    ShortFlows,
}

/// Receiver rules that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverRules {
    /// A flow may have its next token once data answers an older one. Packets on free tokens use up no other tokens.
    /// Missing ones are requested again after one packet time each and [`Config::resend`].
    Prompt,
    /// The simulator of pHost's authors, with three extra rules. A receiver whose flows all wait gives no token before
    /// the first wait ends or an RTS arrives, whatever data arrives. After an RTS of a flow with only free tokens it
    /// skips as many tokens. Such packets are requested again after two packet times each.
    Yaps,
}

/// The order in which ready flows take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fewest packets left first; ties by arrival. At a sender those that it never sent.
    Srpt,
    /// At senders only: fewest packets that had not arrived when the receiver gave the flow's last token; a flow without
    /// one counts as whole (the simulator of pHost's authors).
    Reported,
    /// One packet each in turn.
    Fair,
}

/// Parameters of every flow of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Time of a full packet on the host's link: the gap between tokens of a receiver.
    pub packet_time: TimeDelta,
    /// Packets of a flow that need no token.
    pub free_tokens: u32,
    /// Flows that have free tokens.
    pub free_for: FreeTokens,
    /// First packets that bear [`trimline_packet::Packet::MARK_UNSCHEDULED`], if they go on free tokens for the first
    /// time.
    pub marked: u32,
    /// Max unanswered tokens of a flow; at least one.
    pub token_window: u32,
    /// Lifetime of a token at its sender.
    pub token_expiry: TimeDelta,
    /// Pause after the last token of a flow with a window of unanswered tokens.
    pub downgrade: TimeDelta,
    /// Wait after the last token before missing packets are requested again.
    pub resend: TimeDelta,
    /// Rules for free tokens, and for a receiver whose flows all wait.
    pub receiver: ReceiverRules,
    /// Time without an answer after which a sender repeats its RTS. It doubles, up to eight times this, and further
    /// after 64 repeats.
    pub rts_repeat: TimeDelta,
    /// Time for which both ends remember an ended flow.
    pub time_wait: TimeDelta,
    /// Token order at receivers.
    pub receiver_order: Order,
    /// Token order at senders.
    pub sender_order: Order,
}

impl Config {
    /// Returns the number of first packets that go on free tokens.
    pub(super) fn free_of(&self, packets: u32) -> u32 {
        match self.free_for {
            FreeTokens::AllFlows => packets.min(self.free_tokens),
            FreeTokens::ShortFlows if packets <= self.free_tokens => packets,
            FreeTokens::ShortFlows => 0,
        }
    }
}

/// Returns the number of packets of a flow of `length` bytes.
///
/// # Panics
/// Panics on a flow of [`ENDLESS`] packets or more.
pub(super) fn packets_of(length: Option<u64>, payload_bytes: u16) -> u32 {
    let Some(length) = length else { return ENDLESS };
    let packets = length.div_ceil(u64::from(payload_bytes));
    let packets = u32::try_from(packets).ok().filter(|&packets| packets < ENDLESS);
    packets.expect("a flow with an end has fewer than 2^32 - 1 packets")
}

pub(super) const fn times(packet_time: TimeDelta, packets: u32) -> TimeDelta {
    TimeDelta::from_ps(packet_time.as_ps().saturating_mul(packets as u64))
}
