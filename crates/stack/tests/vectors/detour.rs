//! The shared vectors of detours on frames: the software switch sends a packet's bytes by the same port.

use std::path::Path;

use trimline_packet::wire::{Lengths, Profile};
use trimline_packet::{Packet, Packets, Time};
use trimline_stack::switch::{Detour, DetourState, Frames, LocalPorts};
use trimline_switch::detour::{Counts, DetourModel};
use trimline_switch::{
    Choices, DropList, OutputPort, Pool, Port, PortContext, QueueView, ServiceModel,
};

use super::detours::{Arriving, Config, Device, PORTS, ScriptedDraws, packet_of, read_all};

/// The TTL that hosts send with here: more switches than any vector counts.
const INITIAL_TTL: u8 = 200;

/// Offset of IPv4's TTL.
const TTL: usize = 14 + 8;

struct Switch<'a> {
    config: &'a Config,
    /// The count that the limit bounds; the other one would allow no detour, or all.
    counts: Counts,
    detour_state: DetourState,
    ports: [Port<1>; PORTS],
    detoured: [u64; PORTS],
    frames: Frames,
    draws: ScriptedDraws,
}

/// The switch's ports, for a frame.
struct Seen<'a>(&'a Config, &'a [Port<1>; PORTS], Packet);

fn model() -> ServiceModel {
    Choices::drop_tail(1000).build().unwrap()
}

impl LocalPorts for Seen<'_> {
    fn count(&self) -> u16 {
        PORTS as u16
    }
    fn packets_before(&mut self, port: u16) -> u32 {
        self.1[usize::from(port)].packets_before(&model(), &self.2)
    }
    fn has_room(&mut self, _port: u16) -> bool {
        true
    }
    /// Returns false for a link that routing knows to be dead.
    fn leads_to_switch(&self, port: u16) -> bool {
        self.0.to_switch[usize::from(port)] && !self.0.dead[usize::from(port)]
    }
    fn is_equally_near(&self, _port: u16) -> bool {
        false
    }
}

/// Writes the checksum of an IPv4 header without options.
pub(super) fn sign(header: &mut [u8]) {
    header[10..12].fill(0);
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    let folded = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

impl Switch<'_> {
    fn detours_before(&self, counted: u8) -> u8 {
        match self.counts {
            Counts::Detours => counted,
            Counts::Switches => 0,
        }
    }

    fn switches_before(&self, counted: u8) -> u8 {
        match self.counts {
            Counts::Detours => 100,
            Counts::Switches => counted,
        }
    }

    fn context<T>(
        &mut self,
        port: usize,
        act: impl FnOnce(&mut Port<1>, &mut PortContext<'_, ServiceModel, Frames, ScriptedDraws>) -> T,
    ) -> T {
        let (mut pool, mut drop_list, model) = (Pool::none(), DropList::new(), model());
        let mut context = PortContext {
            now: Time::ZERO,
            model: &model,
            packets: &mut self.frames,
            pool: &mut pool,
            rng: &mut self.draws,
            drop_list: &mut drop_list,
        };
        act(&mut self.ports[port], &mut context)
    }
}

impl Device for Switch<'_> {
    fn set_length(&mut self, port: usize, packets: u16) -> Result<(), String> {
        self.detour_state.set_register(port as u16, packets);
        Ok(())
    }

    fn lay_out(&mut self, places: &[u32], of: u32) {
        self.draws.lay_out(places, of);
    }

    fn arrive(&mut self, arriving: &Arriving) -> Result<usize, String> {
        let Arriving { input, own, switches, packet } = arriving;
        let mut bytes = super::frame(packet);
        // This switch has taken one away.
        bytes[TTL] = INITIAL_TTL - self.switches_before(*switches) - 1;
        sign(&mut bytes[14..34]);
        let handle = self.frames.insert(&bytes);
        let seen = *self.frames.packet(handle);
        self.frames.set_detours(handle, self.detours_before(*switches));
        let track = self.frames.track(handle).unwrap();
        let way = self.detour_state.way(
            (&seen, track),
            (*input as u16, *own as u16),
            &mut Seen(self.config, &self.ports, seen),
            &mut self.draws,
        );
        let way = usize::from(way);
        self.detoured[*own] += u64::from(way != *own);
        self.context(way, |port, context| port.enqueue(handle, context));
        self.draws.check_all_drawn().map(|()| way)
    }

    fn serve(&mut self, port: usize) -> Result<(), String> {
        if let Some(leaving) = self.context(port, |port, context| port.dequeue(context)) {
            let packet = *self.frames.packet(leaving);
            let held = self.ports[port].packets_before(&model(), &packet);
            self.detour_state.record_departure(port as u16, held, 0);
        }
        Ok(())
    }

    fn seen(&self, port: usize) -> Result<u64, String> {
        let any = packet_of("scheduled", (0, port), 0, 0)?;
        let ports = &mut Seen(self.config, &self.ports, any);
        Ok(self.detour_state.seen(port as u16, ports).into())
    }

    fn detoured(&self, port: usize) -> Result<u64, String> {
        Ok(self.detoured[port])
    }

    fn finish(mut self) -> Result<(), String> {
        self.draws.check_all_drawn()
    }
}

/// Runs all vectors; what they count are switches or detours.
fn check(counts: Counts) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let vectors = read_all(&root).unwrap();
    for vector in &vectors {
        let detour = Detour::new(DetourModel { counts, ..vector.model() }, INITIAL_TTL);
        let switch = Switch {
            config: &vector.config,
            counts,
            detour_state: DetourState::new(detour, PORTS),
            ports: [const { Port::new() }; PORTS],
            detoured: [0; PORTS],
            frames: Frames::new(Profile::PAPER, Lengths::Updated),
            draws: ScriptedDraws::default(),
        };
        switch.run(vector).unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(vectors.len() >= 20, "{} vectors", vectors.len());
}

#[test]
fn every_detour_vector_holds_for_frames() {
    check(Counts::Switches);
}

#[test]
fn every_detour_vector_holds_for_detours_that_frames_count() {
    check(Counts::Detours);
}
