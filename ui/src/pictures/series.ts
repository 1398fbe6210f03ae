/** Buttons with the names of a picture's lines that highlight the line and switch it on and off. */
import { html, line, svg } from "../elements";

export interface Series {
  hidden: ReadonlySet<number>;
  element: HTMLElement;
}

/** `names` are in the order of the lines. `changed` runs after a switch, `pointed` while the pointer is on a button. */
export function series(names: string[], changed: () => void, pointed: (index: number | undefined) => void): Series {
  const hidden = new Set<number>();
  const element = html("div", { class: "controls", role: "group", "aria-label": "Lines shown" });
  if (names.length < 2) return { hidden, element };
  names.forEach((name, index) => {
    const sample = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, line(seriesClass(index), 0, 5, 26, 5));
    const button = html("button", { type: "button", class: "series-button", "aria-pressed": "true" }, sample, name);
    button.addEventListener("click", () => {
      if (!hidden.delete(index)) hidden.add(index);
      button.setAttribute("aria-pressed", String(!hidden.has(index)));
      changed();
    });
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => pointed(index));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => pointed(undefined));
    element.append(button);
  });
  return { hidden, element };
}

export function seriesClass(index: number): string {
  return `series series-${index % 8}`;
}

/** Fades every line except one. */
export function highlight(picture: ParentNode, index: number | undefined): void {
  for (const path of picture.querySelectorAll("[data-series]")) {
    path.classList.toggle("faded", index !== undefined && path.getAttribute("data-series") !== String(index));
  }
}
