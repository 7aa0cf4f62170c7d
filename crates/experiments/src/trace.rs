//! The history of a flow, as a capture for Wireshark, a trace for Perfetto, and a table.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use trimline_metrics::capture::{Capture, Frames};
use trimline_metrics::fct_breakdown::{self, Component};
use trimline_metrics::{FlowRecord, RunRecord, Timeline, capture, perfetto};
use trimline_packet::Packet;
use trimline_sim::plan::{EngineChoice, Plan, Watch, Workload};
use trimline_sim::scenario::Scenario;

use crate::execute::Done;
use crate::failure::Failure;
use crate::notice::notice;
use crate::output_lock::{self, OutputLock};
use crate::progress::RunsBar;
use crate::results::write_run;

/// A written trace.
#[derive(Debug)]
pub struct Traced {
    /// The components of the flow's completion time, if its timeline tells them.
    pub components: Option<Vec<Component>>,
    /// Number of events of the timeline.
    pub events: usize,
    /// Number of packets of the capture.
    pub packets: u64,
}

/// Makes the run of this name, default the first, and writes its result into `out` with trace.pcapng and trace.json.
/// `flow` is a row of flows.csv, from 0, which takes another run to find; default: the flows of the scenario's
/// `output.timeline`. Returns `None` if `stop` ended a run; nothing is written then.
///
/// # Errors
/// Returns an error for an unknown run or flow, for nothing to trace, and for a folder that belongs to another command or
/// holds something else.
pub fn trace(
    mut scenario: Scenario,
    settings: &[String],
    out: &Path,
    run: Option<&str>,
    flow: Option<usize>,
    stop: &AtomicBool,
) -> Result<Option<Traced>, Failure> {
    let place = place_of(&scenario, run)?;
    let lock = OutputLock::acquire(out)?;
    lock.survey(&scenario, settings, &[(out.to_owned(), &scenario.runs[place])])?;
    let plan = &mut scenario.runs[place].plan;
    // A run finds the flow, a second one follows it.
    let bar = RunsBar::new(1 + usize::from(flow.is_some()), false);
    let mut only: Option<FlowRecord> = None;
    if let Some(row) = flow {
        only = Some(chosen(plan, row, &bar, stop)?);
    }
    let Some(watch) = &mut plan.timeline else {
        return Err(Failure::message(
            "nothing to trace: expected --flow N, or `output.timeline` in the scenario",
        ));
    };
    watch.keep_packets = true;
    plan.engine = EngineChoice::Heap;
    let start = Instant::now();
    let mut record = perform(plan, &bar, stop)?;
    drop(bar);
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut components = None;
    if let Some(flow) = &only {
        keep(&mut record, flow);
        components = fct_breakdown::components(&record.timeline, flow);
        if components.is_none() && flow.fct_receiver_ps.is_some() {
            notice(
                "note: no fct_components.csv: the timeline does not show which transmission of its last packet arrived",
            );
        }
    }
    let captured = captured(&record.timeline, &scenario.runs[place].plan);
    if captured.left_out > 0 {
        notice(&format!(
            "note: {} packets are not in the capture: the wire format has no such packets",
            captured.left_out
        ));
    }
    let events = record.timeline.events.len();
    let json = perfetto::trace(&record.timeline);
    // A mistake in the command, or a stop, leaves earlier results.
    let removed = lock.clear(&scenario, settings, &[(out.to_owned(), &scenario.runs[place])])?;
    if let Some(described) = output_lock::describe_removed(out, &removed) {
        notice(&format!("note: {described}"));
    }
    scenario.runs[place].output.timeline = true;
    let run = &scenario.runs[place];
    let done = Done { record, wall: start.elapsed(), threads: 1 };
    write_run(out, &scenario, settings, run, &done, &[("trace.json", json)])?;
    write_capture(out, &captured.bytes, components.as_deref())?;
    Ok(Some(Traced { components, events, packets: captured.packets }))
}

/// Finds the flow of a row of flows.csv, and makes the plan watch it.
fn chosen(
    plan: &mut Plan,
    row: usize,
    bar: &RunsBar,
    stop: &AtomicBool,
) -> Result<FlowRecord, Failure> {
    plan.timeline = None;
    let record = perform(plan, bar, stop)?;
    let Some(flow) = record.flows.get(row) else {
        return Err(Failure::message(format!(
            "no flow {row}; expected a row of the run's flows.csv, from 0 to {}",
            record.flows.len().saturating_sub(1)
        )));
    };
    plan.timeline = Some(Watch {
        places: Vec::new(),
        flows: vec![(flow.source, flow.destination)],
        from: trimline_packet::TimeDelta::ZERO,
        to: None,
        keep_packets: true,
    });
    Ok(flow)
}

/// The packets of a timeline, framed by each workload's transport.
fn captured(timeline: &Timeline, plan: &Plan) -> Capture {
    let of = |(number, workload): (u32, &Workload)| -> Box<dyn Frames> {
        let events = timeline.events.iter().zip(&timeline.packets);
        let own = events.filter(|(event, _)| event.flow.workload == number);
        let packets: Vec<Packet> = own.map(|(_, packet)| *packet).collect();
        plan.transport_of(workload).frames(&packets).unwrap_or_else(|| Box::new(capture::Own))
    };
    let mut frames: Vec<Box<dyn Frames>> = (0..).zip(&plan.workloads).map(of).collect();
    capture::pcapng(timeline, &mut frames)
}

/// Writes the files that only a trace has.
fn write_capture(
    out: &Path,
    capture: &[u8],
    components: Option<&[Component]>,
) -> Result<(), Failure> {
    let write = |name: &str, bytes: &[u8]| {
        let file = out.join(name);
        trimline_metrics::result_folder::write_file(&file, bytes)
            .map_err(|error| Failure::io(&file, &error))
    };
    write("trace.pcapng", capture)?;
    components
        .map_or(Ok(()), |components| write("fct_components.csv", &fct_breakdown::csv(components)))
}

fn place_of(scenario: &Scenario, name: Option<&str>) -> Result<usize, Failure> {
    let Some(name) = name else { return Ok(0) };
    scenario.runs.iter().position(|run| run.name == name).ok_or_else(|| {
        let names: Vec<&str> = scenario.runs.iter().take(8).map(|run| run.name.as_str()).collect();
        Failure::message(format!("no run `{name}`; there are {}", names.join(", ")))
    })
}

fn perform(plan: &Plan, bar: &RunsBar, stop: &AtomicBool) -> Result<RunRecord, Failure> {
    let mut seen = bar.begin();
    let record = trimline_sim::run(plan, &mut |progress| {
        bar.show("trace", &progress, &mut seen);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .map_err(|error| Failure::message(error.to_string()))?;
    bar.end(&seen);
    Ok(record)
}

/// Removes all other flows between the two hosts of a flow.
fn keep(record: &mut RunRecord, flow: &FlowRecord) {
    let timeline = &mut record.timeline;
    let workload = timeline.workloads.iter().position(|name| *name == flow.workload);
    let cached: Vec<usize> = (0..timeline.events.len())
        .filter(|&place| {
            let name = timeline.events[place].flow;
            Some(name.workload as usize) == workload
                && (name.index, name.source, name.destination)
                    == (flow.index, flow.source, flow.destination)
        })
        .collect();
    timeline.events = cached.iter().map(|&place| timeline.events[place]).collect();
    timeline.packets =
        cached.iter().filter_map(|&place| timeline.packets.get(place)).copied().collect();
}
