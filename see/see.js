// The page: settings become a scenario, a worker runs it, and what it sends back is drawn.
"use strict";

const byId = (id) => document.getElementById(id);

// Settings: name in the address, label, range, default, unit, what it means. Rates are a list.
const SETTINGS = [
  ["senders", "Senders", 2, 64, 16, "", "hosts that send to one"],
  ["size", "Size of a flow", 1, 1000, 90, "KB", "one flow a sender"],
  ["queue", "Queue", 4, 100, 8, "pkt", "data at a port; pause: XOFF of an input"],
  ["window", "Window", 1, 100, 10, "pkt", "sent at first; pause: in flight"],
  ["rate", "Rate", [10, 25, 40, 100, 400], null, 10, "Gb/s", "of every link; 1 us of delay"],
  ["mark", "Mark above", 1, 100, 4, "pkt", "mark: threshold of the queue"],
  ["headers", "Header queue", 1, 200, 16, "", "return: headers that fit"],
];

const PAYLOAD_KB = 9;

// Packets of a column above which the page says that it takes long.
const MANY_PACKETS = 1500;

// A column: what the switch does, and the keys of its series.
const COLUMNS = {
  drop: {
    about: "The switch drops a packet that finds no place. TCP resends it after duplicate ACKs or a time-out (5 ms or more).",
    keys: (s) => [TCP("tcp", s), `switch = { profile = "drop-tail", data_queue = "${s.queue}pkt" }`],
  },
  mark: {
    about: "The switch marks packets that find a queue above the threshold. DCTCP senders slow down by the share of marks.",
    keys: (s) => [
      TCP("dctcp", s),
      `switch = { profile = "ecn", data_queue = "${s.queue}pkt", ecn_threshold = "${Math.min(s.mark, s.queue)}pkt" }`,
    ],
  },
  trim: {
    about: "The switch cuts the payload off. The header goes on at once, and NDP's receiver asks for the data again.",
    keys: (s) => [NDP(s), `switch = { profile = "paper", data_queue = "${s.queue}pkt" }`],
  },
  pause: {
    about: "The switch stops a sender (PFC) while its input holds more than the queue, and drops nothing. DCQCN slows down by marks.",
    keys: (s) => [
      `transport.dcqcn = { window = "${s.window * PAYLOAD_KB}KB" }`,
      `switch = { profile = "ecn", pfc.xoff = "${s.queue}pkt" }`,
    ],
  },
  return: {
    about: "As trim, with little room for headers: those that find no place go back to their senders.",
    keys: (s) => [
      NDP(s),
      `switch = { profile = "paper", data_queue = "${s.queue}pkt", header_queue = "${s.headers * 64}B" }`,
    ],
  },
};

const TCP = (name, { window }) =>
  `transport.${name} = { timers = "datacenter", handshake = "standing", ack_every = 1, initial_window = ${window} }`;
const NDP = ({ window }) => `transport.ndp = { initial_window = ${window} }`;

function scenarioOf(settings) {
  const { senders, size, rate } = settings;
  const quoted = (name) => Array.from({ length: senders + 1 }, (_, host) => `"${name} ${host}"`).join(", ");
  const series = Object.entries(COLUMNS).map(
    ([name, { keys }]) => `[[series]]\nname = "${name}"\n${keys(settings).join("\n")}\n`,
  );
  return `# ${senders} hosts of a star send ${size} KB each to host 0 at the same instant.
name = "see"
topology.star.hosts = ${senders + 1}
links = { rate = "${rate}Gbps", delay = "1us" }
payload = "${PAYLOAD_KB}KB"

[[workload]]
name = "incast"
incast = { receiver = 0, senders = ${senders} }
size = "${size}KB"

[output]
ports = true

[output.timeline]
places = [
    ${quoted("tor 0 down")},
    ${quoted("host")},
]

${series.join("\n")}`;
}

// ---- The page's state: settings, or a text of the user's; the time; what charts show. It is in the address.

const state = { settings: {}, text: null, time: 0, speed: 50, shown: 0 };
let columns = [];
let isPlaying = false;

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  for (const [name, , from, to, usual] of SETTINGS) {
    const given = Number(address.get(name) ?? usual);
    const known = to === null ? from.includes(given) : Number.isInteger(given) && given >= from && given <= to;
    state.settings[name] = known ? given : usual;
  }
  state.text = address.get("toml");
  state.time = Math.max(0, Number(address.get("time"))) || 0;
  state.shown = Math.max(0, Number(address.get("shown"))) || 0;
  state.speed = SPEEDS.includes(Number(address.get("speed"))) ? Number(address.get("speed")) : 50;
  return address.has("time");
}

function writeAddress() {
  const address = new URLSearchParams();
  if (state.text !== null) address.set("toml", state.text);
  else for (const [name] of SETTINGS) address.set(name, state.settings[name]);
  if (state.speed !== 50) address.set("speed", state.speed);
  if (state.shown) address.set("shown", state.shown);
  if (!isPlaying && state.time > 0) address.set("time", Number(state.time.toFixed(3)));
  history.replaceState(null, "", `#${address}`);
}

const SPEEDS = [5, 20, 50, 100, 200, 500, 1000];
const SHARES = [0, 1, 2, 5, 10, 20, 50, 100];

function makeControls() {
  const form = byId("settings");
  for (const [name, label, from, to, , unit, means] of SETTINGS) {
    const field = document.createElement("label");
    const input = to === null
      ? `<select id="${name}">${from.map((each) => `<option value="${each}">${each} ${unit}</option>`).join("")}</select>`
      : `<input id="${name}" type="range" min="${from}" max="${to}" aria-describedby="means-${name}">`;
    const value = to === null ? "" : `<output id="value-${name}" for="${name}"></output>`;
    field.innerHTML = `<span>${label} ${value}</span>${input}<small id="means-${name}">${means}</small>`;
    form.append(field);
    byId(name).addEventListener("input", () => {
      state.settings[name] = Number(byId(name).value);
      state.text = null;
      state.time = 0;
      settled();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("speed").innerHTML = SPEEDS.map((speed) => `<option value="${speed}">${speed} us/s</option>`).join("");
  byId("shown").innerHTML = SHARES.map((share) => `<option value="${share}">${share ? `${share} %` : "fitting"}</option>`).join("");
  byId("speed").addEventListener("input", () => { state.speed = Number(byId("speed").value); writeAddress(); });
  byId("shown").addEventListener("input", () => { state.shown = Number(byId("shown").value); writeAddress(); draw(); });
  byId("time").addEventListener("input", () => { play(false); state.time = Number(byId("time").value); writeAddress(); draw(); });
  byId("play").addEventListener("click", () => play(!isPlaying));
  byId("copy-toml").addEventListener("click", () => copy(byId("text").value, "the scenario"));
  byId("run-text").addEventListener("click", () => { state.text = byId("text").value; state.time = 0; start(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === " " && event.target === document.body) { event.preventDefault(); play(!isPlaying); }
  });
}

function showSettings() {
  for (const [name, , , to, , unit] of SETTINGS) {
    byId(name).value = state.settings[name];
    if (to !== null) byId(`value-${name}`).textContent = `${state.settings[name]} ${unit}`;
  }
  byId("speed").value = state.speed;
  byId("shown").value = SHARES.includes(state.shown) ? state.shown : 0;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}`);
  } catch {
    say(`This browser lets no page copy: select ${what} by hand`);
  }
}

function say(text) {
  byId("said").textContent = text;
  setTimeout(() => { byId("said").textContent = ""; }, 2500);
}

// ---- Runs

let simulator = null;
let worker = null;
let waiting = null;

async function compile() {
  const packed = Uint8Array.from(atob(byId("simulator").textContent), (letter) => letter.charCodeAt(0));
  const bytes = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  simulator = await WebAssembly.compile(await bytes.arrayBuffer());
}

// Settings change many times while a slider moves: the last ones run.
function settled() {
  showSettings();
  clearTimeout(waiting);
  waiting = setTimeout(start, 120);
}

function start() {
  worker?.terminate();
  worker = new Worker(URL.createObjectURL(new Blob([byId("worker").textContent])));
  const text = state.text ?? scenarioOf(state.settings);
  byId("text").value = text;
  byId("error").hidden = true;
  document.body.dataset.state = "running";
  const { senders, size } = state.settings;
  const packets = state.text === null ? senders * Math.ceil(size / PAYLOAD_KB) : 0;
  const about = packets > MANY_PACKETS ? `, of ${packets.toLocaleString("en")} packets each: this takes seconds` : "";
  const tell = (done, all) => { byId("running").textContent = `${done} of ${all} runs${about}`; };
  tell(0, Object.keys(COLUMNS).length);
  const arrived = [];
  worker.onmessage = ({ data }) => {
    if (data.error) {
      byId("running").textContent = "";
      byId("error").textContent = data.error;
      byId("error").hidden = false;
      document.body.dataset.state = "error";
      return;
    }
    arrived.push(data);
    tell(arrived.length, data.runs);
    if (arrived.length === data.runs) showColumns(arrived);
  };
  worker.postMessage({ module: simulator, text });
  writeAddress();
}

const table = (csv) => {
  const [names, ...lines] = csv.trim().split("\n").map((line) => line.split(","));
  return lines.map((line) => Object.fromEntries(names.map((name, place) => [name, line[place]])));
};
const sum = (rows, name) => rows.reduce((total, row) => total + Number(row[name]), 0);

function showColumns(arrived) {
  byId("running").textContent = "";
  columns = arrived.map((result, place) => {
    const flows = table(result.flows).map((flow) => ({
      source: flow.source,
      fct: flow.fct_receiver_ps === "" ? null : flow.fct_receiver_ps / 1e6,
      resent: ["signalled", "return", "timeout"].reduce((total, cause) => total + Number(flow[`retransmissions_${cause}`]), 0),
      timeouts: Number(flow.timeouts),
    }));
    const ports = table(result.ports);
    const counts = {
      dropped: sum(ports, "dropped"), marked: sum(ports, "marked"), trimmed: sum(ports, "trimmed"),
      returned: sum(ports, "returned"), "pause frames": result.pauses ? sum(table(result.pauses), "sent") : 0,
      resent: sum(flows, "resent"), "time-outs": sum(flows, "timeouts"),
    };
    return { ...result, csv: result.flows, place, flows, counts, fct: JSON.parse(result.summary).fct_receiver_us };
  });
  byId("columns").replaceChildren(...columns.map(columnElement));
  byId("time").max = Math.ceil(end());
  byId("time").step = Math.max(0.1, end() / 2000);
  state.time = Math.min(state.time, end());
  document.body.dataset.state = "done";
  draw();
}

const end = () => Math.max(0, ...columns.map(({ view }) => view.end));
const us = (value) => value === null ? "" : value >= 10000
  ? `${(value / 1000).toLocaleString("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 })} ms`
  : `${value.toLocaleString("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 })} us`;

function columnElement(column) {
  const name = column.name.replace(/\/?seed-1$/, "") || "run";
  const element = document.createElement("article");
  const { fct, counts, flows } = column;
  const row = ([label, value]) => `<tr class="${value ? "" : "zero"}"><th scope="row">${label}</th><td>${value}</td></tr>`;
  const times = [["p50", fct?.p50], ["p99", fct?.p99], ["max", fct?.max]];
  const sorted = [...flows].sort((a, b) => (a.fct ?? Infinity) - (b.fct ?? Infinity));
  element.innerHTML = `<h2><span></span><canvas class="line"></canvas></h2>
    <p class="scheme">${state.text === null ? COLUMNS[name].about : ""}</p>
    <canvas class="network" role="img"></canvas>
    <h3>Queue at the receiver's port</h3><canvas class="queue" role="img"></canvas>
    <h3>Flow completion times</h3>
    <table>${times.map(([label, value]) => row([label, value === undefined ? "none" : us(value)])).join("")}</table>
    <details><summary>Each flow</summary><div><table><tr><th>sender</th><th class="number">time</th><th class="number">resent</th></tr>
    ${sorted.map((flow) => `<tr><th scope="row">host ${flow.source}</th><td>${flow.fct === null ? "not finished" : us(flow.fct)}</td>
      <td>${flow.resent}</td></tr>`).join("")}</table></div></details>
    <h3>Packets</h3>
    <table>${Object.entries(counts).map(row).join("")}</table>
    <p><button type="button">Copy as CSV</button></p>`;
  element.querySelector("h2 span").textContent = name[0].toUpperCase() + name.slice(1);
  element.querySelector("button").addEventListener("click", () => copy(column.csv, `flows.csv of ${name}`));
  column.title = name;
  column.network = element.querySelector(".network");
  column.queue = element.querySelector(".queue");
  column.line = element.querySelector(".line");
  column.network.setAttribute("aria-label", `${name}: packets between hosts and switch`);
  const most = Math.max(0, ...column.view.queues.data.map(([, packets]) => packets));
  column.queue.setAttribute("aria-label", `${name}: queue over time, at most ${most} data packets`);
  return element;
}

// ---- Playback

let before = null;

function play(plays) {
  isPlaying = plays && columns.length > 0;
  if (isPlaying && state.time >= end()) state.time = 0;
  byId("play").textContent = isPlaying ? "Pause" : "Play";
  before = null;
  writeAddress();
  if (isPlaying) requestAnimationFrame(step);
}

function step(now) {
  if (!isPlaying) return;
  const seconds = before === null ? 0 : Math.min(0.1, (now - before) / 1000);
  before = now;
  state.time = Math.min(end(), movesFrom(state.time) + seconds * state.speed);
  if (state.time >= end()) play(false);
  draw();
  requestAnimationFrame(step);
}

// The time itself, or, if no packet moves in any column, when the next one does.
function movesFrom(time) {
  const next = columns.map(({ view }) => {
    if (flying(view, time).next().value) return time;
    return view.flights[firstAfter(view.flights, time, ({ from }) => from)]?.from ?? Infinity;
  });
  const earliest = Math.min(...next);
  return earliest === Infinity ? end() : earliest;
}

function draw() {
  byId("time").value = state.time;
  byId("now").textContent = `${us(state.time)} of ${us(end())}`;
  const span = shownSpan();
  for (const column of columns) {
    drawNetwork(column, state.time, state.speed);
    drawQueue(column, state.time, span, limitsOf(column));
    drawLine(column.line, column.place);
  }
  if (columns.length) drawDistribution(byId("distribution"), columns);
}

// What charts show: [from, to] in us. It moves with the time.
function shownSpan() {
  const ends = columns.map(({ view }) => view.end).sort((a, b) => a - b);
  const fitting = Math.min(end(), 2 * (ends[Math.floor(ends.length / 2)] ?? 1));
  const width = state.shown ? (end() * state.shown) / 100 : fitting;
  const from = Math.min(Math.max(0, state.time - 0.8 * width), Math.max(0, end() - width));
  return [from, from + Math.max(width, 1)];
}

// Lines of the queue's chart: capacity and marking threshold, in packets.
function limitsOf({ title }) {
  const { queue, mark } = state.settings;
  if (state.text !== null || title === "pause") return [];
  return title === "mark" ? [["capacity", queue], ["threshold", Math.min(mark, queue)]] : [["capacity", queue]];
}

// ---- Begin

function load() {
  const isStill = readAddress();
  showSettings();
  play(false);
  start();
  return isStill;
}

addEventListener("hashchange", load);
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours.clear();
  drawLegend(byId("legend"));
  draw();
});
makeControls();
drawLegend(byId("legend"));
compile().then(() => {
  const isStill = load();
  if (isStill || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const watch = setInterval(() => {
    if (document.body.dataset.state === "running") return;
    clearInterval(watch);
    play(true);
  }, 50);
});
