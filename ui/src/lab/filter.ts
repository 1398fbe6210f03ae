/** A field above the fleet that shows only boards with a text, and a button for the bad ones. */
import { html } from "../elements";
import { counted } from "../format";

/** Whether a row matches every word of the query. */
export function matches(text: string, query: string): boolean {
  const searched = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => searched.includes(word));
}

export function fleetFilter(): void {
  const table = document.querySelector<HTMLTableElement>("table.fleet");
  const boards = [...(table?.tBodies ?? [])];
  if (!table || boards.length < 2) return;
  const texts = new Map(boards.map((board) => [board, board.textContent ?? ""]));
  const field = html("input", { type: "search", placeholder: "Board, kernel, load …", "aria-label": "Show boards with this text" }) as HTMLInputElement;
  const bad = html("button", { type: "button", "aria-pressed": "false" }, "Only bad");
  const shown = html("output");
  const address = new URL(location.href);
  const update = () => {
    const onlyBad = bad.getAttribute("aria-pressed") === "true";
    let count = 0;
    for (const board of boards) {
      const visible = matches(texts.get(board) ?? "", field.value.trim()) && (!onlyBad || board.dataset.state === "bad");
      board.hidden = !visible;
      if (visible) count += 1;
    }
    shown.textContent = count === boards.length ? "" : `${counted(count, "board")} of ${boards.length}`;
    // A link with the filter shows what its sender saw.
    for (const [name, value] of [["show", field.value.trim()], ["bad", onlyBad ? "1" : ""]] as const) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
  };
  field.addEventListener("input", update);
  bad.addEventListener("click", () => {
    bad.setAttribute("aria-pressed", String(bad.getAttribute("aria-pressed") !== "true"));
    update();
  });
  field.value = address.searchParams.get("show") ?? "";
  bad.setAttribute("aria-pressed", String(address.searchParams.has("bad")));
  (table.closest(".scroll") ?? table).before(html("div", { class: "filters", role: "search" }, field, bad, shown));
  update();
}
