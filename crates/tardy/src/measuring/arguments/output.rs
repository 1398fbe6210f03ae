//! The options of verbs that measure about what is kept and printed.

use super::declared::{key, no_key, options};
use crate::options::quantity::{positive_time_ns, whole};
use crate::terminal::progress::View;
use archive::settings::{RunSettings, WORST_KEPT_MAX};
use runner::plan::options::Place::Measurement;
use std::path::PathBuf;
use std::time::Duration;

options! {
    pub struct OutputArguments, "Output" {
        /// Directory of the archive [default: runs/<time>-<host>]
        #[arg(short, long, value_name = "DIR")]
        pub out: Option<PathBuf> => Common, no_key("--out names the directory of all steps").or_beside();
        /// Print the summary as one JSON document
        #[arg(long)]
        pub json: bool => Common, no_key("the command line says how the result is printed").or_beside();
        /// Print every figure, worst wake-up and remark, not only the answer
        #[arg(long, conflicts_with_all = ["json", "quiet"])]
        pub more: bool => Common, no_key("the command line says how the result is printed").or_beside();
        /// Print only the path of the archive
        #[arg(short, long, conflicts_with = "json")]
        pub quiet: bool => Rare, no_key("the command line says how the result is printed").or_beside();
        /// On a terminal, print a line a minute instead of the live view
        #[arg(long)]
        pub no_live: bool => Rare, no_key("the terminal decides whether a step has the live view");
        /// Give up if the meter sends nothing for TIME
        #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive_time_ns)]
        meter_timeout: u64 => Rare, key(Measurement);
    }
}

options! {
    /// The samples to keep.
    pub struct SampleArguments, "Output" {
        /// Keep every sample
        #[arg(long)]
        every_sample: bool => Rare, key(Measurement);
        /// Worst samples to keep per CPU
        #[arg(long, value_name = "N", default_value_t = RunSettings::default().worst_kept, value_parser = whole::<u32>(0..=WORST_KEPT_MAX.into()))]
        worst_kept: u32 => Rare, key(Measurement);
    }
}

impl SampleArguments {
    pub fn apply(&self, settings: &mut RunSettings) {
        settings.every_sample = self.every_sample;
        settings.worst_kept = self.worst_kept;
    }
}

/// How a result is printed: as a page unless one of these is true.
#[derive(Debug, Clone, Copy)]
pub struct Showing {
    pub json: bool,
    pub quiet: bool,
    /// The whole summary, not only its short answer.
    pub more: bool,
}

impl OutputArguments {
    pub fn showing(&self) -> Showing {
        Showing { json: self.json, quiet: self.quiet, more: self.more }
    }

    /// How progress is shown.
    pub fn view(&self) -> View {
        match (self.quiet, self.no_live) {
            (true, _) => View::Nothing,
            (false, true) => View::Lines,
            (false, false) => View::Live,
        }
    }

    pub fn silence(&self) -> Duration {
        Duration::from_nanos(self.meter_timeout)
    }
}
