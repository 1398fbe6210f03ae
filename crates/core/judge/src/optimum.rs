//! Finds where a function is largest and where it falls below a value: searches without derivatives and without random
//! numbers, so the same data always give the same result.

const GOLDEN: f64 = 0.618_033_988_749_894_8;
/// Relative width at which a search for the largest value ends: nearer to it, rounding hides which value is larger.
const CLOSE: f64 = 1e-9;

/// The largest value of a function on a grid, refined between the neighbours of the best point: `(at, value)`. `None`
/// if the function is finite nowhere.
pub fn largest_on(grid: &[f64], function: &dyn Fn(f64) -> f64) -> Option<(f64, f64)> {
    let finite = |at: &f64| Some((*at, function(*at))).filter(|(_, value)| value.is_finite());
    let best = (0..grid.len())
        .filter_map(|number| finite(&grid[number]).map(|(_, value)| (number, value)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?
        .0;
    let (mut low, mut high) = (grid[best.saturating_sub(1)], grid[(best + 1).min(grid.len() - 1)]);
    let value = |at: f64| Some(function(at)).filter(|value| value.is_finite()).unwrap_or(f64::NEG_INFINITY);
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut value_left, mut value_right) = (value(left), value(right));
    for _ in 0..200 {
        if high - low <= CLOSE * (low.abs() + high.abs()) {
            break;
        }
        if value_left > value_right {
            (high, right, value_right) = (right, left, value_left);
            left = high - GOLDEN * (high - low);
            value_left = value(left);
        } else {
            (low, left, value_left) = (left, right, value_right);
            right = low + GOLDEN * (high - low);
            value_right = value(right);
        }
    }
    let candidates = [left, right, grid[best]].into_iter().filter_map(|at| finite(&at));
    candidates.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// The largest value of a function of several variables near `start`, by the simplex of Nelder and Mead, restarted
/// until it gains nothing: `(at, value)`. Non-finite values count as lowest.
pub fn largest_near<const N: usize>(
    start: [f64; N],
    step: [f64; N],
    function: &dyn Fn([f64; N]) -> f64,
) -> ([f64; N], f64) {
    let value = |at: [f64; N]| Some(function(at)).filter(|value| value.is_finite()).unwrap_or(f64::NEG_INFINITY);
    let mut best = (start, value(start));
    let mut step = step;
    for _ in 0..6 {
        let found = simplex(best.0, step, &value);
        let gained = found.1 - best.1;
        if found.1 >= best.1 {
            best = found;
        }
        if gained.abs() <= 1e-13 * best.1.abs().max(1.0) {
            break;
        }
        step = step.map(|size| size * 0.1);
    }
    best
}

fn simplex<const N: usize>(start: [f64; N], step: [f64; N], value: &dyn Fn([f64; N]) -> f64) -> ([f64; N], f64) {
    let mut corners: Vec<([f64; N], f64)> = vec![(start, value(start))];
    for axis in 0..N {
        let mut at = start;
        at[axis] += step[axis];
        corners.push((at, value(at)));
    }
    for _ in 0..400 {
        corners.sort_by(|one, other| other.1.total_cmp(&one.1));
        let (largest, worst) = (corners[0].1, corners[N]);
        if (largest - worst.1).abs() <= 1e-15 * largest.abs().max(1e-3) {
            break;
        }
        let mut centre = [0.0; N];
        for corner in &corners[..N] {
            centre.iter_mut().zip(corner.0).for_each(|(sum, value)| *sum += value / N as f64);
        }
        let along = |factor: f64| {
            let mut at = centre;
            at.iter_mut().zip(worst.0).for_each(|(value, worst)| *value += factor * (*value - worst));
            (at, value(at))
        };
        let reflected = along(1.0);
        if reflected.1 > largest {
            let further = along(2.0);
            corners[N] = if further.1 > reflected.1 { further } else { reflected };
        } else if reflected.1 > corners[N - 1].1 {
            corners[N] = reflected;
        } else {
            let nearer = if reflected.1 > worst.1 { along(0.5) } else { along(-0.5) };
            if nearer.1 > worst.1.max(reflected.1) {
                corners[N] = nearer;
            } else {
                let best = corners[0].0;
                for corner in &mut corners[1..] {
                    corner.0.iter_mut().zip(best).for_each(|(value, best)| *value = 0.5 * (*value + best));
                    corner.1 = value(corner.0);
                }
            }
        }
    }
    corners.sort_by(|one, other| other.1.total_cmp(&one.1));
    corners[0]
}

/// Where a function that is at least `level` at `inside` first falls below it on the way to `limit`, in steps that
/// start at `step` and double. `None` if it does not before the limit.
pub fn falls_below(inside: f64, step: f64, limit: f64, level: f64, function: &dyn Fn(f64) -> f64) -> Option<f64> {
    let below = |at: f64| {
        let value = function(at);
        value < level || value.is_nan()
    };
    let (mut near, mut stride) = (inside, step);
    let mut far = loop {
        let next = near + stride;
        if (limit - next) * step.signum() <= 0.0 {
            if !below(limit) {
                return None;
            }
            break limit;
        }
        if below(next) {
            break next;
        }
        (near, stride) = (next, 2.0 * stride);
    };
    for _ in 0..80 {
        let middle = 0.5 * (near + far);
        if (far - near).abs() <= 1e-10 * middle.abs() {
            break;
        }
        if below(middle) { far = middle } else { near = middle }
    }
    Some(0.5 * (near + far))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_found() {
        let grid: Vec<f64> = (0..20).map(|at| f64::from(at) / 2.0).collect();
        let (at, value) = largest_on(&grid, &|x| if x > 6.0 { f64::NAN } else { -(x - 3.3).powi(2) }).unwrap();
        assert!((at - 3.3).abs() < 1e-7 && value > -1e-12, "{at}");
        assert_eq!(largest_on(&grid, &|_| f64::NAN), None);
        let banana = |[x, y]: [f64; 2]| -(1.0 - x).powi(2) - 100.0 * (y - x * x).powi(2);
        let (at, _) = largest_near([-1.0, 2.0], [0.5, 0.5], &banana);
        assert!((at[0] - 1.0).abs() < 1e-6 && (at[1] - 1.0).abs() < 1e-6, "{at:?}");
    }

    #[test]
    fn the_way_down_ends_where_it_crosses() {
        let parabola = |x: f64| -(x * x);
        assert!((falls_below(0.0, 0.3, 100.0, -4.0, &parabola).unwrap() - 2.0).abs() < 1e-8);
        assert!((falls_below(0.0, -0.3, -100.0, -4.0, &parabola).unwrap() + 2.0).abs() < 1e-8);
        assert_eq!(falls_below(0.0, 0.3, 1.0, -4.0, &parabola), None);
    }
}
