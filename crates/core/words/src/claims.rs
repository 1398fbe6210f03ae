//! Claims about runs as sentences, and the amounts in them.

pub mod bisect;
pub mod causes;
pub mod comparison;
pub mod difference;
pub mod doubt;
pub mod experiment;
pub mod extrapolation;
pub mod history;
pub mod length;
pub mod observer;
pub mod proof;
pub mod uses;
pub mod verdict;
pub mod virtual_time;

use crate::amounts::{rough, time};
use claims::unit::Unit;

/// A value of this unit inside a sentence: `12.3 µs`, `1 000 messages/s`.
pub fn amount(value: f64, unit: &Unit) -> String {
    match unit {
        Unit::Nanoseconds => time(value),
        _ => format!("{} {unit}", rough(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_take_the_unit_of_the_figure() {
        let amounts = [amount(1500.0, &Unit::Nanoseconds), amount(20.0, &Unit::work("faults"))];
        assert_eq!(amounts, ["1.5 µs", "20 faults/s"]);
    }
}
