/** Converts stretches of a lane to blocks of a picture. */
import { at, type Axis } from "./axis";

export interface Stretch {
  start_ns: number;
  end_ns: number;
}

/** A block of a row. Stretches too narrow to see are joined; the longest of them defines the block's appearance. */
export interface Block<S extends Stretch> {
  x: number;
  width: number;
  start_ns: number;
  end_ns: number;
  longest: S;
  joined: number;
}

/** Narrowest block, in pixels. */
const narrow = 1;

/** Blocks of the stretches inside the axis, ascending. */
export function blocks<S extends Stretch>(stretches: readonly S[], axis: Axis): Block<S>[] {
  const found: Block<S>[] = [];
  let open: Block<S> | undefined;
  for (const stretch of stretches) {
    if (stretch.end_ns <= axis.low || stretch.start_ns >= axis.high || stretch.end_ns <= stretch.start_ns) continue;
    const from = at(axis, stretch.start_ns);
    const to = at(axis, stretch.end_ns);
    if (!open || from - (open.x + open.width) > narrow || to - from >= narrow || open.width >= narrow) {
      open = { x: from, width: to - from, start_ns: stretch.start_ns, end_ns: stretch.end_ns, longest: stretch, joined: 1 };
      found.push(open);
      continue;
    }
    open.width = to - open.x;
    open.end_ns = stretch.end_ns;
    open.joined += 1;
    if (stretch.end_ns - stretch.start_ns > open.longest.end_ns - open.longest.start_ns) open.longest = stretch;
  }
  for (const block of found) block.width = Math.max(block.width, narrow);
  return found;
}

/** The part of a text that fits a width, or nothing. Letters are about 6.6 px wide on average. */
export function shortened(text: string, width: number): string {
  const letters = Array.from(text);
  const room = Math.floor((width - 8) / 6.6);
  if (letters.length <= room) return text;
  return room >= 5 ? `${letters.slice(0, room - 1).join("").trimEnd()}…` : "";
}
