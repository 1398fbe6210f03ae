/** An interactive picture that replaces a static one: redrawn when its width changes, with controls above and a readout below. */
import { html } from "../elements";

export interface Frame {
  controls: HTMLElement;
  /** Shows a sentence about the item under the pointer or the focus; without one, shows the hint again. */
  say(sentence?: string): void;
  redraw(): void;
}

export interface Options {
  /** How to use the picture. */
  hint: string;
  /** Whether screen readers announce the readout; not if the focused part of the picture has the same words as its name. */
  spoken: boolean;
}

/** `draw` returns the SVG for a width in pixels. */
export function frame(figure: HTMLElement, { hint, spoken }: Options, draw: (width: number) => SVGElement): Frame {
  const place = figure.querySelector<HTMLElement>(".picture");
  if (!place) throw new Error("a figure has no place for its picture");
  const controls = html("div", { class: "controls" });
  const readout = html("p", { class: "readout", "aria-live": spoken ? "polite" : undefined });
  let width = 0;
  const redraw = () => {
    if (width > 0) place.replaceChildren(draw(width));
  };
  const say = (sentence?: string) => {
    readout.replaceChildren(sentence ?? html("span", { class: "quiet" }, hint));
  };
  new ResizeObserver(() => {
    const now = Math.floor(place.clientWidth);
    if (now === 0 || now === width) return;
    width = now;
    redraw();
  }).observe(place);
  figure.classList.add("live");
  figure.insertBefore(controls, place);
  place.after(readout);
  say();
  return { controls, say, redraw };
}

/** A pair of mutually exclusive choices. */
export function choice(names: [string, string], label: string, chosen: (first: boolean) => void): HTMLElement {
  const group = html("div", { class: "choice", role: "group", "aria-label": label });
  const buttons = names.map((name, index) => {
    const button = html("button", { type: "button", "aria-pressed": String(index === 0) }, name);
    button.addEventListener("click", () => {
      buttons.forEach((other, place) => other.setAttribute("aria-pressed", String(place === index)));
      chosen(index === 0);
    });
    return button;
  });
  group.append(...buttons);
  return group;
}
