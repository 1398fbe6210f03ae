import { expect, test } from "vitest";
import { matches } from "../../src/lab/filter";

test("every word of a query is in the text, in any case and order", () => {
  const text = "bad pi-4 Linux 6.12.8-rt5, PREEMPT_RT messaging timer";
  expect(matches(text, "")).toBe(true);
  expect(matches(text, "RT5 pi-4")).toBe(true);
  expect(matches(text, "pi-5")).toBe(false);
  expect(matches(text, "pi-4 cache")).toBe(false);
});
