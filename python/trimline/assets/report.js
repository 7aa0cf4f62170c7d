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
  let drawn = 0;
  for (const plot of plots) {
    const place = document.getElementById(plot.id);
    const series = plot.series.map((each, index) => ({
      label: each.name,
      stroke: each.colour,
      width: 1.8,
      dash: dashes[index % dashes.length],
      spanGaps: true,
      points: { show: Boolean(plot.points), size: 6 },
      value: (_, value) => number(value),
    }));
    const options = {
      width: Math.min(1040, place.clientWidth || 1040),
      height: 320,
      padding: [12, 48, 0, 0],
      scales: {
        x: { time: false, distr: plot.xlog ? 3 : 1, range: plot.ticks ? [-0.5, plot.ticks.length - 0.5] : undefined },
        y: { distr: plot.ylog ? 3 : 1, range: plot.ylog ? undefined : (_, low, high) => [Math.min(0, low), plot.ymax || high * 1.05 || 1] },
      },
      axes: [
        { label: plot.x, filter: every, values: plot.ticks ? (_, at) => at.map((v) => plot.ticks[v] ?? "") : (_, at) => named(plot.xlog, at),
          ...(plot.ticks ? { splits: () => plot.ticks.map((_, index) => index) } : {}) },
        { label: plot.y, filter: every, size: 64, values: (_, at) => named(plot.ylog, at) },
      ],
      series: [{ label: plot.x, value: (_, value) => (plot.ticks ? plot.ticks[value] ?? "-" : number(value)) }, ...series],
      cursor: { drag: { x: true, y: false } },
      legend: { markers: { width: 3, dash: (_, at) => ["solid", "dashed", "dashed", "dotted", "dashed", "dashed"][(at + 5) % 6] } },
    };
    new uPlot(options, plot.data, place);
    drawn += 1;
  }
  root.dataset.drawn = String(drawn);
  root.dataset.requests = String(performance.getEntriesByType("resource").length);
})();
