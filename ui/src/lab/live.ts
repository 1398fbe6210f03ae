/** Runs in progress: the states of one arrive as events and replace the content that came with the page; the list is asked for again. */
import { replace } from "./replace";

/** Interval between two looks at the list, in ms. */
const lookAgain = 5000;
export function live(): void {
  const list = document.querySelector<HTMLElement>("#live-runs");
  if (list) {
    setInterval(async () => {
      if (document.hidden) return;
      const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
      if (answer?.ok) replace(list, await answer.text(), "#live-runs");
    }, lookAgain);
  }
  const content = document.querySelector<HTMLElement>("#live");
  const state = document.querySelector<HTMLElement>("#live-state");
  const address = content?.dataset.events;
  if (!content || !address) return;
  let events: EventSource | undefined;
  let ended = false;
  const leave = () => {
    events?.close();
    events = undefined;
  };
  // A browser has six connections to a server for all of its tabs: those that nobody sees must not keep them.
  const follow = () => {
    if (document.hidden || ended) return leave();
    if (events) return;
    events = new EventSource(`${address}?form=page`);
    events.addEventListener("state", (event) => replace(content, event.data));
    events.addEventListener("end", () => {
      ended = true;
      leave();
      if (state) state.textContent = "The run has ended";
    });
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}
