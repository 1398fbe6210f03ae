//! How long to measure and which latency is too late, as options of `tardy run` and `tardy watch`.

use super::declared::{key, no_key, options};
use crate::options::quantity::{latency_ns, positive_time_ns, time};
use archive::settings::RunSettings;
use clap::builder::{ArgPredicate, OsStr, Resettable};
use runner::plan::options::Place::Measurement;

options! {
    pub struct ExtentArguments, "Measurement" {
        /// How long to measure; with --cycles alone until they are done
        #[arg(short = 'D', long, alias = "time", value_name = "TIME", value_parser = positive_time_ns, allow_hyphen_values = true)]
        #[arg(default_value = Resettable::from(RunSettings::default().duration_ns.map(|ns| OsStr::from(time(ns)))))]
        #[arg(default_value_if("cycles", ArgPredicate::IsPresent, None))]
        pub duration: Option<u64> => Common, key(Measurement).or_beside();
        /// Count and capture wake-ups later than TIME
        #[arg(short = 'b', long, value_name = "TIME", value_parser = latency_ns, allow_hyphen_values = true)]
        pub limit: Option<i64> => Common, no_key("[[limits]] has what must hold");
    }
}

impl ExtentArguments {
    pub fn apply(&self, settings: &mut RunSettings) {
        settings.duration_ns = self.duration;
        settings.limit_ns = self.limit;
    }
}
