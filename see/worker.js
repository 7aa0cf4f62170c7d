// Runs a scenario, one column after the other, and prepares each timeline for drawing. Messages in: the compiled simulator and
// a text. Messages out: a column each.
"use strict";

const FILES = ["error", "names", "flows", "summary", "ports", "pauses", "timeline"];

// Kinds of packets that look different. Others look like an ACK.
const KINDS = { data: 0, header: 2, returned: 3, nack: 5, pull: 6, pause: 7, cnp: 8 };
const MARKED = 1;
const ACK = 4;

onmessage = async ({ data: { module, text } }) => {
  for (let place = 0, runs = 1; place < runs; place++) {
    let parts;
    try {
      parts = await run(module, text, place);
    } catch (stopped) {
      parts = { error: `the simulator stopped: ${stopped.message}`, names: "" };
    }
    const { error, names } = parts;
    if (error) {
      postMessage({ error });
      return;
    }
    const all = names.split("\n");
    runs = Math.min(all.length, 8);
    const { flows, summary, ports, pauses, timeline } = parts;
    const view = viewOf(rows(timeline));
    postMessage({ place, runs, name: all[place], flows, summary, ports, pauses, view });
  }
};

async function run(module, text, place) {
  const { memory, allocate, run } = (await WebAssembly.instantiate(module)).exports;
  const bytes = new TextEncoder().encode(text);
  const at = allocate(bytes.length);
  new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
  // Memory that grows has a new buffer.
  const parts = run(at, bytes.length, place);
  const table = new Uint32Array(memory.buffer, parts, 2 * FILES.length);
  const part = (index) => new Uint8Array(memory.buffer, table[2 * index], table[2 * index + 1]);
  return Object.fromEntries(FILES.map((name, index) => [name, new TextDecoder().decode(part(index))]));
}

// Rows of timeline.csv. No field of it is quoted, as names of workloads have no commas.
function rows(csv) {
  const lines = csv.split("\n").slice(1, -1);
  return lines.map((line) => {
    const [time, until, place, event, packet, , , source, destination, sequence, attempt, , , queue] = line.split(",");
    return {
      time: time / 1e6, until: until / 1e6, place, event, packet, source: +source, destination: +destination,
      identity: `${source} ${sequence} ${attempt}`, queue: queue === "" ? null : +queue,
    };
  });
}

// The number in the name of a host, or of the port to it; or null.
const hostOf = (place) => /^host \d+$/.test(place) ? +place.slice(5) : null;
const portTo = (place) => /^tor 0 down \d+$/.test(place) ? +place.slice(11) : null;

// What is drawn of a star: flights between hosts and switch, the queues of the port with most data, and what happened there.
// Times are in us.
function viewOf(events) {
  const departures = new Map();
  const sources = new Set();
  const hosts = new Set();
  for (const { place, event, packet, source } of events) {
    if (event === "depart" && packet === "data" && portTo(place) !== null) {
      departures.set(place, (departures.get(place) ?? 0) + 1);
    }
    if (hostOf(place) !== null) hosts.add(hostOf(place));
    if (packet === "data") sources.add(source);
  }
  const port = [...departures].reduce((most, each) => each[1] > most[1] ? each : most, ["", 0])[0];
  const delay = delayOf(events);
  const view = {
    receiver: portTo(port), hosts: [...hosts].sort((a, b) => a - b).filter((host) => host !== portTo(port)),
    flights: [], queues: { data: [], header: [] }, happened: [], pauses: {}, end: 0,
  };
  const marked = new Set();
  // By queue: when the last bit of the packet on the wire has left. Between events a queue changes only then.
  const leaves = { data: Infinity, header: Infinity };
  const leave = (kind) => {
    const points = view.queues[kind];
    points.push([leaves[kind], points.at(-1)[1] - 1]);
    leaves[kind] = Infinity;
  };
  for (const { time, until, place, event, packet, source, identity, queue } of events) {
    view.end = Math.max(view.end, time);
    if (event === "mark") marked.add(`${place} ${identity}`);
    if (event === "depart" && (hostOf(place) ?? portTo(place)) !== null) {
      const isMarked = packet === "data" && marked.delete(`${place} ${identity}`);
      const kind = isMarked ? MARKED : KINDS[packet] ?? ACK;
      view.flights.push({ from: time, to: until + delay, host: hostOf(place) ?? portTo(place), isUp: hostOf(place) !== null, kind });
    }
    if (event === "arrive" && packet === "pause") (view.pauses[hostOf(place)] ??= []).push(time);
    if (place !== port) continue;
    if (["drop", "trim", "mark", "return"].includes(event)) view.happened.push({ time, event, host: source });
    const points = view.queues[packet];
    if (!points || queue === null) continue;
    if (leaves[packet] < time) leave(packet);
    if (event === "depart") leaves[packet] = until;
    points.push([time, queue]);
  }
  for (const kind of ["data", "header"]) {
    if (leaves[kind] < Infinity) leave(kind);
  }
  view.longest = view.flights.reduce((longest, { from, to }) => Math.max(longest, to - from), 0);
  return view;
}

// Propagation delay: the first arrival at a host after the first departure to it.
function delayOf(events) {
  const until = new Map();
  for (const event of events) {
    const host = hostOf(event.place);
    const to = portTo(event.place);
    if (event.event === "depart" && to !== null && !until.has(to)) until.set(to, event.until);
    if (event.event === "arrive" && until.has(host)) return event.time - until.get(host);
  }
  return 0;
}
