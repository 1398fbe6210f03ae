/** Joins a histogram's bars into the bins of a picture. */
import type { Axis } from "./axis";
import type { HistogramBar } from "./types/report";

export interface Bin extends HistogramBar {
  /** Bins of the same index cover the same latencies on every CPU. */
  index: number;
  /** Wake-ups later than this bin. */
  later: number;
}

/** Approximate width of a bin in pixels. */
const wide = 8;

/**
 * Assigns latencies to bins of equal width on the axis, so that the bars, whose width doubles at each power of two, cause no
 * step in the outline.
 */
export function binIndex(axis: Axis): (latency: number) => number {
  const bins = Math.max(Math.round(Math.abs(axis.to - axis.from) / wide), 1);
  if (axis.logarithmic) {
    // Bars have edges at powers of two, and so have the bins.
    const perOctave = Math.min(Math.max(Math.round(bins / Math.log2(axis.high / axis.low)), 1), 16);
    return (latency) => Math.floor(Math.log2(Math.max(latency, 1)) * perOctave);
  }
  const step = (axis.high - axis.low) / bins;
  return (latency) => Math.floor(latency / step);
}

/** Bins with their real edges, ascending; empty ones are absent. */
export function binned(bars: HistogramBar[], indexOf: (latency: number) => number): Bin[] {
  const bins: Bin[] = [];
  let later = bars.reduce((sum, bar) => sum + bar.count, 0);
  for (const bar of bars) {
    later -= bar.count;
    const index = indexOf((bar.low_ns + bar.high_ns) / 2);
    const last = bins.at(-1);
    if (last && last.index === index) {
      last.high_ns = bar.high_ns;
      last.count += bar.count;
      last.later = later;
    } else {
      bins.push({ ...bar, index, later });
    }
  }
  return bins;
}
