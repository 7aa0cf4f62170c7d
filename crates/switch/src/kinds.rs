//! Kinds of ports.

use alloc::vec::Vec;

use crate::codel_port::CodelPort;
use crate::drr::{Drr, DrrModel};
use crate::model::Demands;
use crate::output_port::OutputPort;
use crate::per_port::{Models, PerPort};
use crate::port::Port;
use crate::priority_drop::PriorityDrop;
use crate::rate_limited::RateLimited;

/// A function compiled for each kind of port.
pub trait PortVisitor {
    /// The return type.
    type Output;

    /// Runs for ports of kind `P`, which share `model`.
    fn visit<P: OutputPort + 'static>(self, model: P::Model) -> Self::Output;
}

/// Calls `visitor` with the cheapest kind of port for these models. A port's number ([`OutputPort::with_model`]) is the
/// index of its model in `others`, counted from 1; all other ports have the model `every`.
///
/// Ports that differ, or have a droppable queue, support no caps, waits or urgencies ([`Demands`]); callers refuse
/// these.
pub fn visit_ports<V: PortVisitor>(
    every: &DrrModel,
    others: impl ExactSizeIterator<Item = DrrModel>,
    visitor: V,
) -> V::Output {
    let main = &every.main;
    if every.droppable.is_some() || others.len() > 0 {
        let models: Vec<DrrModel> = [every.clone()].into_iter().chain(others).collect();
        let is_small =
            |model: &DrrModel| model.droppable.is_none() && model.main.queue_count() <= 2;
        if models.iter().all(is_small) {
            let models = models.into_iter().map(|model| model.main).collect();
            return visitor.visit::<PerPort<Port<2>>>(Models::new(models));
        }
        return visitor.visit::<PerPort<Drr<Port<8>, Port<1>>>>(Models::new(models));
    }
    match main.demands() {
        Demands { clock: false, sojourn: false, urgency: false } => match main.queue_count() {
            1 => visitor.visit::<Port<1>>(main.clone()),
            2 => visitor.visit::<Port<2>>(main.clone()),
            _ => visitor.visit::<Port<8>>(main.clone()),
        },
        Demands { urgency: true, .. } => {
            visitor.visit::<RateLimited<PriorityDrop<2>>>(main.clone())
        }
        Demands { .. } => visitor.visit::<RateLimited<CodelPort<Port<2>>>>(main.clone()),
    }
}

#[cfg(test)]
mod tests {
    use core::any::TypeId;

    use trimline_packet::BitRate;

    use super::*;
    use crate::model::{Cap, ServiceModel, Signal};
    use crate::profiles;

    struct TypeOf;

    impl PortVisitor for TypeOf {
        type Output = TypeId;

        fn visit<P: OutputPort + 'static>(self, _model: P::Model) -> TypeId {
            TypeId::of::<P>()
        }
    }

    fn kind(main: ServiceModel, droppable: Option<ServiceModel>, others: usize) -> TypeId {
        let every = DrrModel { main, droppable };
        visit_ports(&every, core::iter::repeat_n(every.clone(), others), TypeOf)
    }

    #[test]
    fn every_model_gets_the_smallest_port_type() {
        let cap = Cap::of_line(BitRate::from_gbps(10));
        let (target, interval) = (profiles::CODEL_TARGET, profiles::CODEL_INTERVAL);
        for (model, expected) in [
            (ServiceModel::drop_tail(8), TypeId::of::<Port<1>>()),
            (ServiceModel::paper(8, 9000), TypeId::of::<Port<2>>()),
            (ServiceModel::qos(8), TypeId::of::<Port<8>>()),
            (ServiceModel::pfabric(9000), TypeId::of::<RateLimited<PriorityDrop<2>>>()),
            (
                ServiceModel::fastlane_pfabric(9000, 640, cap),
                TypeId::of::<RateLimited<PriorityDrop<2>>>(),
            ),
            (
                ServiceModel::fastlane(9000, 640, cap),
                TypeId::of::<RateLimited<CodelPort<Port<2>>>>(),
            ),
            (
                ServiceModel::codel(9000, 1500, target, interval, Signal::Mark),
                TypeId::of::<RateLimited<CodelPort<Port<2>>>>(),
            ),
        ] {
            assert_eq!(kind(model.clone(), None, 0), expected, "{model:?}");
        }
        let per_port = TypeId::of::<PerPort<Drr<Port<8>, Port<1>>>>();
        assert_eq!(kind(ServiceModel::qos(8), None, 1), per_port);
        let small = TypeId::of::<PerPort<Port<2>>>();
        assert_eq!(kind(ServiceModel::paper(8, 9000), None, 1), small);
        assert_eq!(kind(ServiceModel::drop_tail(8), None, 1), small);
        assert_eq!(
            kind(ServiceModel::paper(8, 9000), Some(ServiceModel::drop_tail(8)), 0),
            per_port
        );
    }
}
