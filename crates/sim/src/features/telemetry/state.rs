//! Telemetry that ports write into packets.

use trimline_packet::{BitRate, Handle, Hop, Kind, Packets, Time};

use crate::arena::Arena;
use crate::table::Shared;

/// By port: bytes that it has sent.
pub(crate) struct SentBytes(Shared<u64>);

impl SentBytes {
    pub(crate) fn new(ports: u32) -> SentBytes {
        SentBytes(vec![0; ports as usize].into())
    }

    /// Returns another view of these counts.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> SentBytes {
        // SAFETY: promised by the caller.
        SentBytes(unsafe { self.0.view() })
    }

    /// Writes into a data packet that a port begins to send. The port's queues hold `held` bytes, the packet included. The
    /// packet itself counts neither as waiting nor as sent, as in HPCC's simulator (switch-node.cc).
    pub(crate) fn write(
        &mut self,
        arena: &mut Arena,
        handle: Handle,
        (port, rate): (u32, BitRate),
        at: Time,
        held: u32,
    ) {
        let packet = arena.packet(handle);
        let bytes = packet.wire_bytes;
        let is_data = packet.header.kind == Kind::Data && packet.service.service().is_whole();
        let sent = &mut self.0[port as usize];
        if is_data {
            let queue_bytes = held.saturating_sub(bytes.into());
            arena.push_hop(handle, Hop { port, queue_bytes, sent_bytes: *sent, at, rate });
        }
        *sent += u64::from(bytes);
    }
}
