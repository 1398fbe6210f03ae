/** Pointing at a row of the ledger lights its stretches in the picture. */
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

export function matcher(figure: HTMLElement, explanation: Explanation, found: (lit: Lit | undefined) => void): void {
  const rows = figure.parentElement?.querySelectorAll<HTMLElement>(".ledger tr[data-phase]") ?? [];
  for (const row of rows) {
    const { phase, kind, name } = row.dataset;
    if (phase === undefined) continue;
    const owner = kind !== undefined && name !== undefined ? { kind, name } : undefined;
    row.addEventListener("pointerenter", () => found(belongs({ phase, ...(owner ? { owner } : {}) }, explanation.spans)));
    row.addEventListener("pointerleave", () => found(undefined));
  }
}
