/** Axes: the position of a value in a picture, and which values get a tick. */

export interface Axis {
  low: number;
  high: number;
  /** Pixels of `low` and `high`. */
  from: number;
  to: number;
  logarithmic: boolean;
}

export function linear(low: number, high: number, from: number, to: number): Axis {
  return { low, high: high > low ? high : low + 1, from, to, logarithmic: false };
}

/** `low` must be positive; smaller values are at the edge. */
export function logarithmic(low: number, high: number, from: number, to: number): Axis {
  return { low, high: high > low ? high : low * 10, from, to, logarithmic: true };
}

/** The pixel of a value; values outside the range are at the edges. */
export function at(axis: Axis, value: number): number {
  const inside = Math.min(Math.max(value, axis.low), axis.high);
  const share = axis.logarithmic
    ? Math.log(inside / axis.low) / Math.log(axis.high / axis.low)
    : (inside - axis.low) / (axis.high - axis.low);
  return axis.from + share * (axis.to - axis.from);
}

/** The value at a pixel. */
export function valueAt(axis: Axis, pixel: number): number {
  const share = Math.min(Math.max((pixel - axis.from) / (axis.to - axis.from), 0), 1);
  return axis.logarithmic ? axis.low * Math.pow(axis.high / axis.low, share) : axis.low + share * (axis.high - axis.low);
}

/** Round values inside the axis, about `wanted` of them. */
export function ticks(axis: Axis, wanted: number): number[] {
  return axis.logarithmic ? logarithmicTicks(axis, wanted) : linearTicks(axis, wanted);
}

function linearTicks(axis: Axis, wanted: number): number[] {
  const rough = (axis.high - axis.low) / Math.max(wanted, 1);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = ([1, 2, 5, 10].find((multiple) => multiple * power >= rough * 0.999) ?? 10) * power;
  const values: number[] = [];
  for (let index = Math.ceil(axis.low / step); index <= Math.floor(axis.high / step); index += 1) values.push(index * step || 0);
  return values;
}

function logarithmicTicks(axis: Axis, wanted: number): number[] {
  const decades = Math.log10(axis.high / axis.low);
  const multiples = decades * 3 <= wanted ? [1, 2, 5] : [1];
  const stride = Math.max(Math.ceil(decades / Math.max(wanted, 1)), 1);
  const values: number[] = [];
  for (let exponent = Math.floor(Math.log10(axis.low)); exponent <= Math.ceil(Math.log10(axis.high)); exponent += 1) {
    if (exponent % stride !== 0) continue;
    for (const multiple of multiples) {
      const value = multiple * Math.pow(10, exponent);
      if (value >= axis.low * 0.999999 && value <= axis.high * 1.000001) values.push(value);
    }
  }
  return values;
}
