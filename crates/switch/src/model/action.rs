//! What becomes of a packet that does not fit its queue.

use trimline_packet::Service;

use crate::drop_list::Disposition;

/// One step of what happens when a packet does not fit. The first step that applies to the packet is
/// taken; behind the last step the packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Any packet: it is dropped.
    Drop,
    /// A trimmable packet: its payload is cut, and the header goes where the classifier sends
    /// headers (CP; NDP's NetFPGA and P4 switches).
    TrimArriving,
    /// A trimmable packet (NDP 3.1): a fair coin decides whether it or the tail of its queue is
    /// trimmed. Tails are trimmed until the packet fits. No coin is drawn, and the packet itself is
    /// trimmed, when no tails would make room: the queue holds only the packet on the wire, or a
    /// packet that may not be trimmed is among them.
    TrimByCoin,
    /// A trimmable packet: its payload is cut, and the header goes back to its sender at once (switches' management
    /// interfaces call it trim to sender).
    TrimToSender,
    /// A trimmable packet: its payload is cut, the header goes on to its receiver, and a notification to its sender.
    TrimToBoth,
    /// A trimmed header (NDP 3.2.4): it goes back to its sender. A returned header or a control packet
    /// never does.
    Return,
    /// Any packet that no switch has turned round: it is dropped and its sender told (FastLane 3.2, 3.4.1).
    Notify,
}

impl Action {
    /// Whether the step trims a packet.
    pub fn trims(self) -> bool {
        match self {
            Action::TrimArriving
            | Action::TrimByCoin
            | Action::TrimToSender
            | Action::TrimToBoth => true,
            Action::Drop | Action::Return | Action::Notify => false,
        }
    }

    /// Whether the step trims a packet and sends something to its sender at once.
    pub fn trims_towards_sender(self) -> bool {
        match self {
            Action::TrimToSender | Action::TrimToBoth => true,
            Action::TrimArriving
            | Action::TrimByCoin
            | Action::Drop
            | Action::Return
            | Action::Notify => false,
        }
    }

    /// What the step makes of a packet that it does not trim; `None`: it does not apply.
    pub(crate) fn disposition(self, service: Service) -> Option<Disposition> {
        match self {
            Action::Drop => Some(Disposition::Dropped),
            // NDP 3.2.4: the header goes back to its sender, once.
            Action::Return => (service == Service::Trimmed).then_some(Disposition::Returned),
            // FastLane 3.4.1: data and control packets. Nobody is told of a notification.
            Action::Notify => (!service.is_turned_round()).then_some(Disposition::Notify),
            Action::TrimArriving
            | Action::TrimByCoin
            | Action::TrimToSender
            | Action::TrimToBoth => None,
        }
    }
}
