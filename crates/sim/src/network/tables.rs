//! What code that is compiled once for all transports and kinds of ports may ask of the ports and hosts of a run.

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{Handle, HostId, Packet, ServiceClass, Time, TimeDelta};
use trimline_switch::{Limit, Returning};
use trimline_transport::{Framing, Key, PathList, Side, flow};

use super::core::HOST_FRONT;
use super::{Core, Transmitter};
use crate::flows::Totals;
use crate::table::Fronts;

/// The switch ports of a run, by number, whatever their kind.
pub(crate) trait SwitchTable: Send {
    /// The maximum number of queues of a port.
    fn queues(&self) -> usize;
    /// Whether ports look at their switch's pool.
    fn has_pools(&self) -> bool;
    /// Whether queues take memory from their switch's pool.
    fn shares_memory(&self) -> bool;
    /// From where ports return headers.
    fn returning(&self) -> Returning;
    /// The link of a port.
    fn link(&self, port: u32) -> &Transmitter;
    /// The link of a port, to be changed between two events.
    fn link_mut(&mut self, port: u32) -> &mut Transmitter;
    /// The packet at the head of a queue, without the one on the wire; `Handle::NONE` if the queue is empty.
    fn first(&self, port: u32, queue: usize) -> Handle;
    /// Releases the memory of every packet whose transmission ended before `now`: a port by itself does so when it acts
    /// next, which may be never. To be called before queues are read from outside.
    fn end_transmissions(&mut self, core: &mut Core, now: Time);
    /// Bytes in a queue, the packet on the wire included.
    fn queue_bytes(&self, port: u32, queue: usize) -> u32;
    /// Packets in a queue, the one on the wire included.
    fn queue_packets(&self, port: u32, queue: usize) -> u32;
    /// The limit of a queue; `None` if the port does not have it.
    fn max_in_queue(&self, port: u32, queue: usize) -> Option<Limit>;
    /// Whether a queue takes memory from the switch's pool.
    fn is_pooled(&self, port: u32, queue: usize) -> bool;
    /// The queue that a packet enters.
    fn classify(&self, port: u32, packet: &Packet) -> usize;
    /// The queue that packets of a service class enter.
    fn queue_of(&self, port: u32, class: ServiceClass) -> usize;
    /// Packets that a port has marked, modulo 2^32.
    fn marked(&self, port: u32) -> u32;
    /// A class that priority flow control has stopped may be sent again.
    fn resume(&mut self, port: u32, class: usize, now: Time);
}

/// The hosts of a run, by number, whatever their transport.
pub(crate) trait HostTable: Send {
    /// Bytes of the transport's packets beside their payload.
    fn framing(&self) -> Framing;
    /// Where hosts lie in memory.
    fn fronts(&self) -> Fronts<HOST_FRONT>;
    /// The link of a host.
    fn link(&self, host: u32) -> &Transmitter;
    /// The link of a host, to be changed between two events.
    fn link_mut(&mut self, host: u32) -> &mut Transmitter;
    /// A host does nothing before `now`.
    fn hold_until(&mut self, host: u32, now: Time);
    /// The next of a host's flows starts at `at`.
    fn set_next_start(&mut self, host: u32, at: Time);
    /// How long both halves of a flow are kept after its end, to answer what is late.
    fn time_wait(&self) -> TimeDelta;
    /// How long senders may be silent in a run that is not stuck.
    fn stall_timeout(&self) -> TimeDelta;
    /// The transport's own columns of `output.series`.
    fn series_columns(&self) -> Vec<SeriesColumn>;
    /// Statistics of the half in `slot`.
    fn statistics_of(&self, host: HostId, slot: u32) -> flow::Statistics;
    /// What the half in `slot` has counted.
    fn totals(&self, host: HostId, side: Side, slot: u32) -> Totals {
        Totals::of(|record| match side {
            Side::Receiving => self.record_receiver(host, slot, record),
            Side::Sending => {
                self.record_sender(host, slot, record);
                0
            }
        })
    }
    /// Writes the sending half in `slot` into its flow's record.
    fn record_sender(&self, host: HostId, slot: u32, record: &mut FlowRecord);
    /// Writes the receiving half in `slot` into its flow's record. Returns its whole packets.
    fn record_receiver(&self, host: HostId, slot: u32, record: &mut FlowRecord) -> u64;
    /// Appends the latencies of the packets of the sending half in `slot`, if they are recorded.
    fn latencies(&self, host: HostId, slot: u32, latencies: &mut Vec<PacketLatency>);
    /// Reads the transport's own columns of `output.series` for the half in `slot`.
    fn read(&self, host: HostId, slot: u32, side: Side, readings: &mut Readings<'_>);
    /// Prefetches the half in `slot`.
    fn prefetch_side(&self, host: HostId, slot: u32);
    /// Forgets the half in `slot`: it may be assigned again.
    fn forget(&mut self, host: HostId, slot: u32);
    /// The half of `key` has new paths.
    fn set_paths(&mut self, core: &mut Core, host: HostId, now: Time, new: (Key, PathList));
}
