/** Axes, grid and titles of a picture with two axes. */
import { at, ticks, type Axis } from "../axis";
import { line, svg, text } from "../elements";

export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export function area(width: number, height: number): Area {
  return { left: width < 520 ? 50 : 64, right: width - (width < 520 ? 8 : 16), top: 26, bottom: height - 44 };
}

export interface Titled {
  axis: Axis;
  title: string;
  label: (value: number) => string;
}

export function grid(area: Area, x: Titled, y: Titled): SVGElement {
  const group = svg("g");
  for (const value of ticks(y.axis, 6)) {
    const height = at(y.axis, value);
    group.append(line("grid", area.left, height, area.right, height), text("tick", area.left - 7, height + 4, "end", y.label(value)));
  }
  for (const value of ticks(x.axis, Math.max(Math.floor((area.right - area.left) / 95), 2))) {
    const place = at(x.axis, value);
    group.append(line("grid", place, area.top, place, area.bottom), text("tick", place, area.bottom + 17, "middle", x.label(value)));
  }
  group.append(
    line("axis", area.left, area.bottom, area.right, area.bottom),
    text("axis-title", Math.max(area.left - 44, 2), 12, "start", y.title),
    text("axis-title", area.right, area.bottom + 36, "end", x.title),
  );
  return group;
}
