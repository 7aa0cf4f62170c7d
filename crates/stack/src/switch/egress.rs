//! The queues of an output port: those that every switch has, those of a switch that tells senders of drops, those in
//! order of urgency, and those that are both.

use trimline_packet::TimeDelta;
use trimline_switch::{Drr, OutputPort, PerPort, Port, PriorityDrop, RateLimited, ServiceModel};

/// NDP's queues, or those of another profile, beside one for what may only be dropped.
pub(super) type Plain = Drr<Port<8>, Port<1>>;

/// FastLane's queues, whose cap follows the rate of the port's line.
pub(super) type Notifying = PerPort<RateLimited<Port<2>>>;

/// pFabric's queue.
pub(super) type Pfabric = PriorityDrop<1>;

/// pFabric's queue beside a queue for notifications, as FastLane has it.
pub(super) type NotifyingPfabric = PerPort<RateLimited<PriorityDrop<2>>>;

/// The queues of an output port. The machine around them is compiled for each kind, so that none pays for another.
pub(super) trait Egress: OutputPort {
    /// Senders are told of drops: frames know by which port they came.
    const NOTIFIES: bool = false;

    /// The most urgent frame goes first: frames say how urgent they are.
    const WEIGHS: bool = false;

    /// The clock was set back by so much: all times that it remembers are, too.
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

    /// A port with a cap remembers since when it may send.
    fn set_back(&mut self, by: TimeDelta) {
        self.port_mut().set_back(by);
    }
}
