import { expect, test } from "vitest";
import { belongs } from "../../src/pictures/ledger";

const spans = [
  { name: "timer_delay", start_ns: 0, end_ns: 50 },
  { name: "scheduling_delay", start_ns: 50, end_ns: 100 },
];
const block = (start_ns: number, end_ns: number, name: string, look: string) => ({
  x: 0, width: 1, start_ns, end_ns, joined: 1, longest: { start_ns, end_ns, name, look },
});

test("a phase lights its band and the late CPU's stretches inside it", () => {
  const lit = belongs({ phase: "scheduling_delay" }, spans);
  expect(lit(0, false, block(50, 100, "scheduling_delay", "scheduling_delay"))).toBe(true);
  expect(lit(0, false, block(0, 50, "timer_delay", "timer_delay"))).toBe(false);
  expect(lit(1, true, block(40, 60, "a", "task"))).toBe(true);
  expect(lit(1, true, block(10, 50, "a", "task"))).toBe(false);
  expect(lit(2, false, block(60, 70, "a", "task"))).toBe(false);
});

test("an owner lights only what has its kind and name", () => {
  const lit = belongs({ phase: "timer_delay", owner: { kind: "task", name: "a" } }, spans);
  expect(lit(1, true, block(0, 10, "a", "task"))).toBe(true);
  expect(lit(1, true, block(0, 10, "b", "task"))).toBe(false);
  expect(lit(1, true, block(0, 10, "a", "rt_task"))).toBe(false);
  expect(lit(1, true, block(60, 70, "a", "task"))).toBe(false);
});
