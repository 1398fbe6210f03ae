import { describe, expect, test } from "vitest";
import { linear, logarithmic } from "../../src/axis";
import { binIndex, binned } from "../../src/bins";

/** Bars as in the archive: 64 per doubling. */
function bars(count: (low: number, width: number) => number) {
  const all = [];
  for (let octave = 2048; octave < 2048 * 64; octave *= 2) {
    const width = octave / 64;
    for (let low = octave; low < octave * 2; low += width) all.push({ low_ns: low, high_ns: low + width - 1, count: count(low, width) });
  }
  return all;
}

describe.each([
  ["logarithmic", logarithmic(2000, 140000, 64, 944)],
  ["linear", linear(0, 140000, 64, 944)],
])("bins on a %s axis", (_, axis) => {
  test("hold every count once and keep the edges", () => {
    const from = bars(() => 3);
    const bins = binned(from, binIndex(axis));
    expect(bins.reduce((sum, bin) => sum + bin.count, 0)).toBe(from.length * 3);
    expect(bins[0]?.low_ns).toBe(2048);
    expect(bins.at(-1)?.high_ns).toBe(2048 * 64 - 1);
    expect(bins.at(-1)?.later).toBe(0);
    expect(bins[0]?.later).toBe(from.length * 3 - (bins[0]?.count ?? 0));
    expect(bins.every((bin, index) => index === 0 || bin.index > (bins[index - 1]?.index ?? Infinity))).toBe(true);
  });
});

test("a smooth distribution has no step where the bars double their width", () => {
  // The same number of wake-ups in each equal ratio of latencies: flat on a logarithmic axis.
  const bins = binned(bars((low, width) => (1e6 * width) / low), binIndex(logarithmic(2048, 2048 * 64, 64, 944)));
  const counts = bins.slice(1, -1).map((bin) => bin.count);
  expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.6);
  const pairs = counts.slice(1).map((count, index) => count / (counts[index] ?? count));
  expect(pairs.filter((ratio) => ratio > 1.5 || ratio < 1 / 1.5)).toEqual([]);
});

test("an empty histogram has no bins", () => {
  expect(binned([], binIndex(linear(0, 1, 0, 100)))).toEqual([]);
});
