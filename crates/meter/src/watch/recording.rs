//! Tells the recorder's instances whom they are about: the base events that are recorded of some threads only.

use super::wakeups::TimerFunctions;
use crate::trace::recorder::{Armed, failed};
use ftrace::tracefs::Instance;

/// Page faults of more threads than this are recorded of every thread: a filter is a sentence of limited length.
const FILTERED_MAX: usize = 120;

/// The instances of a recorder whose filters name the watched threads.
pub struct Recording {
    instances: Vec<Instance>,
    tids: Vec<i32>,
}

impl Recording {
    /// Replaces the filters of a recorder that is armed and not started.
    ///
    /// # Errors
    /// A sentence.
    pub fn of(recorder: Option<&Armed>, functions: &TimerFunctions, tids: &[i32]) -> Result<Self, String> {
        let instances: Vec<Instance> =
            recorder.map(|armed| armed.recorder.recording().into_iter().cloned().collect()).unwrap_or_default();
        for instance in &instances {
            instance.set_event_filter("timer", "hrtimer_start", &functions.filter()).map_err(failed)?;
        }
        let mut recording = Self { instances, tids: Vec::new() };
        recording.only(tids);
        Ok(recording)
    }

    /// Takes notice of the threads that are there now.
    pub fn only(&mut self, tids: &[i32]) {
        let mut tids = tids.to_vec();
        tids.sort_unstable();
        if tids == self.tids || tids.is_empty() {
            return;
        }
        let named: Vec<String> = tids.iter().map(|tid| format!("common_pid == {tid}")).collect();
        let filter = if tids.len() > FILTERED_MAX { "0".to_owned() } else { named.join(" || ") };
        for instance in &self.instances {
            for event in ["page_fault_user", "page_fault_kernel"] {
                if instance.has_event("exceptions", event) {
                    // Faults of threads nobody asked for are only more to read.
                    let _ = instance.set_event_filter("exceptions", event, &filter);
                }
            }
        }
        self.tids = tids;
    }
}
