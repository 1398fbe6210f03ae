/** A page of which a part is still being made: its content is asked for again until it is whole. */
import { replace } from "./replace";

/** Interval between two looks, in ms. */
const lookAgain = 3000;

/** Calls `renewed` after the content was replaced. */
export function again(renewed: () => void): void {
  const content = document.querySelector<HTMLElement>("#content[data-again]");
  if (!content) return;
  const look = async () => {
    // What a reader types into stays.
    const typing = document.activeElement instanceof HTMLInputElement && content.contains(document.activeElement);
    if (!document.hidden && !typing) {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
      const html = answer?.ok ? await answer.text() : undefined;
      if (html !== undefined) {
        const whole = !new DOMParser().parseFromString(html, "text/html").querySelector("#content[data-again]");
        replace(content, html, "#content");
        renewed();
        if (whole) {
          content.removeAttribute("data-again");
          return;
        }
      }
    }
    setTimeout(look, lookAgain);
  };
  setTimeout(look, lookAgain);
}
