/** Latency histogram, one outline per CPU. */
import { at, linear, logarithmic, valueAt, type Axis } from "../axis";
import { binIndex, binned, type Bin } from "../bins";
import { line, svg, text } from "../elements";
import { axisCount, axisTime, counted, grouped, micros } from "../format";
import { seriesName } from "../series_name";
import type { ReportData } from "../types/report";
import { choice, frame } from "./frame";
import { area, grid } from "./grid";
import { highlight, series, seriesClass } from "./series";

const height = 360;
/** A count of one must be above the base line. */
const base = 0.5;

export function histogram(figure: HTMLElement, data: ReportData): void {
  const bars = data.histograms.flatMap((histogram) => histogram.bars);
  if (bars.length === 0) return;
  const names = data.histograms.map((histogram) => seriesName(data, histogram.thread));
  const samples = figure.dataset.samples ?? "samples";
  const limit = data.summary.settings?.limit_ns ?? undefined;
  const lowest = bars.reduce((low, bar) => Math.min(low, bar.low_ns), Infinity);
  const highest = bars.reduce((high, bar) => Math.max(high, bar.high_ns), limit ?? 2);
  let logarithmicLatency = true;
  let cursor: number | undefined;
  let walk: (step: number) => void = () => {};

  const draw = (width: number): SVGElement => {
    const place = area(width, height);
    const x = logarithmicLatency
      ? logarithmic(Math.max(lowest, 1) * 0.9, highest * 1.15, place.left, place.right)
      : linear(0, highest * 1.04, place.left, place.right);
    const indexOf = binIndex(x);
    const lines = data.histograms.map((histogram) => binned(histogram.bars, indexOf));
    const most = lines.flat().reduce((most, bin) => Math.max(most, bin.count), 1);
    const y = logarithmic(base, most * 1.6, place.bottom, place.top);
    const picture = svg("svg", {
      class: "plot", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
      "aria-label": `Histogram of ${samples} by latency. Left and right arrow walk through it.`,
    });
    picture.append(grid(place, { axis: x, title: "latency", label: axisTime }, { axis: y, title: samples, label: axisCount }));
    lines.forEach((bins, index) => {
      if (!buttons.hidden.has(index)) picture.append(svg("path", { class: seriesClass(index), "data-series": index, d: outline(bins, x, y) }));
    });
    if (limit !== undefined) picture.append(...limitLine(at(x, limit), place.top, place.bottom, limit));
    const pointer = line("cursor", 0, place.top, 0, place.bottom);
    pointer.setAttribute("visibility", "hidden");
    picture.append(pointer);

    const indices = [...new Set(lines.flat().map((bin) => bin.index))].sort((a, b) => a - b);
    const show = (index: number | undefined) => {
      cursor = index;
      pointer.setAttribute("visibility", index === undefined ? "hidden" : "visible");
      if (index === undefined) return panel.say();
      const here = lines.map((bins, cpu) => ({ cpu, bin: bins.find((bin) => bin.index === index), bins })).filter(({ cpu }) => !buttons.hidden.has(cpu));
      const found = here.flatMap(({ bin }) => (bin ? [bin] : []));
      const low = Math.min(...found.map((bin) => bin.low_ns));
      const high = Math.max(...found.map((bin) => bin.high_ns));
      if (found.length === 0) return panel.say();
      pointer.setAttribute("d", `M${at(x, Math.sqrt(Math.max(low, 1) * high))} ${place.top}V${place.bottom}`);
      const parts = here.map(({ cpu, bin, bins }) => {
        const later = bin?.later ?? bins.filter((bin) => bin.index > index).reduce((sum, bin) => sum + bin.count, 0);
        return `${names[cpu]}: ${grouped(bin?.count ?? 0)}, later ${grouped(later)}`;
      });
      panel.say(`${micros(low)} to ${micros(high)} – ${counted(found.reduce((sum, bin) => sum + bin.count, 0), figure.dataset.sample ?? "sample")}. ${parts.join("; ")}.`);
    };
    walk = (step) => {
      const now = cursor === undefined ? (step > 0 ? -1 : indices.length) : indices.indexOf(cursor);
      show(indices[Math.min(Math.max(now + step, 0), indices.length - 1)]);
    };
    picture.addEventListener("pointermove", (event) => {
      const index = indexOf(valueAt(x, event.offsetX));
      show(indices.reduce<number | undefined>((best, other) => (best === undefined || Math.abs(other - index) < Math.abs(best - index) ? other : best), undefined));
    });
    picture.addEventListener("pointerleave", () => show(undefined));
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      walk(step);
    });
    return picture;
  };

  const buttons = series(names, () => panel.redraw(), (index) => highlight(figure, index));
  const panel = frame(figure, { hint: "Hover over the chart, or focus it and use the arrow keys, to read counts.", spoken: true }, draw);
  panel.controls.append(
    choice(["Logarithmic", "Linear"], "Latency axis", (first) => {
      logarithmicLatency = first;
      cursor = undefined;
      panel.redraw();
      panel.say();
    }),
    buttons.element,
  );
}

/** Neighbouring bins share an edge; an empty bin between them drops to the base line. */
function outline(bins: Bin[], x: Axis, y: Axis): string {
  const bottom = y.from.toFixed(1);
  let path = "";
  let end = -Infinity;
  let last: number | undefined;
  for (const bin of bins) {
    const from = at(x, bin.low_ns);
    const to = Math.max(at(x, bin.high_ns + 1), from + 1.5);
    const top = at(y, bin.count).toFixed(1);
    path += from - end < 0.8 || last === bin.index - 1 ? `V${top}H${to.toFixed(1)}` : `${path ? `V${bottom}` : ""}M${from.toFixed(1)} ${bottom}V${top}H${to.toFixed(1)}`;
    end = to;
    last = bin.index;
  }
  return path ? `${path}V${bottom}` : "";
}

function limitLine(place: number, top: number, bottom: number, limit: number): SVGElement[] {
  return [line("limit", place, top, place, bottom), text("limit-label", place - 5, top + 10, "end", `limit ${axisTime(limit)}`)];
}
