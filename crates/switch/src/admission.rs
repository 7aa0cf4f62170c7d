//! Tests of admission: a limit over all queues of a port, and selective dropping.

mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use trimline_packet::{Packet, Packets, Service, ServiceClass};

    use crate::testing::{Bench, packet};
    use crate::{Choices, Disposition, Limit, OutputPort, QueueChoices, QueueView, ServiceModel};

    fn dropped<const Q: usize>(bench: &mut Bench<Q>) -> Vec<u32> {
        let handles: Vec<_> = bench.drop_list.drain().collect();
        handles
            .into_iter()
            .map(|(handle, disposition)| {
                assert_eq!(disposition, Disposition::Dropped);
                bench.packets.packet(handle).header.sequence
            })
            .collect()
    }

    fn unscheduled(service: Service, bytes: u16, sequence: u32) -> Packet {
        Packet { marks: Packet::MARK_UNSCHEDULED, ..packet(service, bytes, sequence) }
    }

    fn together(port: Limit) -> Bench<8> {
        Bench::new(Choices { port, ..Choices::priorities(8, 1500) }.build().expect("a model"))
    }

    fn of_priority(priority: u8, sequence: u32) -> Packet {
        let service = ServiceClass::new(Service::Droppable, priority);
        Packet { service, ..packet(Service::Droppable, 1500, sequence) }
    }

    #[test]
    fn queues_share_the_limit_of_their_port() {
        for limit in [Limit::packets(3), Limit::bytes(4500)] {
            let mut bench = together(limit);
            for (sequence, priority) in [(0, 7), (1, 0), (2, 3), (3, 5)] {
                bench.arrive(of_priority(priority, sequence));
            }
            assert_eq!(dropped(&mut bench), [3], "{limit:?}");
            // The packet on the wire counts until it has left.
            bench.serve();
            bench.arrive(of_priority(6, 4));
            assert_eq!(dropped(&mut bench), [4]);
            bench.serve();
            bench.arrive(of_priority(6, 5));
            bench.arrive(packet(Service::Control, 64, 6));
            assert_eq!(dropped(&mut bench), [6], "control packets count as others do");
            assert_eq!(bench.model.max_in_queue(7).packets.min(8), limit.packets.min(8));
        }
    }

    #[test]
    fn a_trimmed_tail_frees_room_in_its_queue_and_port() {
        let mut choices = Choices::paper(8, 9000);
        choices.port = Limit::packets(3);
        let mut bench = Bench::<2>::new(choices.build().expect("a model"));
        bench.coins.0.extend([true, true]);
        for sequence in 0..2 {
            bench.arrive(packet(Service::Trimmable, 9064, sequence));
        }
        bench.arrive(packet(Service::Control, 64, 2));
        // Trimming a tail makes no room: its header needs a place too, and is dropped.
        bench.arrive(packet(Service::Trimmable, 9064, 3));
        let lost: Vec<Disposition> =
            bench.drop_list.drain().map(|(_, disposition)| disposition).collect();
        assert_eq!((lost, bench.drop_list.trimmed), (vec![Disposition::Returned], 1));
        assert_eq!((bench.port.queue_packets(0), bench.port.queue_packets(1)), (1, 2));
    }

    /// Aeolus: only unscheduled data that finds more than the threshold is dropped, also on the slow path of a port
    /// limit.
    #[test]
    fn unscheduled_data_is_dropped_above_the_threshold() {
        for port in [Limit::NONE, Limit::packets(30)] {
            let mut queue = QueueChoices::new(Limit::packets(20));
            queue.selective_drop = Some(6000);
            let choices = Choices { queues: vec![queue], port, ..Choices::drop_tail(20) };
            let mut bench = Bench::<1>::new(choices.build().expect("a model"));
            for sequence in 0..5 {
                bench.arrive(unscheduled(Service::Droppable, 1500, sequence));
            }
            assert_eq!(dropped(&mut bench), [], "the fifth found 6000 B");
            bench.arrive(unscheduled(Service::Droppable, 1500, 5));
            bench.arrive(packet(Service::Droppable, 1500, 6));
            bench.arrive(unscheduled(Service::Trimmed, 64, 7));
            bench.arrive(unscheduled(Service::Control, 64, 8));
            assert_eq!(dropped(&mut bench), [5], "{port:?}");
            for _ in 0..4 {
                bench.serve();
            }
            bench.arrive(unscheduled(Service::Droppable, 1500, 9));
            assert_eq!(dropped(&mut bench), [], "the rest is short enough");
        }
    }

    #[test]
    fn selectively_dropped_packets_are_not_trimmed() {
        let mut choices = Choices::paper(8, 9000);
        choices.queues[1].selective_drop = Some(6000);
        let mut bench = Bench::<2>::new(choices.build().expect("a model"));
        bench.arrive(unscheduled(Service::Trimmable, 9064, 0));
        bench.arrive(unscheduled(Service::Trimmable, 9064, 1));
        assert_eq!((dropped(&mut bench), bench.drop_list.trimmed), (vec![1], 0));
    }

    /// A selective-drop threshold leaves other packets on the fast path below it.
    #[test]
    fn packets_below_the_threshold_take_the_fast_path() {
        let mut choices = Choices::priorities(8, 1500);
        for queue in &mut choices.queues {
            queue.selective_drop = Some(6000);
        }
        let mut bench = Bench::<8>::new(choices.build().expect("a model"));
        assert!(bench.model.is_plain());
        let handles: Vec<_> = (0..5)
            .map(|sequence| {
                crate::testing::Arena::add(
                    &mut bench.packets,
                    unscheduled(Service::Droppable, 1500, sequence),
                )
            })
            .collect();
        let went: Vec<bool> = handles
            .into_iter()
            .map(|handle| bench.port.enqueue_plainly(handle, &bench.model, &mut bench.packets))
            .collect();
        assert_eq!(went, [true, true, true, true, false]);
        let plain = ServiceModel::priorities(8, 1500);
        assert_ne!(bench.model, plain);
    }
}
