/** Pointing at a row of the ledger highlights its stretches in the picture, and vice versa. */
import type { Block, Stretch } from "../blocks";
import type { Explanation } from "../types/report";

interface Named extends Stretch {
  name: string;
  look: string;
}

/** Whether a block of a row belongs to the item under the pointer. Row 0 contains the phases. */
export type Lit = (row: number, late: boolean, block: Block<Named>) => boolean;

/** The subject of a ledger row, in the terms of the data. */
export interface LedgerRow {
  phase: string;
  /** Absent: the whole phase. */
  owner?: { kind: string; name: string };
}

/** Blocks of a phase, or of one owner within it. Joined blocks belong to the longest stretch in them. */
export function belongs(row: LedgerRow, spans: readonly (Stretch & { name: string })[]): Lit {
  const stretches = spans.filter((span) => span.name === row.phase);
  return (index, late, block) => {
    if (index === 0) return block.longest.name === row.phase;
    if (!late) return false;
    if (row.owner && (block.longest.look !== row.owner.kind || block.longest.name !== row.owner.name)) return false;
    return stretches.some((span) => block.start_ns < span.end_ns && block.end_ns > span.start_ns);
  };
}

/** Calls `found` with what to highlight for the row under the pointer; the returned function highlights the rows of a block. */
export function matcher(figure: HTMLElement, explanation: Explanation, found: (lit: Lit | undefined) => void): (block?: Parameters<Lit>) => void {
  const rows = [...(figure.parentElement?.querySelectorAll<HTMLElement>(".ledger tr[data-phase]") ?? [])].map((row) => {
    const { phase = "", kind, name } = row.dataset;
    const lit = belongs(kind !== undefined && name !== undefined ? { phase, owner: { kind, name } } : { phase }, explanation.spans);
    row.setAttribute("tabindex", "0");
    for (const begin of ["pointerenter", "focus"]) row.addEventListener(begin, () => found(lit));
    for (const end of ["pointerleave", "blur"]) row.addEventListener(end, () => found(undefined));
    return { row, lit, owner: name !== undefined };
  });
  return (block) => {
    // A lane's block belongs to an owner's row; the row of its phase would only repeat it.
    for (const { row, lit, owner } of rows) row.classList.toggle("lit", block !== undefined && owner === block[0] > 0 && lit(...block));
  };
}
