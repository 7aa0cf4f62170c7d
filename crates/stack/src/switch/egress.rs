//! The queues of an output port: those that every switch has, and those of a switch that tells senders of drops.

use trimline_packet::TimeDelta;
use trimline_switch::{Beside, Capped, OutputPort, Port, Varied};

/// NDP's queues, or those of another profile, beside one for what may only be dropped.
pub(super) type Plain = Beside<Port<8>, Port<1>>;

/// FastLane's queues, whose cap follows the rate of the port's line.
pub(super) type Telling = Varied<Capped<Port<2>>>;

/// The queues of an output port. The machine around them is compiled for each kind, so that none pays for another.
pub(super) trait Egress: OutputPort {
    /// Senders are told of drops: frames know by which port they came.
    const TELLS: bool;

    /// The clock was set back by so much: all times that it remembers are, too.
    fn set_back(&mut self, by: TimeDelta);
}

impl Egress for Plain {
    const TELLS: bool = false;

    /// It remembers none.
    fn set_back(&mut self, _by: TimeDelta) {}
}

impl Egress for Telling {
    const TELLS: bool = true;

    fn set_back(&mut self, by: TimeDelta) {
        self.port_mut().set_back(by);
    }
}
