//! `trimline trace`: the history of a flow, as a capture for Wireshark, a trace for Perfetto, and a table.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use trimline_metrics::capture::{Capture, Frames};
use trimline_metrics::fct_breakdown::{self, Part};
use trimline_metrics::{FlowRecord, RunRecord, Timeline, capture, perfetto};
use trimline_packet::Packet;
use trimline_sim::plan::{EngineChoice, Plan, Watch, Workload};
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::Transports;

use crate::execute::{Done, catch_interrupts, interrupted, is_stopped};
use crate::failure::Failure;
use crate::import::FlowFormat;
use crate::output_lock::{self, OutputLock};
use crate::results::write_run;
use crate::scenario_file::{default_folder, read_scenario};
use crate::terminal::{columns, print};

/// Options of a trace.
#[derive(Debug)]
pub(crate) struct Options {
    /// Row of flows.csv, from 0; `None`: the flows of the scenario's `output.timeline`.
    pub(crate) flow: Option<usize>,
    /// Name of the run; default: the first.
    pub(crate) run: Option<String>,
    pub(crate) out: Option<PathBuf>,
}

/// Performs one run of a scenario, twice if a flow must be found first, and writes its result with trace.pcapng and
/// trace.json.
pub(crate) fn trace(
    path: &Path,
    format: Option<FlowFormat>,
    settings: &[String],
    options: &Options,
    transports: &Transports,
) -> Result<ExitCode, Failure> {
    let mut scenario = read_scenario(path, format, settings, transports)?;
    let place = place_of(&scenario, options.run.as_deref())?;
    let out = options.out.clone().unwrap_or_else(|| default_folder(path, "trace"));
    let lock = OutputLock::take(&out)?;
    lock.survey(&scenario, settings, &[(out.clone(), &scenario.runs[place])])?;
    catch_interrupts()?;
    let plan = &mut scenario.runs[place].plan;
    let mut only: Option<FlowRecord> = None;
    if let Some(row) = options.flow {
        only = Some(chosen(plan, row)?);
    }
    let Some(watch) = &mut plan.timeline else {
        return Err(Failure::message(
            "nothing to trace: expected --flow N, or `output.timeline` in the scenario",
        ));
    };
    watch.keep_packets = true;
    plan.engine = EngineChoice::Heap;
    let start = Instant::now();
    let mut record = perform(plan)?;
    if is_stopped() {
        eprintln!("stopped: nothing was written");
        return Ok(interrupted());
    }
    let mut apart = None;
    if let Some(flow) = &only {
        keep(&mut record, flow);
        apart = fct_breakdown::parts(&record.timeline, flow);
        if apart.is_none() && flow.fct_receiver_ps.is_some() {
            eprintln!(
                "note: no parts.csv: the timeline does not tell which transmission of its last packet arrived"
            );
        }
    }
    let captured = captured(&record.timeline, &scenario.runs[place].plan);
    if captured.left_out > 0 {
        eprintln!(
            "{} packets are not in the capture: the wire format has no such packet",
            captured.left_out
        );
    }
    let events = record.timeline.events.len();
    let json = perfetto::trace(&record.timeline);
    // A mistake in the command, or a stop, leaves earlier results.
    let removed = lock.clear(&scenario, settings, &[(out.clone(), &scenario.runs[place])])?;
    if let Some(described) = output_lock::describe_removed(&out, &removed) {
        eprintln!("note: {described}");
    }
    scenario.runs[place].output.timeline = true;
    let run = &scenario.runs[place];
    let done = Done { record, wall: start.elapsed(), threads: 1 };
    write_run(&out, &scenario, settings, run, &done, &[("trace.json", json)])?;
    write_capture(&out, &captured.bytes, apart.as_deref())?;
    if let Some(parts) = &apart {
        print(&describe_parts(parts))?;
    }
    print(&format!(
        "{events} events, {} packets\n\
         {}   for Wireshark (NDP with tools/wireshark/ndp.lua)\n\
         {}     for ui.perfetto.dev\n\
         {}   as a table; `trimline report {}` draws it\n",
        captured.packets,
        out.join("trace.pcapng").display(),
        out.join("trace.json").display(),
        out.join("timeline.csv").display(),
        out.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Finds the flow of a row of flows.csv, and makes the plan watch it.
fn chosen(plan: &mut Plan, row: usize) -> Result<FlowRecord, Failure> {
    plan.timeline = None;
    let record = perform(plan)?;
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
fn write_capture(out: &Path, capture: &[u8], apart: Option<&[Part]>) -> Result<(), Failure> {
    let write = |name: &str, bytes: &[u8]| {
        let file = out.join(name);
        trimline_metrics::result_folder::write_file(&file, bytes)
            .map_err(|error| Failure::io(&file, &error))
    };
    write("trace.pcapng", capture)?;
    apart.map_or(Ok(()), |parts| write("parts.csv", &fct_breakdown::csv(parts)))
}

/// A completion time and its parts, for a terminal.
fn describe_parts(parts: &[Part]) -> String {
    let us = |ps: u64| format!("{:.3} us", ps as f64 / 1e6);
    let all = parts.iter().map(|part| part.ps).sum();
    let mut rows = vec![vec!["completion time".to_owned(), us(all)]];
    rows.extend(parts.iter().map(|part| vec![format!("  {}", part.name), us(part.ps)]));
    columns(&rows)
}

fn place_of(scenario: &Scenario, name: Option<&str>) -> Result<usize, Failure> {
    let Some(name) = name else { return Ok(0) };
    scenario.runs.iter().position(|run| run.name == name).ok_or_else(|| {
        let names: Vec<&str> = scenario.runs.iter().take(8).map(|run| run.name.as_str()).collect();
        Failure::message(format!("no run `{name}`; there are {}", names.join(", ")))
    })
}

fn perform(plan: &Plan) -> Result<RunRecord, Failure> {
    trimline_sim::run(plan, &mut |_| {
        if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| Failure::message(error.to_string()))
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
