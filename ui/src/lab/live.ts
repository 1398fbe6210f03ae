/** Runs in progress: the states of one arrive as events and replace the content that came with the page; the list is asked for again. */
import { scrollers } from "../scrollers";

/** Interval between two looks at the list, in ms. */
const lookAgain = 5000;
const focusable = "a, [tabindex]";

/** Replaces what an element contains by HTML of the server, which escaped every text in it. The reader keeps place and focus. */
function replace(element: HTMLElement, html: string, part?: string): void {
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

export function live(): void {
  const list = document.querySelector<HTMLElement>("#live-runs");
  if (list) {
    setInterval(async () => {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
      if (answer?.ok) replace(list, await answer.text(), "#live-runs");
    }, lookAgain);
  }
  const content = document.querySelector<HTMLElement>("#live");
  const state = document.querySelector<HTMLElement>("#live-state");
  const address = content?.dataset.events;
  if (!content || !address) return;
  const events = new EventSource(`${address}?form=page`);
  events.addEventListener("state", (event) => replace(content, event.data));
  events.addEventListener("end", () => {
    events.close();
    if (state) state.textContent = "The run has ended";
  });
}
