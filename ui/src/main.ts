/** Makes the pictures of a report interactive. The figures are already in the page. */
import "./styles/colours.css";
import "./styles/picture.css";
import "./styles/page.css";
import "./styles/live.css";
import { histogram } from "./pictures/histogram";
import { latency } from "./pictures/latency";
import { spike } from "./pictures/spike";
import { schemeButton } from "./scheme";
import { scrollers } from "./scrollers";
import type { ReportData } from "./types/report";

function figures(picture: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(`figure[data-picture="${picture}"]`)];
}

/** Links also work into collapsed accounts. */
function openTarget(): void {
  const target = /^#spike-\d+$/.test(location.hash) ? document.querySelector<HTMLDetailsElement>(location.hash) : null;
  if (!target) return;
  target.open = true;
  target.scrollIntoView();
}

function start(): void {
  scrollers();
  schemeButton();
  addEventListener("hashchange", openTarget);
  openTarget();
  const data = JSON.parse(document.querySelector("#tardy-data")?.textContent ?? "null") as ReportData | null;
  if (!data?.summary) return;
  figures("distribution").forEach((figure) => histogram(figure, data));
  figures("time").forEach((figure) => latency(figure, data));
  for (const figure of figures("spike")) {
    const entry = data.summary.spikes.find((entry) => String(entry.number) === figure.dataset.spike);
    if (entry) spike(figure, entry);
  }
}

start();
