//! The kinds of queues of an output port: plain, with notifications, ordered by urgency, and both.

use trimline_packet::TimeDelta;
use trimline_switch::{Drr, OutputPort, PerPort, Port, PriorityDrop, RateLimited, ServiceModel};

/// The queues of a profile, and one for droppable traffic under deficit round robin.
pub(super) type Plain = Drr<Port<8>, Port<1>>;

/// FastLane's queues, with a limit that follows the line rate.
pub(super) type Notifying = PerPort<RateLimited<Port<2>>>;

pub(super) type Pfabric = PriorityDrop<1>;

/// pFabric's queue with FastLane's queue for notifications.
pub(super) type NotifyingPfabric = PerPort<RateLimited<PriorityDrop<2>>>;

/// The queues of an output port. The data plane is compiled for each kind, so that none costs another.
pub(super) trait Egress: OutputPort {
    /// True if the port sends notifications of drops: then frames record their input.
    const NOTIFIES: bool = false;

    /// True if the most urgent frame goes first: then frames carry their urgency.
    const WEIGHS: bool = false;

    fn set_back(&mut self, _by: TimeDelta) {}
}

impl Egress for Plain {}

impl<const Q: usize> Egress for Port<Q> {}

impl<const Q: usize> Egress for PriorityDrop<Q> {
    const WEIGHS: bool = true;
}

impl<P: Egress<Model = ServiceModel>> Egress for PerPort<RateLimited<P>> {
    const NOTIFIES: bool = true;
    const WEIGHS: bool = P::WEIGHS;

    fn set_back(&mut self, by: TimeDelta) {
        self.port_mut().set_back(by);
    }
}
