//! `hardware`: the largest gap between two reads of the clock in a part of each period.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::Number;

method! {
    /// Options of `hardware`.
    Hardware {
        from: "start of the largest gap between two reads of the clock in a part of each period",
        to: "its end",
        original: "hwlat tracer (hwlatdetect)",
        options: {
            width: Number<1, 90, 50> = "part of each period in which the clock is read, in %",
        },
    }
}

impl Sampled for Hardware {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Busy
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::GAP
    }
}
