//! Actions for a packet that does not fit its queue.

use trimline_packet::Service;

use crate::drop_list::Disposition;

/// A step of an overflow list. The first applicable step is taken; otherwise the packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Any packet: drop it.
    Drop,
    /// A trimmable packet: trim it, and queue the header where the classifier says (CP; NDP's NetFPGA and P4 switches).
    TrimArriving,
    /// A trimmable packet (NDP 3.1): a fair coin decides whether to trim it or the tail of its queue. Tails are trimmed
    /// until the packet fits. The packet itself is trimmed, without a draw, if no tails make room: the queue holds only
    /// the packet on the wire, or untrimmable tails.
    TrimRandom,
    /// A trimmable packet: trim it, and return the header at once (trim to sender, in switches' management interfaces).
    TrimToSender,
    /// A trimmable packet: trim it, forward the header, and notify its sender.
    TrimToBoth,
    /// A trimmed header: return-to-sender (NDP 3.2.4). Never a returned header or control packet.
    Return,
    /// Any packet that no switch has bounced: drop it and notify its sender (FastLane 3.2, 3.4.1).
    Notify,
}

impl Action {
    /// True if the step trims a packet.
    pub fn trims(self) -> bool {
        match self {
            Action::TrimArriving
            | Action::TrimRandom
            | Action::TrimToSender
            | Action::TrimToBoth => true,
            Action::Drop | Action::Return | Action::Notify => false,
        }
    }

    /// True if the step may trim packets that wait.
    pub(super) fn trims_tails(self) -> bool {
        match self {
            Action::TrimRandom => true,
            Action::TrimArriving
            | Action::TrimToSender
            | Action::TrimToBoth
            | Action::Drop
            | Action::Return
            | Action::Notify => false,
        }
    }

    /// True if the step trims, and sends a packet to the sender at once.
    pub fn trims_towards_sender(self) -> bool {
        match self {
            Action::TrimToSender | Action::TrimToBoth => true,
            Action::TrimArriving
            | Action::TrimRandom
            | Action::Drop
            | Action::Return
            | Action::Notify => false,
        }
    }

    /// The disposition of an untrimmed packet; `None`: the step does not apply.
    pub(crate) fn disposition(self, service: Service) -> Option<Disposition> {
        match self {
            Action::Drop => Some(Disposition::Dropped),
            // NDP 3.2.4: the header goes back to its sender, once.
            Action::Return => (service == Service::Trimmed).then_some(Disposition::Returned),
            // FastLane 3.4.1: data and control packets. Nobody is told of a notification.
            Action::Notify => (!service.is_bounced()).then_some(Disposition::Notify),
            Action::TrimArriving
            | Action::TrimRandom
            | Action::TrimToSender
            | Action::TrimToBoth => None,
        }
    }
}
