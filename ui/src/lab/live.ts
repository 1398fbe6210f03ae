/** A run in progress: its states arrive as events, and replace the content that came with the page. */

export function live(): void {
  const content = document.querySelector<HTMLElement>("#live");
  const state = document.querySelector<HTMLElement>("#live-state");
  const address = content?.dataset.events;
  if (!content || !address) return;
  const events = new EventSource(`${address}?form=page`);
  events.addEventListener("state", (event) => {
    // The server escaped every text in it. Where the reader scrolled to and what is focused stays outside of it.
    const parsed = new DOMParser().parseFromString(event.data, "text/html");
    content.replaceChildren(...parsed.body.childNodes);
  });
  events.addEventListener("end", () => {
    events.close();
    if (state) state.textContent = "The run has ended";
  });
}
