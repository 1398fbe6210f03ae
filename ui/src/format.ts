/** Formats numbers in the same way as the tables of the page. */

/** Narrow no-break space between groups of three digits and before a unit. */
export const thin = "\u202f";
const minus = "\u2212";

/** Digits in groups of three; whole numbers only. */
export function grouped(value: number): string {
  const digits = Math.abs(Math.round(value)).toFixed(0).replace(/\B(?=(\d{3})+$)/g, thin);
  return value < 0 ? minus + digits : digits;
}

/** Nanoseconds as microseconds with all three decimals and unit. */
export function micros(ns: number): string {
  const whole = Math.abs(Math.round(ns));
  const decimals = String(whole % 1000).padStart(3, "0");
  return `${ns < 0 && whole > 0 ? minus : ""}${grouped(Math.floor(whole / 1000))}.${decimals}${thin}µs`;
}

/** A time on an axis: the shortest decimal in a suitable unit. */
export function axisTime(ns: number): string {
  const size = Math.abs(ns);
  if (size === 0) return "0";
  const [value, unit] = size >= 1e9 ? [ns / 1e9, "s"] : size >= 1e6 ? [ns / 1e6, "ms"] : size >= 1e3 ? [ns / 1e3, "µs"] : [ns, "ns"];
  return `${String(Number(value.toFixed(3))).replace("-", minus)}${thin}${unit}`;
}

/** A count on an axis. */
export function axisCount(count: number): string {
  return count >= 1e6 ? `1e${Math.round(Math.log10(count))}` : grouped(count);
}

/** A share in percent with one decimal; a whole of zero has no share. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? "\u2013" : `${((part * 100) / whole).toFixed(1).replace("-", minus)}${thin}%`;
}

/** `1 wake-up`, `2 wake-ups`: every word for a sample has this plural. */
export function counted(count: number, thing: string): string {
  return `${grouped(count)} ${thing}${count === 1 ? "" : "s"}`;
}
