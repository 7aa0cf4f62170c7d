// Drawings on canvases. Colours and fonts are those of the style sheet.
"use strict";

// How packets look, by kind: name, colour of the style sheet, width and height in pixels, shape.
const PACKETS = [
  ["data", "data", 9, 6, "box"],
  ["data with a mark", "marked", 9, 6, "box"],
  ["header (trimmed)", "header", 5, 5, "diamond"],
  ["header going back to its sender", "returned", 6, 6, "triangle"],
  ["ACK", "ack", 3, 3, "box"],
  ["NACK", "header", 4, 4, "ring"],
  ["PULL", "pull", 3, 3, "ring"],
  ["pause frame", "pause", 7, 7, "cross"],
  ["CNP", "marked", 4, 4, "ring"],
];

// Lines of columns in the chart of completion times: colour and dashes.
const LINES = [["header", []], ["marked", [6, 3]], ["data", []], ["ack", [2, 3]], ["returned", [8, 3, 2, 3]], ["pull", [1, 2]]];

const MARGIN = { left: 34, right: 8, top: 8, bottom: 30 };

// Colours of the style sheet, until the browser's theme changes.
const colours = new Map();

function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
}

// The context of a canvas as large as it is shown, cleared; with its size in CSS pixels.
function begin(canvas) {
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height };
}

// Index of the first item with a key above `time`, in a list sorted by it.
function firstAfter(list, time, key) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function* flying(view, time) {
  const { flights, longest } = view;
  for (let place = firstAfter(flights, time, ({ from }) => from) - 1; place >= 0; place--) {
    if (flights[place].from < time - longest) return;
    if (flights[place].to > time) yield flights[place];
  }
}

function queueAt(points, time) {
  return points[firstAfter(points, time, ([at]) => at) - 1]?.[1] ?? 0;
}

function drawPacket(context, kind, x, y) {
  const [, name, width, height, shape] = PACKETS[kind];
  context.fillStyle = context.strokeStyle = colour(name);
  context.lineWidth = 1.5;
  context.setLineDash([]);
  const [left, top] = [x - width / 2, y - height / 2];
  context.beginPath();
  if (shape === "box") {
    context.fillRect(left, top, width, height);
  } else if (shape === "ring") {
    context.arc(x, y, width / 2, 0, 7);
    context.stroke();
  } else if (shape === "cross") {
    context.strokeRect(left, top, width, height);
    context.moveTo(left, top);
    context.lineTo(left + width, top + height);
    context.stroke();
  } else {
    const corners = shape === "diamond"
      ? [[x, top - 1], [left + width + 1, y], [x, top + height + 1], [left - 1, y]]
      : [[left, y], [left + width, top], [left + width, top + height]];
    corners.forEach(([cornerX, cornerY]) => context.lineTo(cornerX, cornerY));
    context.fill();
  }
}

function drawLegend(list) {
  list.replaceChildren(...PACKETS.map(([name], kind) => {
    const item = document.createElement("li");
    const canvas = document.createElement("canvas");
    canvas.style.cssText = "width:14px;height:12px";
    item.append(canvas, name);
    requestAnimationFrame(() => drawPacket(begin(canvas).context, kind, 7, 6));
    return item;
  }));
}

// Hosts on the left, the switch with the queues of the receiver's port, the receiver on the right.
function drawNetwork({ network, view }, time, speed) {
  const { context, width, height } = begin(network);
  const [ink, dim, rule] = [colour("ink"), colour("dim"), colour("rule")];
  const left = Math.round(Math.max(width * 0.5, width - 130));
  const right = left + 52;
  const [top, bottom] = [height / 2 - 52, height / 2 + 52];
  const count = view.hosts.length;
  const heights = new Map(view.hosts.map((host, place) => [host, 10 + ((height - 34) * (place + 0.5)) / count]));
  const wire = (host) => host === view.receiver
    ? [width - 14, height / 2, right, height / 2]
    : [14, heights.get(host), left, height / 2 + (heights.get(host) - height / 2) * 0.4];

  context.strokeStyle = rule;
  context.lineWidth = 1;
  for (const host of [...view.hosts, view.receiver]) {
    const [x, y, toX, toY] = wire(host);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
  }
  const size = count > 32 ? 3 : 6;
  for (const host of [...view.hosts, view.receiver]) {
    const [x, y] = wire(host);
    // Frames stop a host and let it go on, in turn.
    const frames = view.pauses[host] ?? [];
    if (firstAfter(frames, time, (at) => at) % 2 === 1) {
      context.strokeStyle = colour("pause");
      context.lineWidth = 2;
      context.strokeRect(x - 5, y - Math.max(2, size / 2), 7, Math.max(4, size));
    } else {
      context.fillStyle = dim;
      context.fillRect(x - 4, y - size / 2, 6, size);
    }
  }
  context.fillStyle = colour("paper");
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  context.fillRect(left, top, right - left, bottom - top);
  context.strokeRect(left, top, right - left, bottom - top);
  drawBar(context, left + 7, top + 8, 22, bottom - top - 28, "data", view, time);
  drawBar(context, left + 35, top + 8, 10, bottom - top - 28, "header", view, time);

  for (const { from, to, host, isUp, kind } of flying(view, time)) {
    const [x, y, toX, toY] = wire(host);
    const part = (time - from) / (to - from);
    const along = isUp ? part : 1 - part;
    drawPacket(context, kind, x + (toX - x) * along, y + (toY - y) * along + (isUp ? -1 : 1));
  }
  drawHappened(context, view, time, speed, left, top, bottom);
  context.fillStyle = dim;
  context.textAlign = "left";
  context.fillText(`${count} ${count === 1 ? "host" : "hosts"}`, 2, height - 4);
  context.textAlign = "center";
  context.fillText("switch", (left + right) / 2, top - 5);
  context.textAlign = "right";
  context.fillText("receiver", width - 2, bottom + 14);
}

// A queue as a bar of its packets over the maximum of the run, and their number.
function drawBar(context, x, y, width, height, kind, view, time) {
  const points = view.queues[kind];
  view.most ??= {};
  const most = view.most[kind] ??= Math.max(1, ...points.map(([, packets]) => packets));
  if (kind === "header" && points.length === 0) return;
  const packets = queueAt(points, time);
  const filled = (height * packets) / most;
  context.fillStyle = colour(kind);
  if (most <= 24 && kind === "data") {
    const each = height / most;
    for (let place = 0; place < packets; place++) {
      context.fillRect(x, y + height - (place + 1) * each + 1, width, each - 1);
    }
  } else {
    context.fillRect(x, y + height - filled, width, filled);
  }
  context.strokeStyle = colour("rule");
  context.lineWidth = 1;
  context.strokeRect(x, y, width, height);
  context.fillStyle = colour("ink");
  context.textAlign = "center";
  context.fillText(packets, x + width / 2, y + height + 14);
}

// What happened to packets in the last half second of the playback.
function drawHappened(context, view, time, speed, left, top, bottom) {
  const recently = speed / 2;
  const counts = { drop: 0, return: 0, trim: 0, mark: 0 };
  for (let place = firstAfter(view.happened, time, (each) => each.time) - 1; place >= 0; place--) {
    const { time: at, event } = view.happened[place];
    if (at < time - recently) break;
    counts[event]++;
    if (event === "drop" && counts.drop <= 24) {
      const x = left + 4 + ((place * 7) % 44);
      const y = bottom + 6 + (30 * (time - at)) / recently;
      context.strokeStyle = colour("warn");
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x - 3, y - 3);
      context.lineTo(x + 3, y + 3);
      context.moveTo(x + 3, y - 3);
      context.lineTo(x - 3, y + 3);
      context.stroke();
    }
  }
  const words = { drop: "dropped", trim: "trimmed", return: "returned", mark: "marked" };
  const said = Object.entries(counts).filter(([, count]) => count > 0).map(([event, count]) => `${count} ${words[event]}`);
  context.fillStyle = colour("ink");
  context.textAlign = "center";
  said.slice(0, 3).forEach((text, line) => context.fillText(text, left + 26, top - 20 - 13 * line));
}

// Rounded steps of an axis from 0 to `most`.
function ticks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, place) => place * step);
}

function axes(context, width, height, { x, y, xs, ys, xName, yName, xText }) {
  const [dim, rule] = [colour("dim"), colour("rule")];
  context.lineWidth = 1;
  context.setLineDash([]);
  context.textAlign = "right";
  for (const value of ys) {
    context.strokeStyle = rule;
    context.beginPath();
    context.moveTo(MARGIN.left, y(value));
    context.lineTo(width - MARGIN.right, y(value));
    context.stroke();
    context.fillStyle = dim;
    context.fillText(value, MARGIN.left - 4, y(value) + 4);
  }
  context.textAlign = "center";
  for (const value of xs) {
    context.strokeStyle = dim;
    context.beginPath();
    context.moveTo(x(value), height - MARGIN.bottom);
    context.lineTo(x(value), height - MARGIN.bottom + 3);
    context.stroke();
    context.fillText(xText(value), x(value), height - MARGIN.bottom + 14);
  }
  context.fillText(xName, (MARGIN.left + width - MARGIN.right) / 2, height - 4);
  context.save();
  context.translate(9, (height - MARGIN.bottom + MARGIN.top) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(yName, 0, 0);
  context.restore();
}

const short = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });

function drawQueue({ queue, view }, time, [from, to], limits) {
  const { context, width, height } = begin(queue);
  const { data, header } = view.queues;
  view.highest ??= [...data, ...header].reduce((most, [, packets]) => Math.max(most, packets), 1);
  const most = Math.max(view.highest, ...limits.map(([, packets]) => packets)) * 1.05;
  const inMs = to >= 5000;
  const unit = inMs ? 1000 : 1;
  const x = (at) => MARGIN.left + ((at - from) / (to - from)) * (width - MARGIN.left - MARGIN.right);
  const y = (packets) => height - MARGIN.bottom - (packets / most) * (height - MARGIN.bottom - MARGIN.top);
  axes(context, width, height, {
    x, y, xs: ticks(to / unit, 4 * (to / (to - from))).map((value) => value * unit).filter((value) => value >= from), ys: ticks(most, 4),
    xName: inMs ? "time (ms)" : "time (us)", yName: "packets", xText: (value) => short(value / unit),
  });
  context.save();
  context.beginPath();
  context.rect(MARGIN.left, 0, width - MARGIN.left - MARGIN.right, height);
  context.clip();
  for (const [name, packets] of limits) {
    context.strokeStyle = colour(name === "capacity" ? "dim" : "marked");
    context.setLineDash([4, 3]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(MARGIN.left, y(packets));
    context.lineTo(width, y(packets));
    context.stroke();
  }
  context.setLineDash([]);
  for (const [name, points] of [["header", header], ["data", data]]) {
    if (points.length === 0) continue;
    context.strokeStyle = colour(name);
    context.lineWidth = 1.3;
    context.beginPath();
    const first = Math.max(0, firstAfter(points, from, ([at]) => at) - 1);
    let last = first === 0 ? 0 : points[first][1];
    context.moveTo(x(from), y(last));
    for (let place = first; place < points.length && points[place][0] <= to; place++) {
      const [at, packets] = points[place];
      context.lineTo(x(at), y(last));
      context.lineTo(x(at), y(packets));
      last = packets;
    }
    context.stroke();
  }
  context.strokeStyle = colour("ink");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(time), MARGIN.top);
  context.lineTo(x(time), height - MARGIN.bottom);
  context.stroke();
  context.restore();
}

function line(context, place) {
  const [name, dashes] = LINES[place % LINES.length];
  context.strokeStyle = colour(name);
  context.lineWidth = 2;
  context.setLineDash(dashes);
  context.beginPath();
}

function drawLine(canvas, place) {
  const { context, width, height } = begin(canvas);
  line(context, place);
  context.moveTo(0, height / 2);
  context.lineTo(width, height / 2);
  context.stroke();
}

// Completion times of all columns, as steps over a logarithmic axis.
function drawDistribution(canvas, columns) {
  const { context, width, height } = begin(canvas);
  const all = columns.map(({ flows }) => flows.map(({ fct }) => fct).filter((fct) => fct !== null).sort((a, b) => a - b));
  const every = all.flat();
  if (every.length === 0) return;
  const low = every.reduce((a, b) => Math.min(a, b)) / 1.3;
  const high = every.reduce((a, b) => Math.max(a, b)) * 1.3;
  const x = (fct) => MARGIN.left + (Math.log(fct / low) / Math.log(high / low)) * (width - MARGIN.left - MARGIN.right);
  const y = (share) => height - MARGIN.bottom - share * (height - MARGIN.bottom - MARGIN.top);
  const decades = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((factor) => factor * 10 ** (power - 1))).flat();
  axes(context, width, height, {
    x, y, xs: decades.filter((value) => value >= low && value <= high), ys: [0, 0.25, 0.5, 0.75, 1],
    xName: "completion time (us, logarithmic)", yName: "share of flows", xText: short,
  });
  all.forEach((times, place) => {
    line(context, columns[place].place);
    context.moveTo(MARGIN.left, y(0));
    times.forEach((fct, index) => {
      context.lineTo(x(fct), y(index / columns[place].flows.length));
      context.lineTo(x(fct), y((index + 1) / columns[place].flows.length));
    });
    if (times.length) context.lineTo(width - MARGIN.right, y(times.length / columns[place].flows.length));
    context.stroke();
  });
  context.setLineDash([]);
}
