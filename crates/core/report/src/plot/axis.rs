//! Axes: the position of a value in a picture, and which values get a tick.

/// A linear or logarithmic mapping from `low..=high` to pixels `from..=to`.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub from: f64,
    pub to: f64,
    pub logarithmic: bool,
}

impl Axis {
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high: if high > low { high } else { low + 1.0 }, from, to, logarithmic: false }
    }

    /// `low` must be positive; smaller values are drawn at the edge.
    pub fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high: if high > low { high } else { low * 10.0 }, from, to, logarithmic: true }
    }

    /// The pixel of a value; values outside the range are at the edges.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Round values inside the axis, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic { self.logarithmic_ticks(wanted) } else { self.linear_ticks(wanted) }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let exponent = rough.log10().floor() as i32;
        let multiple = [1, 2, 5].into_iter().find(|multiple| tick(*multiple, exponent) >= rough * 0.999);
        let (multiple, exponent) = multiple.map_or((1, exponent + 1), |multiple| (multiple, exponent));
        let step = tick(multiple, exponent);
        // A quotient such as 0.7 / 0.1 is a little below the whole number.
        let (first, last) = ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| tick(index * multiple, exponent)).collect()
    }

    fn logarithmic_ticks(&self, wanted: usize) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let multiples: &[f64] = if decades * 3.0 <= wanted as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let stride = ((decades / wanted.max(1) as f64).ceil() as i32).max(1);
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .filter(|exponent| exponent % stride == 0)
            .flat_map(|exponent| multiples.iter().map(move |multiple| multiple * 10f64.powi(exponent)))
            .filter(|tick| *tick >= self.low * 0.999_999 && *tick <= self.high * 1.000_001)
            .collect()
    }
}

/// The number closest to `count` times a power of ten, so that it prints as short as it is.
fn tick(count: i64, exponent: i32) -> f64 {
    let power = 10f64.powi(exponent.abs());
    if exponent < 0 { count as f64 / power } else { count as f64 * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(Axis::linear(0.0, 60.0, 0.0, 1.0).ticks(6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(Axis::linear(-3.0, 7.0, 0.0, 1.0).ticks(5), [-2.0, 0.0, 2.0, 4.0, 6.0]);
    }

    #[test]
    fn a_tick_of_a_part_prints_short() {
        let printed = |high, wanted| {
            Axis::linear(0.0, high, 0.0, 1.0).ticks(wanted).iter().map(f64::to_string).collect::<Vec<_>>()
        };
        assert_eq!(printed(0.7, 7), ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]);
        assert_eq!(printed(0.03, 6), ["0", "0.005", "0.01", "0.015", "0.02", "0.025", "0.03"]);
    }

    #[test]
    fn logarithmic_ticks_thin_out() {
        assert_eq!(Axis::logarithmic(1.0, 100.0, 0.0, 1.0).ticks(8), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Axis::logarithmic(0.5, 1e6, 0.0, 1.0).ticks(4), [1.0, 100.0, 1e4, 1e6]);
    }

    #[test]
    fn values_outside_lie_on_the_edges() {
        let axis = Axis::logarithmic(1.0, 100.0, 10.0, 30.0);
        assert_eq!([axis.at(0.0), axis.at(1.0), axis.at(1e9)], [10.0, 10.0, 30.0]);
        assert!((axis.at(10.0) - 20.0).abs() < 1e-9);
        assert_eq!(Axis::linear(5.0, 5.0, 0.0, 10.0).at(5.0), 0.0);
    }
}
