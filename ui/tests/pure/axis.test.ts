import { describe, expect, test } from "vitest";
import { at, linear, logarithmic, ticks, valueAt } from "../../src/axis";

describe("an axis", () => {
  test("finds pixel and value of each other", () => {
    for (const axis of [linear(-50, 200, 64, 900), logarithmic(0.5, 1e6, 300, 20)]) {
      for (const share of [0, 0.1, 0.5, 0.99, 1]) {
        const pixel = axis.from + share * (axis.to - axis.from);
        expect(at(axis, valueAt(axis, pixel))).toBeCloseTo(pixel, 6);
      }
    }
  });

  test("keeps outside values on its edges", () => {
    const axis = logarithmic(1, 100, 10, 30);
    expect([at(axis, 0), at(axis, -5), at(axis, 1e9)]).toEqual([10, 10, 30]);
    expect(valueAt(axis, 1000)).toBe(100);
  });

  test("survives a single value", () => {
    expect(at(linear(5, 5, 0, 10), 5)).toBe(0);
    expect(Number.isFinite(at(logarithmic(7, 7, 0, 10), 7))).toBe(true);
  });

  test("has round ticks inside", () => {
    expect(ticks(linear(0, 60, 0, 1), 6)).toEqual([0, 10, 20, 30, 40, 50, 60]);
    expect(ticks(linear(-3, 7, 0, 1), 5)).toEqual([-2, 0, 2, 4, 6]);
    expect(ticks(logarithmic(1, 100, 0, 1), 8)).toEqual([1, 2, 5, 10, 20, 50, 100]);
    expect(ticks(logarithmic(0.5, 1e6, 0, 1), 4)).toEqual([1, 100, 1e4, 1e6]);
  });
});
