/** Replaces what an element contains by HTML of the server. */
import { scrollers } from "../scrollers";

const focusable = "a, [tabindex]";

/** Replaces what an element contains by HTML of the server, which escaped every text in it. The reader keeps place and focus. */
export function replace(element: HTMLElement, html: string, part?: string): void {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  const found = part ? parsed.querySelector(part) : parsed.body;
  if (!found) return;
  const before = [...element.querySelectorAll(".scroll")].map((scroller) => ({ left: scroller.scrollLeft, inOrder: scroller.hasAttribute("tabindex") }));
  const focused = [...element.querySelectorAll<HTMLElement>(focusable)].findIndex((other) => other === document.activeElement);
  element.replaceChildren(...found.childNodes);
  [...element.querySelectorAll(".scroll")].forEach((scroller, at) => {
    scroller.scrollLeft = before[at]?.left ?? 0;
    if (before[at]?.inOrder) scroller.setAttribute("tabindex", "0");
  });
  scrollers(element);
  if (focused >= 0) [...element.querySelectorAll<HTMLElement>(focusable)][focused]?.focus({ preventScroll: true });
}
