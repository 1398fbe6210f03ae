import { expect, test } from "vitest";
import { moved, showing, zoomed } from "../../src/view";

const whole = { low: -1000, high: 3000 };

test("zooming keeps the instant under the pointer where it is", () => {
  const view = zoomed({ low: 0, high: 1000 }, 0.5, 250, whole);
  expect(view).toEqual({ low: 125, high: 625 });
  expect((250 - view.low) / (view.high - view.low)).toBeCloseTo(0.25);
});

test("no view leaves the whole or closes", () => {
  expect(zoomed({ low: 0, high: 1000 }, 100, 10, whole)).toEqual(whole);
  expect(zoomed({ low: 0, high: 1000 }, Infinity, 10, whole)).toEqual(whole);
  expect(moved({ low: -900, high: 100 }, -5, whole)).toEqual({ low: -1000, high: 0 });
  expect(moved({ low: -900, high: 100 }, 50, whole)).toEqual({ low: 2000, high: 3000 });
  const closest = zoomed({ low: 0, high: 30 }, 0.0001, 15, whole);
  expect(closest.high - closest.low).toBe(20);
});

test("a stretch comes into sight with as little movement as needed", () => {
  const view = { low: 0, high: 1000 };
  expect(showing(view, 200, 300, whole)).toEqual(view);
  expect(showing(view, 1200, 1300, whole)).toEqual({ low: 400, high: 1400 });
  expect(showing(view, -200, -100, whole)).toEqual({ low: -300, high: 700 });
  expect(showing(view, -900, 2900, whole)).toEqual(view);
});
