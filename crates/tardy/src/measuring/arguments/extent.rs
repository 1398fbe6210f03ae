//! How long to measure and which latency is too late, as options of `tardy run` and `tardy watch`.

use crate::options::quantity::{latency_ns, positive_time_ns};
use clap::Args;

#[derive(Debug, Args)]
pub struct ExtentArguments {
    /// How long to measure [default: 60s, or until --cycles are done]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = positive_time_ns, allow_hyphen_values = true, help_heading = "Measurement")]
    pub duration: Option<u64>,
    /// Count and capture wake-ups later than TIME, and exit with code 1 if there were any
    #[arg(short = 'b', long, value_name = "TIME", value_parser = latency_ns, allow_hyphen_values = true, help_heading = "Measurement")]
    pub limit: Option<i64>,
}
