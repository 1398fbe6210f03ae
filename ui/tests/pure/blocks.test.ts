import { describe, expect, test } from "vitest";
import { linear } from "../../src/axis";
import { blocks, shortened } from "../../src/blocks";

const axis = linear(0, 1000, 0, 100);
const stretch = (start_ns: number, end_ns: number, name = "") => ({ start_ns, end_ns, name });

describe("blocks", () => {
  test("join what is too narrow under the longest", () => {
    const found = blocks([stretch(0, 500, "a"), stretch(500, 502, "b"), stretch(502, 508, "c"), stretch(600, 900, "d"), stretch(2000, 3000, "e")], axis);
    expect(found.map((block) => [block.longest.name, block.x, block.width, block.joined])).toEqual([
      ["a", 0, 50, 1],
      ["c", 50, 1, 2],
      ["d", 60, 30, 1],
    ]);
  });

  test("are cut at the edges and keep their real times", () => {
    const [block] = blocks([stretch(-500, 5000)], axis);
    expect(block).toMatchObject({ x: 0, width: 100, start_ns: -500, end_ns: 5000 });
  });

  test("leave out what has no length, and stay few however many stretches there are", () => {
    expect(blocks([stretch(5, 5), stretch(9, 3)], axis)).toEqual([]);
    const many = Array.from({ length: 100_000 }, (_, index) => stretch(index / 100, (index + 1) / 100));
    const found = blocks(many, axis);
    expect(found.length).toBeLessThanOrEqual(101);
    expect(found.reduce((sum, block) => sum + block.joined, 0)).toBe(many.length);
  });
});

test("labels are cut visibly or left out", () => {
  expect(shortened("kworker/0:1-12", 200)).toBe("kworker/0:1-12");
  expect(shortened("kworker/0:1-12", 62)).toBe("kworker…");
  expect(shortened("kworker/0:1-12", 30)).toBe("");
  expect(shortened("😀😀😀😀😀😀😀😀😀", 50)).toBe("😀😀😀😀😀…");
});
