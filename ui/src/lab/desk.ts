/** A part of a page that changes all the time: it is asked for again, and a screen reader hears what changed in words. */
import { replace } from "./replace";

export function desk(): void {
  const part = document.querySelector<HTMLElement>("[data-again-every]");
  if (!part?.id) return;
  const status = document.querySelector<HTMLElement>("#desk-state");
  const ended = document.querySelector<HTMLElement>("#desk-ended");
  let newest = new Date();
  const say = (said: string | undefined) => {
    if (status && said && status.textContent !== said) status.textContent = said;
  };
  const show = (html: string) => {
    newest = new Date();
    if (ended) ended.hidden = true;
    replace(part, html, `#${part.id}`);
    say(part.querySelector<HTMLElement>("[data-said]")?.dataset.said);
    const changing = document.querySelector<HTMLElement>("#checks:has([data-changing])");
    if (changing) replace(changing, html, `#${changing.id}`);
  };
  const end = () => {
    say("The desk has ended");
    if (!ended?.hidden) return;
    const digits = (value: number) => String(value).padStart(2, "0");
    ended.textContent = `The desk has ended; the figures are from ${digits(newest.getHours())}:${digits(newest.getMinutes())}.`;
    ended.hidden = false;
  };
  const look = async () => {
    if (!document.hidden) {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
      if (answer?.ok) show(await answer.text());
      // Another desk may have the address by now.
      else if (!answer || answer.status === 401) end();
    }
    setTimeout(look, Number(part.dataset.againEvery));
  };
  setTimeout(look, Number(part.dataset.againEvery));
}
