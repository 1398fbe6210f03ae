/** Pointing at a row of the ledger lights its stretches in the picture, and the other way round. */
import type { Block, Stretch } from "../blocks";
import type { Explanation } from "../types/report";

interface Named extends Stretch {
  name: string;
  look: string;
}

/** Whether a block of a row belongs to what is pointed at. Row 0 holds the phases. */
export type Lit = (row: number, late: boolean, block: Block<Named>) => boolean;

/** What a ledger row stands for, in the words of the data. */
export interface LedgerRow {
  phase: string;
  /** Absent: the whole phase. */
  owner?: { kind: string; name: string };
}

/** Blocks of a phase, or of one owner inside it. Joined blocks belong to the longest stretch in them. */
export function belongs(row: LedgerRow, spans: readonly (Stretch & { name: string })[]): Lit {
  const stretches = spans.filter((span) => span.name === row.phase);
  return (index, late, block) => {
    if (index === 0) return block.longest.name === row.phase;
    if (!late) return false;
    if (row.owner && (block.longest.look !== row.owner.kind || block.longest.name !== row.owner.name)) return false;
    return stretches.some((span) => block.start_ns < span.end_ns && block.end_ns > span.start_ns);
  };
}

/** Tells `found` what the rows pointed at light; the function returned lights the rows of a block. */
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
    // A lane's block belongs to an owner's row; the row of its phase would only say it twice.
    for (const { row, lit, owner } of rows) row.classList.toggle("lit", block !== undefined && owner === block[0] > 0 && lit(...block));
  };
}
