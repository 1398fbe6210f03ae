import { expect, test } from "vitest";
import { axisCount, axisTime, counted, grouped, micros, percent, thin } from "../../src/format";

test("digits come in groups of three", () => {
  expect(grouped(0)).toBe("0");
  expect(grouped(999)).toBe("999");
  expect(grouped(1000)).toBe(`1${thin}000`);
  expect(grouped(1234567)).toBe(`1${thin}234${thin}567`);
});

test("microseconds keep every nanosecond", () => {
  expect(micros(0)).toBe(`0.000${thin}µs`);
  expect(micros(7)).toBe(`0.007${thin}µs`);
  expect(micros(-1005)).toBe(`−1.005${thin}µs`);
  expect(micros(12345678)).toBe(`12${thin}345.678${thin}µs`);
});

test("labels of axes are short", () => {
  expect(axisTime(0)).toBe("0");
  expect(axisTime(500)).toBe(`500${thin}ns`);
  expect(axisTime(2500)).toBe(`2.5${thin}µs`);
  expect(axisTime(-1e6)).toBe(`−1${thin}ms`);
  expect(axisTime(2e9)).toBe(`2${thin}s`);
  expect(axisCount(1000)).toBe(`1${thin}000`);
  expect(axisCount(1e7)).toBe("1e7");
});

test("shares and counts read as words", () => {
  expect(percent(1, 3)).toBe(`33.3${thin}%`);
  expect(percent(0, 0)).toBe("–");
  expect(counted(1, "wake-up")).toBe("1 wake-up");
  expect(counted(2, "wake-up")).toBe("2 wake-ups");
});
