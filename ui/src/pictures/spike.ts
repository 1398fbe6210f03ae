/** One late wake-up as a timeline: phases on top, below them a lane per CPU, with zoom and keyboard navigation. */
import { at, linear, ticks, valueAt, type Axis } from "../axis";
import { blocks, shortened, type Block, type Stretch } from "../blocks";
import { html, line, svg, text } from "../elements";
import { axisTime, grouped, micros, percent } from "../format";
import type { Explanation, Mark, OwnerKind, SpikeSummary } from "../types/report";
import { moved, showing, zoomed, type View } from "../view";
import { ownerKinds, phases } from "../words";
import { frame } from "./frame";
import { matcher, type Lit } from "./ledger";

const bandTop = 26;
const bandHeight = 22;
const laneHeight = 26;
const laneStep = 32;

/** A row of the picture: the phases, or one CPU. */
interface Row {
  title: string;
  cpu?: number;
  late: boolean;
  stretches: Shown[];
}

export interface Shown extends Stretch {
  name: string;
  /** Suffix of class names. */
  look: string;
  what: string;
}

export function spike(figure: HTMLElement, entry: SpikeSummary): void {
  const explanation = entry.explanation;
  if (!explanation || explanation.lanes.length === 0) return;
  const rows = rowsOf(explanation, entry.sample.cpu);
  const latency = Math.max(entry.latency_ns, 1);
  const home: View = { low: -0.2 * latency, high: 1.15 * latency };
  const whole = extent(rows, home);
  let view = home;
  let current = { row: 0, start: 0 };
  let lit: Lit | undefined;
  const start = figure.dataset.start ?? "due";

  const draw = (width: number): SVGElement => {
    const left = width < 520 ? 46 : 64;
    const right = width - (width < 520 ? 6 : 16);
    const bottom = bandTop + bandHeight + 8 + (rows.length - 1) * laneStep;
    const x = linear(view.low, view.high, left, right);
    const picture = svg("svg", {
      class: "plot timeline", viewBox: `0 0 ${width} ${bottom + 26}`, role: "group",
      "aria-label": `Timeline of spike ${entry.number}. Arrow keys walk through the stretches, plus and minus zoom, 0 shows ${start} to seen.`,
    });
    for (const value of ticks(x, Math.max(Math.floor((right - left) / 95), 2))) {
      picture.append(line("grid", at(x, value), bandTop, at(x, value), bottom), text("tick", at(x, value), bottom + 16, "middle", axisTime(value)));
    }
    const drawn = rows.map((row, index) => drawRow(picture, row, index, x, left));
    for (const [value, name] of [[0, start], [entry.latency_ns, `seen ${axisTime(entry.latency_ns)}`]] as const) {
      if (value < view.low || value > view.high) continue;
      const place = at(x, value);
      const anchor = place > right - 60 ? "end" : place < left + 20 ? "start" : "middle";
      picture.append(line("instant", place, bandTop - 5, place, bottom), text("instant-label", place, bandTop - 10, anchor, name));
    }
    for (const mark of explanation.marks) {
      const index = rows.findIndex((row) => row.cpu === mark.cpu);
      if (index < 0 || mark.at_ns < view.low || mark.at_ns > view.high) continue;
      picture.append(pointer(mark, at(x, mark.at_ns), bandTop + bandHeight + 8 + (index - 1) * laneStep));
    }
    light(drawn.flat());
    const active = drawn.flat().find(({ row, block }) => row === current.row && block.start_ns <= current.start && current.start < block.end_ns) ?? drawn.flat()[0];
    active?.element.setAttribute("tabindex", "0");
    listen(picture, drawn, x);
    return picture;
  };

  /** A mark is at the top of the lane of the CPU that recorded it. */
  const pointer = (mark: Mark, x: number, top: number): SVGElement => {
    const words = `CPU ${mark.cpu}, ${micros(mark.at_ns)} after ${start}: ${mark.text}.`;
    const element = svg(
      "g",
      { class: "mark-point", role: "img", "aria-label": words },
      svg("path", { class: "mark-tip", d: `M${x.toFixed(2)} ${top}l-4 -7h8z` }),
      svg("path", { class: "mark-stem", d: `M${x.toFixed(2)} ${top}v${laneHeight}` }),
      svg("rect", { class: "reach", x: x - 6, y: top - 8, width: 12, height: 10 }),
    );
    element.addEventListener("pointerenter", () => panel.say(words));
    return element;
  };

  const drawRow = (picture: SVGElement, row: Row, index: number, x: Axis, left: number): Drawn[] => {
    const top = index === 0 ? bandTop : bandTop + bandHeight + 8 + (index - 1) * laneStep;
    const tall = index === 0 ? bandHeight : laneHeight;
    if (index > 0) picture.append(text(row.late ? "lane-label late" : "lane-label", left - 8, top + 17, "end", row.title));
    return blocks(row.stretches, x).map((block) => {
      const { longest, width } = block;
      const box = { x: block.x, y: top, width, height: tall };
      const element = svg(
        "g",
        { class: "stretch", tabindex: -1, role: "img", "aria-label": sentence(row, block, explanation, start) },
        svg("rect", { class: `${index === 0 ? "phase phase-" : "block kind-"}${longest.look}`, ...box }),
        ...(index === 0 ? [] : [svg("rect", { class: `pattern-${longest.look}`, ...box })]),
      );
      const label = shortened(index === 0 ? longest.what : longest.name, width);
      if (label) {
        const look = index === 0 ? "block-label on-phase" : `block-label on-${longest.look}`;
        element.append(text(look, block.x + width / 2, top + tall / 2 + 4, "middle", label));
      }
      element.append(svg("rect", { class: "frame", ...box }));
      picture.append(element);
      return { row: index, block, element };
    });
  };

  const light = (drawn: Drawn[]) => {
    for (const { row, block, element } of drawn) {
      const matches = lit?.(row, rows[row]?.late ?? false, block) ?? false;
      element.classList.toggle("lit", matches);
      element.classList.toggle("dimmed", lit !== undefined && !matches);
    }
  };

  let now: Drawn[] = [];
  const listen = (picture: SVGElement, drawn: Drawn[][], x: Axis) => {
    now = drawn.flat();
    const read = ({ row, block }: Drawn) => {
      panel.say(sentence(rows[row] as Row, block, explanation, start));
      lightRows([row, rows[row]?.late ?? false, block]);
    };
    for (const shown of now) {
      shown.element.addEventListener("pointerenter", () => read(shown));
      shown.element.addEventListener("focus", () => {
        current = { row: shown.row, start: Math.max(shown.block.start_ns, view.low) };
        for (const other of now) other.element.setAttribute("tabindex", other === shown ? "0" : "-1");
        read(shown);
      });
    }
    picture.addEventListener("pointerleave", () => {
      panel.say();
      lightRows();
    });
    picture.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !picture.contains(document.activeElement)) return;
      event.preventDefault();
      look(zoomed(view, event.deltaY > 0 ? 1.25 : 0.8, valueAt(x, event.offsetX), whole));
    }, { passive: false });
    drag(picture, x);
    picture.addEventListener("keydown", (event) => key(event));
  };

  const drag = (picture: SVGElement, x: Axis) => {
    picture.addEventListener("pointerdown", (down) => {
      const before = view;
      const scale = (view.high - view.low) / (x.to - x.from);
      const move = (event: PointerEvent) => {
        const shift = (down.clientX - event.clientX) * scale;
        look(moved(before, shift / (before.high - before.low), whole));
      };
      const up = () => {
        window.removeEventListener("pointermove", move);
        for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, up);
      };
      window.addEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, up);
    });
  };

  const look = (next: View) => {
    if (next.low === view.low && next.high === view.high) return;
    const focused = figure.querySelector(".plot")?.contains(document.activeElement) ?? false;
    view = next;
    panel.redraw();
    if (focused) figure.querySelector<SVGElement>('.stretch[tabindex="0"]')?.focus({ preventScroll: true });
  };

  const key = (event: KeyboardEvent) => {
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const floor = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (side !== undefined && event.shiftKey) look(moved(view, 0.25 * side, whole));
    else if (side !== undefined) walk(side);
    else if (floor !== undefined) climb(floor);
    else if (event.key === "+" || event.key === "=") look(zoomed(view, 0.6, centre(), whole));
    else if (event.key === "-") look(zoomed(view, 1 / 0.6, centre(), whole));
    else if (event.key === "0") look(home);
    else return;
    event.preventDefault();
  };

  const centre = () => Math.min(Math.max(current.start, view.low), view.high);

  /** Moves the focus to the neighbour in the row; the view follows. */
  const walk = (side: number) => {
    const row = now.filter((shown) => shown.row === current.row);
    const next = row[row.findIndex(({ element }) => element === document.activeElement) + side];
    if (next) next.element.focus();
    else {
      const block = row.at(side < 0 ? 0 : -1)?.block;
      const beyond = rows[current.row]?.stretches.filter((stretch) => (side < 0 ? stretch.end_ns <= (block?.start_ns ?? 0) : stretch.start_ns >= (block?.end_ns ?? 0)));
      const target = beyond?.at(side < 0 ? -1 : 0);
      if (!target) return;
      current = { row: current.row, start: target.start_ns };
      look(showing(view, target.start_ns, target.end_ns, whole));
    }
  };

  /** Moves the focus to the row above or below, at the same instant. */
  const climb = (floor: number) => {
    const active = now.find(({ element }) => element === document.activeElement);
    const middle = active ? active.block.x + active.block.width / 2 : 0;
    for (let row = current.row + floor; row >= 0 && row < rows.length; row += floor) {
      const distance = ({ block }: Drawn) => Math.max(block.x - middle, middle - block.x - block.width, 0);
      const nearest = now.filter((shown) => shown.row === row).sort((a, b) => distance(a) - distance(b))[0];
      if (nearest) return nearest.element.focus();
    }
  };

  const panel = frame(figure, { hint: `Point at a stretch or a mark to read it. Keys: Tab into the picture, arrows walk, Shift and an arrow moves the view, + and − zoom, 0 shows ${start} to seen. Drag to move; the wheel zooms once the picture has the focus, or with Ctrl.`, spoken: false }, draw);
  const button = (name: string, label: string, next: () => View) => {
    const element = html("button", { type: "button", "aria-label": label }, name);
    element.addEventListener("click", () => look(next()));
    return element;
  };
  panel.controls.append(
    button("+", "Zoom in", () => zoomed(view, 0.6, (view.low + view.high) / 2, whole)),
    button("−", "Zoom out", () => zoomed(view, 1 / 0.6, (view.low + view.high) / 2, whole)),
    button(`${start.charAt(0).toUpperCase()}${start.slice(1)} to seen`, `Show ${start} to seen`, () => home),
    button("Everything", "Show everything recorded", () => whole),
  );
  figure.querySelector(".readout")?.after(legend(rows));
  const lightRows = matcher(figure, explanation, (found) => {
    lit = found;
    light(now);
  });
}

interface Drawn {
  row: number;
  block: Block<Shown>;
  element: SVGElement;
}

/** The phases first, then the late CPU, then its neighbours. */
function rowsOf(explanation: Explanation, cpu: number): Row[] {
  const band: Row = {
    title: "phases",
    late: false,
    stretches: explanation.spans.map((span) => ({ ...span, look: span.name, what: phases[span.name] })),
  };
  const lanes = [...explanation.lanes].sort((a, b) => Number(b.cpu === cpu) - Number(a.cpu === cpu) || a.cpu - b.cpu);
  return [
    band,
    ...lanes.map((lane): Row => ({
      title: `CPU ${lane.cpu}`,
      cpu: lane.cpu,
      late: lane.cpu === cpu,
      stretches: lane.segments.map((segment) => ({ ...segment, look: segment.kind, what: ownerKinds[segment.kind] })),
    })),
  ];
}

function extent(rows: Row[], home: View): View {
  const stretches = rows.flatMap((row) => row.stretches);
  return {
    low: stretches.reduce((low, stretch) => Math.min(low, stretch.start_ns), home.low),
    high: stretches.reduce((high, stretch) => Math.max(high, stretch.end_ns), home.high),
  };
}

function sentence(row: Row, block: Block<Shown>, explanation: Explanation, start: string): string {
  const { longest } = block;
  const latency = Math.max(explanation.latency_ns, 1);
  const who = row.cpu === undefined ? longest.what : `${longest.what} ${longest.name}`;
  const when = (stretch: Stretch) => `${micros(stretch.start_ns)} to ${micros(stretch.end_ns)} after ${start}`;
  const long = (stretch: Stretch) => micros(stretch.end_ns - stretch.start_ns);
  if (block.joined > 1) {
    return `${row.title}: ${grouped(block.joined)} stretches too short to draw apart, ${when(block)}; the longest is ${who}, ${long(longest)}.`;
  }
  const share = row.cpu === undefined ? ` (${percent(longest.end_ns - longest.start_ns, latency)} of the latency)` : "";
  return `${row.cpu === undefined ? "Phase" : row.title}: ${who}, ${long(longest)} long${share}, ${when(longest)}.${functionOf(row, longest, explanation)}`;
}

/** The function in which an owner of the ledger spent its time, if the trace has functions. */
function functionOf(row: Row, { look, name }: Shown, { functions }: Explanation): string {
  const held = functions?.held.find((held) => held.cpu === row.cpu && held.kind === look && held.name === name);
  if (!held) return "";
  const chain = held.chain.slice(0, 4).join(" < ");
  if (held.ns === null) return ` A stack trace shows it in ${chain}.`;
  return held.last_entered ? ` No function was entered for ${micros(held.ns)} after ${chain}.` : ` In all, ${micros(held.ns)} of it were spent in ${chain}.`;
}

function legend(rows: Row[]): HTMLElement {
  const present = new Set(rows.slice(1).flatMap((row) => row.stretches.map((stretch) => stretch.look)));
  const list = html("ul", { class: "legend", "aria-label": "Kinds of owners" });
  for (const kind of Object.keys(ownerKinds) as OwnerKind[]) {
    if (!present.has(kind)) continue;
    const swatch = svg(
      "svg",
      { class: "swatch", viewBox: "0 0 16 12", "aria-hidden": "true" },
      svg("rect", { class: `kind-${kind}`, width: 16, height: 12 }),
      svg("rect", { class: `pattern-${kind}`, width: 16, height: 12 }),
    );
    list.append(html("li", {}, swatch, ownerKinds[kind]));
  }
  return list;
}
