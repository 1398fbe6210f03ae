/** Names of the lines of a picture. */
import type { ReportData } from "./types/report";

/** A CPU, or one kind of wake-ups of a watched thread. */
export function seriesName(data: ReportData, thread: number): string {
  const cpu = data.summary.cpus.find((cpu) => cpu.thread === thread);
  if (!cpu) return `thread ${thread}`;
  return cpu.watched ? `${cpu.watched.name}-${cpu.watched.tid} ${cpu.watched.kind}` : `CPU ${cpu.cpu}`;
}
