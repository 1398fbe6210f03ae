/** The outline of per-second maxima. */
import { at, type Axis } from "./axis";
import type { Second } from "./types/report";

export type Point = Second;

/** Narrowest step, in pixels: narrower ones are unreadable. */
const narrow = 3;

/**
 * Constant over each second, with a gap for missing ones. If seconds are narrower than a step, a step shows the largest of
 * its seconds: a maximum never disappears because of the scale.
 */
export function steps(points: readonly Point[], length: number, x: Axis, y: Axis): string {
  let path = "";
  let end = -Infinity;
  let index = 0;
  while (index < points.length) {
    const first = points[index] as Point;
    let last = first;
    let highest = first.latency_ns_max;
    index += 1;
    if (first.second + length <= x.low || first.second >= x.high) continue;
    const from = at(x, first.second);
    while (index < points.length) {
      const next = points[index] as Point;
      if (next.second !== last.second + length || at(x, next.second + length) - from >= narrow) break;
      last = next;
      highest = Math.max(highest, next.latency_ns_max);
      index += 1;
    }
    const to = at(x, last.second + length).toFixed(1);
    const height = at(y, highest).toFixed(1);
    path += first.second <= end ? `V${height}H${to}` : `M${from.toFixed(1)} ${height}H${to}`;
    end = last.second + length;
  }
  return path;
}
