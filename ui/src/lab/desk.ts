/** A part of a page that changes all the time: it is asked for again, and a screen reader hears what changed in words. */
import { replace } from "./replace";

export function desk(): void {
  const part = document.querySelector<HTMLElement>("[data-again-every]");
  if (!part?.id) return;
  const status = document.querySelector<HTMLElement>("#desk-state");
  const look = async () => {
    if (!document.hidden) {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
      if (answer?.ok) {
        replace(part, await answer.text(), `#${part.id}`);
        const said = part.querySelector<HTMLElement>("[data-said]")?.dataset.said;
        if (status && said && status.textContent !== said) status.textContent = said;
      }
    }
    setTimeout(look, Number(part.dataset.againEvery));
  };
  setTimeout(look, Number(part.dataset.againEvery));
}
