//! The ports and hosts of a run, for code that is compiled once for all transports and kinds of ports.

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{Handle, HostId, Packet, ServiceClass, Time, TimeDelta};
use trimline_switch::{Limit, Returning};
use trimline_transport::{Framing, Key, PathList, Side, flow};

use super::core::HOST_FRONT;
use super::{Core, Transmitter};
use crate::flows::Totals;
use crate::table::Fronts;

/// The switch ports of a run, by number, of any kind.
pub(crate) trait SwitchTable: Send {
    fn queues(&self) -> usize;
    fn has_pools(&self) -> bool;
    fn shares_memory(&self) -> bool;
    /// Queues that return headers.
    fn returning(&self) -> Returning;
    fn link(&self, port: u32) -> &Transmitter;
    fn link_mut(&mut self, port: u32) -> &mut Transmitter;
    /// Packet at the head of a queue, without the one on the wire; `Handle::NONE` if the queue is empty.
    fn first(&self, port: u32, queue: usize) -> Handle;
    /// Releases the memory of packets whose transmission ended before `now`. A port does so only when it acts next,
    /// maybe never. Call this before queues are read from outside.
    fn end_transmissions(&mut self, core: &mut Core, now: Time);
    /// Bytes in a queue, the packet on the wire included.
    fn queue_bytes(&self, port: u32, queue: usize) -> u32;
    /// Packets in a queue, the one on the wire included.
    fn queue_packets(&self, port: u32, queue: usize) -> u32;
    /// Limit of a queue; `None` if the port does not have the queue.
    fn max_in_queue(&self, port: u32, queue: usize) -> Option<Limit>;
    fn is_pooled(&self, port: u32, queue: usize) -> bool;
    fn classify(&self, port: u32, packet: &Packet) -> usize;
    fn queue_of(&self, port: u32, class: ServiceClass) -> usize;
    /// Number of packets that a port has marked, modulo 2^32.
    fn marked(&self, port: u32) -> u32;
    /// Lets a class that priority flow control has stopped be sent again.
    fn resume(&mut self, port: u32, class: usize, now: Time);
}

/// The hosts of a run, by number, with any transport.
pub(crate) trait HostTable: Send {
    fn framing(&self) -> Framing;
    fn fronts(&self) -> Fronts<HOST_FRONT>;
    fn link(&self, host: u32) -> &Transmitter;
    fn link_mut(&mut self, host: u32) -> &mut Transmitter;
    /// Keeps a host from acting before `now`.
    fn hold_until(&mut self, host: u32, now: Time);
    fn set_next_start(&mut self, host: u32, at: Time);
    /// Returns how long a flow's streams are kept after its end, to answer late packets.
    fn time_wait(&self) -> TimeDelta;
    /// Returns how long senders may be silent in a run that is not stuck.
    fn stall_timeout(&self) -> TimeDelta;
    /// The transport's own columns of `output.series`.
    fn series_columns(&self) -> Vec<SeriesColumn>;
    fn statistics_of(&self, host: HostId, slot: u32) -> flow::Statistics;
    fn totals(&self, host: HostId, side: Side, slot: u32) -> Totals {
        Totals::of(|record| match side {
            Side::Receiving => self.record_receiver(host, slot, record),
            Side::Sending => {
                self.record_sender(host, slot, record);
                0
            }
        })
    }
    fn record_sender(&self, host: HostId, slot: u32, record: &mut FlowRecord);
    /// Writes the receive stream in `slot` into its flow's record. Returns its whole packets.
    fn record_receiver(&self, host: HostId, slot: u32, record: &mut FlowRecord) -> u64;
    fn latencies(&self, host: HostId, slot: u32, latencies: &mut Vec<PacketLatency>);
    fn read(&self, host: HostId, slot: u32, side: Side, readings: &mut Readings<'_>);
    fn prefetch_side(&self, host: HostId, slot: u32);
    /// Forgets the stream in `slot`: the slot may be assigned again.
    fn forget(&mut self, host: HostId, slot: u32);
    fn set_paths(&mut self, core: &mut Core, host: HostId, now: Time, new: (Key, PathList));
}
