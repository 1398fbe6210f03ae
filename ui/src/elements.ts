/** Creates elements. Text only becomes text nodes and attributes: nothing from a target is parsed as markup. */

type Attributes = Record<string, string | number | undefined>;
type Child = Node | string;

// Read from an element of the page, so that the built file contains no URL, not even that of a namespace.
const namespace = () => document.querySelector("svg.definitions")?.namespaceURI ?? null;

export function svg(name: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return dressed(document.createElementNS(namespace(), name) as SVGElement, attributes, children);
}

export function html<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(name), attributes, children);
}

function dressed<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  }
  element.append(...children);
  return element;
}

export function line(className: string, x1: number, y1: number, x2: number, y2: number): SVGElement {
  return svg("path", { class: className, d: `M${x1.toFixed(2)} ${y1.toFixed(2)}L${x2.toFixed(2)} ${y2.toFixed(2)}` });
}

export function text(className: string, x: number, y: number, anchor: "start" | "middle" | "end", content: string): SVGElement {
  return svg("text", { class: className, x, y, "text-anchor": anchor }, content);
}
