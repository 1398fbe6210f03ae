/** The visible part of a time line, with zooming and moving. */

export interface View {
  low: number;
  high: number;
}

/** Narrowest view, in the unit of the values. */
const narrowest = 20;

/** Zooms by a factor (below 1: in) around `centre`; never beyond `whole`. */
export function zoomed(view: View, factor: number, centre: number, whole: View, least = narrowest): View {
  const width = Math.min(Math.max((view.high - view.low) * factor, least), whole.high - whole.low);
  const share = (centre - view.low) / (view.high - view.low);
  return inside({ low: centre - share * width, high: centre + (1 - share) * width }, whole);
}

/** Moves by a share of the visible part. */
export function moved(view: View, share: number, whole: View): View {
  const step = share * (view.high - view.low);
  return inside({ low: view.low + step, high: view.high + step }, whole);
}

/** Moves as little as necessary to make a stretch visible. */
export function showing(view: View, start: number, end: number, whole: View): View {
  const width = view.high - view.low;
  if (end - start > width || (start < view.low && end > view.high)) return view;
  if (start < view.low) return inside({ low: start - 0.1 * width, high: start + 0.9 * width }, whole);
  if (end > view.high) return inside({ low: end - 0.9 * width, high: end + 0.1 * width }, whole);
  return view;
}

function inside(view: View, whole: View): View {
  const width = Math.min(view.high - view.low, whole.high - whole.low);
  const low = Math.min(Math.max(view.low, whole.low), whole.high - width);
  return { low, high: low + width };
}
