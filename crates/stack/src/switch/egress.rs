//! The kinds of queues of an output port: plain, with notifications, ordered by urgency, and both.

use trimline_packet::TimeDelta;
use trimline_switch::{Drr, OutputPort, PerPort, Port, PriorityDrop, RateLimited, ServiceModel};

/// The queues of NDP or another profile, with a queue for droppable traffic under deficit round robin.
pub(super) type Plain = Drr<Port<8>, Port<1>>;

/// FastLane's queues, with a rate limit that follows the port's line.
pub(super) type Notifying = PerPort<RateLimited<Port<2>>>;

/// pFabric's queue.
pub(super) type Pfabric = PriorityDrop<1>;

/// pFabric's queue with FastLane's queue for notifications.
pub(super) type NotifyingPfabric = PerPort<RateLimited<PriorityDrop<2>>>;

/// The queues of an output port. The data plane is compiled for each kind, so that no kind costs another.
pub(super) trait Egress: OutputPort {
    /// Whether the port sends notifications of drops: then frames record their input port.
    const NOTIFIES: bool = false;

    /// Whether the most urgent frame goes first: then frames carry their urgency.
    const WEIGHS: bool = false;

    /// Sets all remembered times back with the clock.
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

    /// A rate-limited port remembers since when it may send.
    fn set_back(&mut self, by: TimeDelta) {
        self.port_mut().set_back(by);
    }
}
