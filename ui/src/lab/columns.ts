/** Reading a heat map column by column: the figures come from the table below it. */

export function columns(figure: HTMLElement): void {
  const picture = figure.querySelector<SVGElement>("svg.plot");
  const readout = figure.querySelector<HTMLElement>(".readout");
  if (!picture || !readout) return;
  const parts = [...picture.querySelectorAll<SVGElement>(".part")];
  const rows = new Map([...document.querySelectorAll<HTMLTableRowElement>("tr[data-part]")].map((row) => [row.dataset.part, row]));
  const names = [...(rows.get("0")?.closest("table")?.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent ?? "");
  const hint = readout.cloneNode(true).childNodes;
  const quiet = [...hint];
  let at: number | undefined;

  // Where the picture is wider than the screen, the newest columns come first.
  const scroller = picture.closest(".scroll");
  if (scroller) scroller.scrollLeft = scroller.scrollWidth;

  const show = (index: number | undefined) => {
    if (index === at) return;
    for (const old of [parts[at ?? -1], rows.get(String(at))]) old?.classList.remove("lit");
    at = index;
    if (at === undefined) {
      readout.replaceChildren(...quiet.map((node) => node.cloneNode(true)));
      return;
    }
    const row = rows.get(String(at));
    parts[at]?.classList.add("lit");
    row?.classList.add("lit");
    readout.textContent = [...(row?.cells ?? [])].map((cell, place) => `${names[place]}: ${cell.textContent}`).join(" · ");
  };

  parts.forEach((part, index) => part.addEventListener("pointerenter", () => show(index)));
  picture.addEventListener("pointerleave", () => show(undefined));
  picture.addEventListener("blur", () => show(undefined));
  picture.addEventListener("keydown", (event) => {
    const last = parts.length - 1;
    const next = { ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(Math.min(Math.max(next, 0), last));
  });
}
