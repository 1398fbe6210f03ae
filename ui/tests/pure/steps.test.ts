import { expect, test } from "vitest";
import { linear } from "../../src/axis";
import { steps } from "../../src/steps";

const second = (second: number, latency_ns_max: number) => ({ thread: 0, second, cycles: 1, latency_ns_max, over_limit: 0, missed_periods: 0 });
const y = linear(0, 100, 100, 0);

test("seconds are flat, absent ones leave a gap", () => {
  expect(steps([second(0, 10), second(1, 20), second(3, 30)], 1, linear(0, 4, 0, 400), y)).toBe("M0.0 90.0H100.0V80.0H200.0M300.0 70.0H400.0");
});

test("a maximum never vanishes by being drawn small", () => {
  const points = Array.from({ length: 10_000 }, (_, index) => second(index, index === 7777 ? 99 : 1));
  const path = steps(points, 1, linear(0, 10_000, 0, 500), y);
  expect(path).toContain("V1.0H");
  expect(path.length).toBeLessThan(5000);
});

test("what is out of sight is not drawn", () => {
  expect(steps([second(0, 10), second(9, 20)], 1, linear(3, 5, 0, 100), y)).toBe("");
});
