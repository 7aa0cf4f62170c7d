"use strict";
// Draws the plots of a report from the data in the page. Problems are written where a test can see them.
(() => {
  const root = document.documentElement;
  root.dataset.errors = "0";
  addEventListener("error", (event) => {
    root.dataset.errors = String(Number(root.dataset.errors) + 1);
    root.dataset.error = event.message;
  });
  const plots = JSON.parse(document.getElementById("data").textContent);
  const dashes = [[], [8, 4], [8, 3, 2, 3], [2, 3], [12, 3, 2, 3, 2, 3], [4, 4]];
  // On a scale by logarithm the library would name whole decades only, and often there is none. Of many places those
  // with 1, 2 and 5 in front are named.
  const every = (_, at) => at;
  const named = (log, at) => at.map((v) => {
    if (v == null) return "";
    const front = Math.round(v / 10 ** Math.floor(Math.log10(Math.abs(v)) + 1e-9));
    return log && at.length > 6 && ![1, 2, 5].includes(front) ? "" : number(v);
  });
  const number = (value) => (value == null ? "-" : Number(value.toPrecision(4)).toLocaleString("en"));
  // 1, 2 and 5 of each decade between two numbers, or of many decades their beginnings; within a decade round numbers.
  const round = (low, high, most) => {
    const found = [];
    for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
      found.push(...[1, 2, 5].map((front) => front * decade).filter((each) => each >= low && each <= high));
    }
    if (found.length > most) return found.filter((each) => Math.abs(Math.log10(each) % 1) < 1e-9);
    if (found.length > 2) return found;
    const rough = (high - low) / 3;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [5, 2, 1].find((front) => front * power <= rough) * power;
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
  };
  const width = (place) => Math.min(1040, place.clientWidth || 1040);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // On black a dark colour is mixed with white until it is seen.
  const seen = (colour) => {
    let parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const light = () => 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2];
    while (dark.matches && light() < 120) parts = parts.map((part) => Math.round(part + (255 - part) * 0.25));
    return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
  };
  // Words of events: each in the first row where it overlaps no other.
  const FONT = 11, ROW = 14, LEFT = 94, RIGHT = 48;
  const pen = document.createElement("canvas").getContext("2d");
  const inRows = (events, placeOf, left, right) => {
    pen.font = `${FONT}px system-ui, sans-serif`;
    const ends = [];
    return events.map(([at, what]) => {
      const x = placeOf(at);
      const long = pen.measureText(what).width;
      const start = Math.max(left, Math.min(x + 4, right - long));
      let row = ends.findIndex((end) => end < start);
      if (row < 0) row = ends.length;
      ends[row] = start + long + 8;
      return { x, start, row, what };
    });
  };
  const charts = [];
  const draw = (plot) => {
    const place = document.getElementById(plot.id);
    place.replaceChildren();
    const series = plot.series.map((each, index) => ({
      label: each.name,
      stroke: seen(each.colour),
      width: 1.8,
      dash: dashes[(each.dash ?? index) % dashes.length],
      spanGaps: true,
      points: { show: Boolean(each.points ?? plot.points), size: 7, fill: (each.dash ?? index) ? css("--paper") : seen(each.colour) },
      value: (_, value) => number(value),
    }));
    // Behind each curve its band: a line below and one above, of which only the space between is seen.
    const bands = [];
    const edges = [];
    for (let at = 0; at < (plot.bands ?? 0); at += 1) {
      const low = series.length + 1 + edges.length;
      edges.push({ class: "edge", width: 0, points: { show: false } }, { class: "edge", width: 0, points: { show: false } });
      bands.push({ series: [low + 1, low], fill: `${seen(plot.series[at].colour)}30`, dir: 0 });
    }
    // Changes of links: a line where each happens, and its words above the plot.
    const events = plot.events ?? [];
    const [first, last] = [plot.data[0][0], plot.data[0][plot.data[0].length - 1]];
    const right = width(place) - RIGHT;
    const whole = inRows(events, (at) => LEFT + ((right - LEFT) * (at - first)) / (last - first || 1), LEFT, right);
    const above = ROW * Math.max(0, ...whole.map(({ row }) => row + 1));
    const marked = (chart) => {
      const { ctx, bbox } = chart;
      const ratio = devicePixelRatio;
      const [left, top, end] = [bbox.left / ratio, bbox.top / ratio, (bbox.left + bbox.width) / ratio];
      const inside = events.filter(([at]) => at >= chart.scales.x.min && at <= chart.scales.x.max);
      ctx.save();
      ctx.scale(ratio, ratio);
      ctx.strokeStyle = css("--faint");
      ctx.font = `${FONT}px system-ui, sans-serif`;
      ctx.textAlign = "left";
      ctx.textBaseline = "alphabetic";
      ctx.setLineDash([4, 4]);
      const placed = inRows(inside, (at) => chart.valToPos(at, "x") + left, left, end);
      for (const { x, row } of placed) {
        ctx.beginPath();
        ctx.moveTo(x, top - above + ROW * row);
        ctx.lineTo(x, top + bbox.height / ratio);
        ctx.stroke();
      }
      for (const { start, row, what } of placed) {
        const y = top - above + ROW * row;
        ctx.fillStyle = css("--paper");
        ctx.fillRect(start - 2, y, ctx.measureText(what).width + 4, ROW);
        ctx.fillStyle = css("--faint");
        ctx.fillText(what, start, y + FONT);
      }
      ctx.restore();
    };
    // Long names of places stand aslant where they would touch.
    const aslant = plot.ticks && plot.ticks.join("  ").length * 7 > right - LEFT;
    const lines = { stroke: () => css("--ink"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 } };
    const options = {
      width: width(place),
      height: 320 + above + (aslant ? 40 : 0),
      padding: [12 + above, RIGHT, 0, 0],
      scales: {
        x: { time: false, distr: plot.xlog ? 3 : 1, range: plot.ticks ? [-0.5, plot.ticks.length - 0.5] : plot.xlog ? (_, low, high) => [low / 1.05, high * 1.05] : undefined },
        y: { distr: plot.ylog ? 3 : 1, range: plot.ylog ? undefined : (_, low, high) => [Math.min(0, low), plot.ymax || high * 1.05 || 1] },
      },
      axes: [
        { ...lines, label: plot.x, filter: every, values: plot.ticks ? (_, at) => at.map((v) => plot.ticks[v] ?? "") : (_, at) => named(false, at),
          ...(aslant ? { rotate: -35, size: 90 } : {}),
          ...(plot.integers ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5] } : {}),
          ...(plot.xlog ? { splits: (_, __, low, high) => round(low, high, (right - LEFT) / 45) } : {}),
          ...(plot.ticks ? { splits: () => plot.ticks.map((_, index) => index) } : {}) },
        { ...lines, label: plot.y, filter: every, size: 64, values: (_, at) => named(plot.ylog, at) },
      ],
      series: [{ label: plot.x, value: (_, value) => (plot.ticks ? plot.ticks[value] ?? "-" : number(value)) }, ...series, ...edges],
      bands,
      hooks: { draw: [marked] },
      cursor: { drag: { x: true, y: false } },
      legend: { markers: { width: 3, dash: (_, at) => ["solid", "dashed", "dashed", "dotted", "dashed", "dashed"][(plot.series[at - 1]?.dash ?? at - 1) % 6] ?? "solid" } },
    };
    const parts = Object.keys(plot.choices ?? {});
    if (parts.length > 1) {
      const select = document.createElement("select");
      select.setAttribute("aria-label", `Part of the network: ${plot.y}`);
      select.append(...parts.map((part) => new Option(part, part, false, part === plot.choice)));
      select.onchange = () => {
        plot.choice = select.value;
        chart.setData([plot.data[0], ...plot.choices[plot.choice]]);
      };
      place.append(select);
    }
    const data = plot.choices ? [plot.data[0], ...plot.choices[plot.choice]] : plot.data;
    const chart = new uPlot(options, data, place);
    charts.push([chart, place, options.height]);
  };
  const drawAll = () => {
    charts.splice(0).forEach(([chart]) => chart.destroy());
    plots.forEach(draw);
  };
  drawAll();
  dark.addEventListener("change", drawAll);
  addEventListener("resize", () => charts.forEach(([chart, place, height]) => chart.setSize({ width: width(place), height })));
  root.dataset.drawn = String(charts.length);
  root.dataset.requests = String(performance.getEntriesByType("resource").length);
})();
