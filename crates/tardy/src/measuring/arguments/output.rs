//! The options of `tardy run` and `tardy watch` about what is kept and printed.

use crate::options::quantity::positive_time_ns;
use crate::terminal::progress::View;
use archive::settings::WORST_KEPT_MAX;
use clap::{Args, value_parser};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Directory of the archive [default: runs/<time>-<host>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Keep every sample
    #[arg(long, help_heading = "Output")]
    pub every_sample: bool,
    /// Worst samples to keep per CPU [default: 1000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(..=i64::from(WORST_KEPT_MAX)), help_heading = "Output")]
    pub worst_kept: Option<u32>,
    /// Print the summary as one JSON document
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print only the path of the archive
    #[arg(short, long, conflicts_with = "json", help_heading = "Output")]
    pub quiet: bool,
    /// On a terminal, print a line a minute instead of the live view
    #[arg(long, help_heading = "Output")]
    pub no_live: bool,
    /// Give up if the meter sends nothing for TIME
    #[arg(long = "meter-timeout", value_name = "TIME", default_value = "30s", value_parser = positive_time_ns, help_heading = "Output")]
    pub(super) silence: u64,
}

/// How a result is printed: as a page unless one of these is true.
#[derive(Debug, Clone, Copy)]
pub struct Showing {
    pub json: bool,
    pub quiet: bool,
}

impl OutputArguments {
    pub fn showing(&self) -> Showing {
        Showing { json: self.json, quiet: self.quiet }
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
        Duration::from_nanos(self.silence)
    }
}
