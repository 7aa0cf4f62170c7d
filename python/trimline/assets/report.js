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
  // 1, 2 and 5 of each decade between two numbers.
  const round = (low, high) => {
    const found = [];
    for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
      found.push(...[1, 2, 5].map((front) => front * decade).filter((each) => each >= low && each <= high));
    }
    if (found.length > 2) return found;
    // Within less than a decade: some round numbers.
    const some = [0, 1, 2, 3, 4].map((part) => Number((low + ((high - low) * part) / 4).toPrecision(2)));
    return [...new Set(some)].filter((each) => each >= low && each <= high);
  };
  const width = (place) => Math.min(1040, place.clientWidth || 1040);
  let drawn = 0;
  for (const plot of plots) {
    const place = document.getElementById(plot.id);
    const series = plot.series.map((each, index) => ({
      label: each.name,
      stroke: each.colour,
      width: 1.8,
      dash: dashes[(each.dash ?? index) % dashes.length],
      spanGaps: true,
      points: { show: Boolean(each.points ?? plot.points), size: 6 },
      value: (_, value) => number(value),
    }));
    // Behind each curve its band: a line below and one above, of which only the space between is seen.
    const bands = [];
    const edges = [];
    for (let at = 0; at < (plot.bands ?? 0); at += 1) {
      const low = series.length + 1 + edges.length;
      edges.push({ class: "edge", width: 0, points: { show: false } }, { class: "edge", width: 0, points: { show: false } });
      bands.push({ series: [low + 1, low], fill: plot.series[at].colour + "30", dir: 0 });
    }
    // Changes of links: a line where each happens, and its words where there is room.
    const marked = (chart) => {
      const { ctx, bbox } = chart;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = "#767676";
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      let free = -Infinity;
      for (const [at, what] of plot.events ?? []) {
        const x = chart.valToPos(at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.setLineDash([4, 4]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        const width = ctx.measureText(what).width;
        const start = Math.min(x + 4, bbox.left + bbox.width - width);
        if (start > free) {
          ctx.fillText(what, start, bbox.top + 11 * devicePixelRatio);
          free = start + width;
        }
      }
      ctx.restore();
    };
    const options = {
      width: width(place),
      height: 320,
      padding: [12, 48, 0, 0],
      scales: {
        x: { time: false, distr: plot.xlog ? 3 : 1, range: plot.ticks ? [-0.5, plot.ticks.length - 0.5] : plot.xlog ? (_, low, high) => [low / 1.05, high * 1.05] : undefined },
        y: { distr: plot.ylog ? 3 : 1, range: plot.ylog ? undefined : (_, low, high) => [Math.min(0, low), plot.ymax || high * 1.05 || 1] },
      },
      axes: [
        { label: plot.x, filter: every, values: plot.ticks ? (_, at) => at.map((v) => plot.ticks[v] ?? "") : (_, at) => named(false, at),
          ...(plot.xlog ? { splits: (_, __, low, high) => round(low, high) } : {}),
          ...(plot.ticks ? { splits: () => plot.ticks.map((_, index) => index) } : {}) },
        { label: plot.y, filter: every, size: 64, values: (_, at) => named(plot.ylog, at) },
      ],
      series: [{ label: plot.x, value: (_, value) => (plot.ticks ? plot.ticks[value] ?? "-" : number(value)) }, ...series, ...edges],
      bands,
      hooks: { draw: [marked] },
      cursor: { drag: { x: true, y: false } },
      legend: { markers: { width: 3, dash: (_, at) => ["solid", "dashed", "dashed", "dotted", "dashed", "dashed"][(plot.series[at - 1]?.dash ?? at - 1) % 6] ?? "solid" } },
    };
    const chart = new uPlot(options, plot.data, place);
    addEventListener("resize", () => chart.setSize({ width: width(place), height: options.height }));
    drawn += 1;
  }
  root.dataset.drawn = String(drawn);
  root.dataset.requests = String(performance.getEntriesByType("resource").length);
})();
