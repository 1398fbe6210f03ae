//! The snapshot of one spike as the meter recorded it: a trace.dat.

use super::spike_choice::{SPIKE, SpikeChoice, spike_of};
use super::{ExportError, ExportFormat, ExportInput, ExportOption};
use archive::spike::SpikeReason;
use std::io::Write;

#[derive(Debug)]
pub struct TraceDat;

impl ExportFormat for TraceDat {
    fn name(&self) -> &'static str {
        "trace-dat"
    }

    fn about(&self) -> &'static str {
        "The snapshot of one spike, for trace-cmd and KernelShark"
    }

    fn options(&self) -> &'static [&'static ExportOption] {
        &[&SPIKE]
    }

    fn file_name(&self, input: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok(format!("spike-{:04}.trace.dat", number(input)?))
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        let spike = spike_of(input.run(), number(input)?)?;
        Ok(out.write_all(&input.run().spike_trace(spike.number)?)?)
    }
}

/// The chosen spike, or the worst with a snapshot.
fn number(input: &ExportInput<'_>) -> Result<u32, ExportError> {
    match SpikeChoice::of(input) {
        Some(SpikeChoice::Number(number)) => Ok(number),
        Some(SpikeChoice::All) => Err(ExportError::OneSpike),
        None => {
            let recorded = input.run().spikes.iter().filter(|spike| spike.snapshot.is_some());
            let late = recorded.filter(|spike| spike.reason != SpikeReason::Control);
            let worst = late.max_by_key(|spike| spike.sample.latency_ns);
            worst.map(|spike| spike.number).ok_or(ExportError::NoSnapshot)
        }
    }
}
