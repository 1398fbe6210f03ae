//! The choices of `interchange` as values of options.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use interchange::imports::Format;
use interchange::imports::source::{Series, Unit};

#[derive(Debug, Clone, Copy)]
pub struct FormatValue(pub Format);

impl ValueEnum for FormatValue {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatValue; Format::ALL.len()] = {
            let mut all = [FormatValue(Format::Rteval); Format::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = FormatValue(Format::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.meaning()))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct UnitValue(pub Unit);

impl ValueEnum for UnitValue {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Unit::Us), Self(Unit::Ns)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self.0 {
            Unit::Us => "us",
            Unit::Ns => "ns",
        }))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SeriesValue(pub Series);

impl ValueEnum for SeriesValue {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Series::Thread), Self(Series::Irq)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            Series::Thread => PossibleValue::new("thread").help("Latency of the woken thread"),
            Series::Irq => {
                PossibleValue::new("irq").help("Latency of the timer interrupt alone, which rtla keeps apart")
            }
        })
    }
}
