//! A spike and what is known of it, as `spike.json` of a case in `corpus/explain` keeps them beside the trace.

use crate::recorder::Recorder;
use crate::{Source, SpikeInput};
use archive::absence::Absence;
use archive::environment::Environment;
use archive::explanation::Explanation;
use archive::method::{Method, MethodRequest};
use archive::spike::Spike;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct CorpusCase {
    pub spike: Spike,
    median_ns: i64,
    interval_ns: u64,
    measuring_tids: Vec<(u32, i32)>,
    #[serde(default)]
    own_prio: Option<i32>,
    #[serde(default)]
    tool_tids: Vec<i32>,
    pub environment: Option<Environment>,
    #[serde(default)]
    absences: Vec<Absence>,
    #[serde(default)]
    in_turns: bool,
    #[serde(default)]
    method: Method,
    #[serde(default)]
    controls: Vec<Explanation>,
}

impl CorpusCase {
    /// The spike with its trace.
    pub fn input<'a>(&'a self, trace: Source<'a>) -> SpikeInput<'a> {
        let method = MethodRequest::from(self.method);
        SpikeInput {
            spike: &self.spike,
            trace,
            median_ns: self.median_ns,
            interval_ns: self.interval_ns,
            measuring_tids: &self.measuring_tids,
            own_prio: self.own_prio,
            tool_tids: &self.tool_tids,
            environment: self.environment.as_ref(),
            absences: &self.absences,
            in_turns: self.in_turns,
            stimulus: method.stimulus(),
            sample: method.sample(),
            recorder: Recorder::Own,
            stacks: None,
            controls: &self.controls,
        }
    }
}
