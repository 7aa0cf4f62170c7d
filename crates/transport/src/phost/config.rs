//! Parameters of a host.

use trimline_packet::TimeDelta;

use super::ENDLESS;

/// Waits in vain double so often at most, which makes the longest 1024 times the first. Hosts that repeat packets more
/// often fill links that are much slower than their own.
pub(super) const MAX_DOUBLINGS: u8 = 10;

/// Which flows have free tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeTokens {
    /// All: a flow's first packets go at once (NDP 6.2: pHost sends the first round trip at line rate).
    AllFlows,
    /// Flows that need no other tokens (the simulator of pHost's authors).
    ShortFlows,
}

/// What the paper leaves open of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverRules {
    /// A flow may have its next token as soon as data answers an older one. Packets on free tokens cost no others, and
    /// are asked for again after a packet time each and [`Config::resend`].
    Prompt,
    /// The simulator of pHost's authors, with three rules of its own. A receiver whose flows all wait gives no token
    /// before the first wait ends or an RTS arrives, whatever data arrives. An RTS of a flow whose packets all have
    /// free tokens makes it leave out as many tokens. Such packets are asked for again after two packet times each.
    Yaps,
}

/// Whose turn it is among flows that may all go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one with the fewest packets left; among equal ones the one that came first.
    Srpt,
    /// One packet each in turn.
    Fair,
}

/// Parameters of every flow of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet in bytes; the header adds 64 on the wire.
    pub payload_bytes: u16,
    /// Time of a full packet on the host's link: from one token of a receiver to its next.
    pub packet_time: TimeDelta,
    /// Packets of a flow that go without waiting for a token.
    pub free_tokens: u32,
    /// The flows that have them.
    pub free_for: FreeTokens,
    /// Tokens of a flow that may be unanswered, at least one.
    pub token_window: u32,
    /// How long a sender may use a token.
    pub token_expiry: TimeDelta,
    /// A flow with a window of unanswered tokens gets no other for so long after the last one.
    pub downgrade: TimeDelta,
    /// When all packets were asked for, those that did not come are asked for again so long after the last token.
    pub resend: TimeDelta,
    /// What a receiver does about free tokens, and when it has nobody to give a token to.
    pub receiver: ReceiverRules,
    /// A sender that has heard nothing for so long repeats its RTS; then it waits twice as long, up to eight times,
    /// and longer after 64 repeats.
    pub rts_repeat: TimeDelta,
    /// How long both ends remember a flow that has ended.
    pub time_wait: TimeDelta,
    /// Which flow a receiver gives its next token.
    pub receiver_order: Order,
    /// Which flow's token a sender uses next.
    pub sender_order: Order,
}

impl Config {
    /// The packets of a flow that go on free tokens, which are the first ones.
    pub(super) fn free_of(&self, packets: u32) -> u32 {
        match self.free_for {
            FreeTokens::AllFlows => packets.min(self.free_tokens),
            FreeTokens::ShortFlows if packets <= self.free_tokens => packets,
            FreeTokens::ShortFlows => 0,
        }
    }
}

/// The packets of a flow of so many bytes, in packets of this payload.
///
/// # Panics
/// A flow of [`ENDLESS`] packets or more.
pub(super) fn packets_of(length: Option<u64>, payload_bytes: u16) -> u32 {
    let Some(length) = length else { return ENDLESS };
    let packets = length.div_ceil(u64::from(payload_bytes));
    let packets = u32::try_from(packets).ok().filter(|&packets| packets < ENDLESS);
    packets.expect("a flow with an end has fewer than 2^32 - 1 packets")
}

/// A time that is so many times the time of a packet.
pub(super) const fn times(packet_time: TimeDelta, packets: u32) -> TimeDelta {
    TimeDelta::from_ps(packet_time.as_ps().saturating_mul(packets as u64))
}
