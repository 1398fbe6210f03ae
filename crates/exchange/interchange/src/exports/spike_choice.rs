//! The option that selects spikes of a run.

use super::{ExportError, ExportInput, ExportOption, OptionForm, OptionValue};
use archive::reader::Run;
use archive::spike::Spike;

pub const SPIKE: ExportOption = ExportOption {
    name: "spike",
    about: "export spike N, or `all` [default: all; for trace-dat the worst]",
    value: OptionValue::Text {
        placeholder: "N|all",
        default: None,
        check: |text| SpikeChoice::parse(text).map(drop).ok_or(OptionForm::Spike),
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpikeChoice {
    All,
    Number(u32),
}

impl SpikeChoice {
    /// `None` if the user chose none.
    pub fn of(input: &ExportInput<'_>) -> Option<Self> {
        input.options.text(&SPIKE).and_then(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "all" { Some(Self::All) } else { text.parse().ok().map(Self::Number) }
    }
}

/// # Errors
/// [`ExportError::NoSpike`].
pub fn spike_of(run: &Run, number: u32) -> Result<&Spike, ExportError> {
    let missing = || ExportError::NoSpike { number, has: run.spikes.iter().map(|spike| spike.number).collect() };
    run.spikes.iter().find(|spike| spike.number == number).ok_or_else(missing)
}
