//! The choices of `interchange` as values of options.

use crate::options::choice::{Entry, entry_of};
use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use interchange::imports::source::{Series, Unit};
use interchange::imports::{FORMATS, ImportFormat};

/// Parses `--format`; the help describes each.
pub fn format_parser() -> impl TypedValueParser<Value = &'static dyn ImportFormat> {
    let choice =
        |format: &&'static dyn ImportFormat| Entry { value: *format, name: format.name(), about: format.about() };
    entry_of(FORMATS.iter().map(choice).collect())
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
