/** Latency over time: the worst wake-up of each second on each CPU, with marks that link to the accounts. */
import { at, linear, logarithmic, valueAt } from "../axis";
import { html, line, svg, text } from "../elements";
import { axisTime, micros } from "../format";
import { seriesName } from "../series_name";
import { steps, type Point } from "../steps";
import type { ReportData, SpikeSummary } from "../types/report";
import { moved, zoomed, type View } from "../view";
import { choice, frame } from "./frame";
import { area, grid } from "./grid";
import { highlight, series, seriesClass } from "./series";

const height = 340;

export function latency(figure: HTMLElement, data: ReportData): void {
  const threads = [...new Set(data.seconds.map((second) => second.thread))].sort((a, b) => a - b);
  if (threads.length === 0) return;
  const names = threads.map((thread) => seriesName(data, thread));
  const points = threads.map((thread): Point[] =>
    data.seconds.filter((second) => second.thread === thread).sort((a, b) => a.second - b.second),
  );
  // In long runs a point covers several seconds.
  const stretch = points.flatMap((line) => line.slice(1).map((point, index) => point.second - (line[index]?.second ?? 0))).reduce((least, gap) => Math.min(least, gap), Infinity);
  const length = Number.isFinite(stretch) ? stretch : 1;
  const whole: View = { low: 0, high: points.flat().reduce((last, point) => Math.max(last, point.second), 0) + length };
  const limit = data.summary.settings?.limit_ns ?? undefined;
  const highest = points.flat().reduce((high, point) => Math.max(high, point.latency_ns_max), limit ?? 2);
  const start = data.summary.measure_start_ns;
  const marked = data.summary.spikes.filter((spike) => spike.reason !== "control" && start !== null);
  const lowest = [...points.flat().map((point) => point.latency_ns_max), ...marked.map((spike) => spike.latency_ns)].filter((ns) => ns !== 0).reduce((low, ns) => Math.min(low, ns), Infinity);
  let logarithmicLatency = true;
  let view = whole;
  let cursor: number | undefined;

  const draw = (width: number): SVGElement => {
    const place = area(width, height);
    const x = linear(view.low, view.high, place.left, place.right);
    const y = logarithmicLatency
      ? logarithmic(Math.max(lowest, 1) * 0.8, highest * 1.35, place.bottom, place.top)
      : linear(0, highest * 1.1, place.bottom, place.top);
    const picture = svg("svg", {
      class: "plot", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "group",
      "aria-label": `The ${figure.dataset.worst ?? "worst"} ${figure.dataset.sample ?? "sample"} of each second. Left and right arrow walk, plus and minus zoom, 0 shows everything.`,
    });
    picture.append(grid(place, { axis: x, title: "seconds into the run", label: (value) => String(Number(value.toFixed(2))) }, { axis: y, title: "latency", label: axisTime }));
    points.forEach((line, index) => {
      if (!buttons.hidden.has(index)) picture.append(svg("path", { class: seriesClass(index), "data-series": index, d: steps(line, length, x, y) }));
    });
    if (limit !== undefined) {
      const level = at(y, limit);
      picture.append(line("limit", place.left, level, place.right, level), text("limit-label", place.right - 4, level - 5, "end", `limit ${axisTime(limit)}`));
    }
    const pointer = line("cursor", 0, place.top, 0, place.bottom);
    pointer.setAttribute("visibility", "hidden");
    picture.append(pointer);
    for (const spike of marked) {
      const second = (spike.sample.due_ns - (start ?? 0)) / 1e9;
      if (second >= view.low && second <= view.high) picture.append(mark(spike, second, at(x, second), at(y, spike.latency_ns)));
    }

    const show = (second: number | undefined) => {
      cursor = second;
      pointer.setAttribute("visibility", second === undefined ? "hidden" : "visible");
      if (second === undefined) return panel.say();
      pointer.setAttribute("d", `M${at(x, second + length / 2)} ${place.top}V${place.bottom}`);
      const parts = points.flatMap((line, index) => {
        const point = buttons.hidden.has(index) ? undefined : line.find((point) => point.second === second);
        if (!point) return [];
        const missed = point.missed_periods > 0 ? ` (${point.missed_periods} missed)` : "";
        return [`${names[index]}: ${micros(point.latency_ns_max)}${missed}`];
      });
      panel.say(`${length > 1 ? `Seconds ${second} to ${second + length - 1}` : `Second ${second}`} – ${parts.join("; ") || "nothing measured"}.`);
    };
    const step = (count: number) => {
      const next = cursor === undefined ? Math.ceil(view.low / length) * length : cursor + count * length;
      show(Math.min(Math.max(next, 0), whole.high - length));
    };
    const zoom = (factor: number, centre: number) => {
      view = zoomed(view, factor, centre, whole, 5 * length);
      refocus();
    };
    const refocus = () => {
      const focused = picture.contains(document.activeElement);
      panel.redraw();
      if (focused) figure.querySelector<SVGElement>(".plot")?.focus();
    };
    picture.addEventListener("pointermove", (event) => show(Math.floor(valueAt(x, event.offsetX) / length) * length));
    picture.addEventListener("pointerleave", () => show(undefined));
    picture.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !picture.contains(document.activeElement)) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, valueAt(x, event.offsetX));
    }, { passive: false });
    picture.addEventListener("keydown", (event) => {
      const middle = cursor ?? (view.low + view.high) / 2;
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const direction = event.key === "ArrowLeft" ? -1 : 1;
        if (event.shiftKey) {
          view = moved(view, 0.25 * direction, whole);
          refocus();
        } else step(direction);
      } else if (event.key === "+" || event.key === "=") zoom(0.6, middle);
      else if (event.key === "-") zoom(1 / 0.6, middle);
      else if (event.key === "0") zoom(Infinity, middle);
      else return;
      event.preventDefault();
    });
    return picture;
  };

  const buttons = series(names, () => panel.redraw(), (index) => highlight(figure, index));
  const panel = frame(figure, { hint: "Hover over the chart, or focus it and use the arrow keys, to read a second; when focused, zoom with the wheel or + and −.", spoken: true }, draw);
  const all = html("button", { type: "button" }, "Whole run");
  all.addEventListener("click", () => {
    view = whole;
    panel.redraw();
  });
  panel.controls.append(
    choice(["Logarithmic", "Linear"], "Latency axis", (first) => {
      logarithmicLatency = first;
      panel.redraw();
    }),
    all,
    buttons.element,
  );
}

function mark(spike: SpikeSummary, second: number, x: number, y: number): SVGElement {
  const name = `${micros(spike.latency_ns)} late on CPU ${spike.sample.cpu} at ${second.toFixed(1)} s: to its account`;
  return svg(
    "a",
    { class: "jump", href: `#spike-${spike.number}`, "aria-label": name },
    svg("title", {}, name),
    svg("circle", { class: "reach", cx: x, cy: y - 7, r: 12 }),
    svg("path", { class: "mark", d: `M${x.toFixed(1)} ${(y - 2).toFixed(1)}l-5.5 -9.5h11z` }),
  );
}
