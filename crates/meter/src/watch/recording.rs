//! Tells the snapshotter's instances whom they are about: the base events that are recorded of some threads only, and the
//! triggers by which the kernel finds maxima itself.

use super::wakeups::TimerFunctions;
use crate::journal::{Entry, Journal, trace_leftovers};
use crate::trace::error::TraceError;
use crate::trace::maxima::{self, Lateness};
use crate::trace::snapshotter::Armed;
use archive::settings::SnapshotMode;
use ftrace::tracefs::Instance;

/// What the kernel notes while it serves a page fault: the page was got, and counted as the process' own. It notes nothing when
/// a fault is over, so these tell how long one took at least. For few threads at most: everybody gets memory all the time.
const IN_FAULTS: [&str; 2] = ["mm_page_alloc", "rss_stat"];

/// Page faults of more threads than this are recorded of every thread: a filter is a sentence of limited length.
const FILTERED_MAX: usize = 120;

/// The kernel's own search for maxima.
struct Maxima {
    instance: Instance,
    event: String,
    lateness: Lateness,
}

/// The instances of a snapshotter whose filters name the watched threads.
pub struct Recording {
    instances: Vec<Instance>,
    /// Those of [`IN_FAULTS`] that the kernel has, where it tells of faults at all.
    in_faults: Vec<&'static str>,
    tids: Vec<i32>,
    maxima: Option<Maxima>,
}

impl Recording {
    /// Replaces the filters of a snapshotter that is armed and not started.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn of(
        snapshotter: Option<&mut Armed>,
        functions: &TimerFunctions,
        tids: &[i32],
        lateness: Lateness,
        journal: &mut Journal,
    ) -> Result<Self, TraceError> {
        let Some(armed) = snapshotter else {
            return Ok(Self { instances: Vec::new(), in_faults: Vec::new(), tids: Vec::new(), maxima: None });
        };
        let instances: Vec<Instance> = armed.snapshotter.recording().into_iter().cloned().collect();
        for instance in &instances {
            instance.set_event_filter("timer", "hrtimer_start", &functions.filter())?;
        }
        let knows = |system: &str, event: &str| instances.iter().all(|instance| instance.has_event(system, event));
        let in_faults: Vec<&str> = match knows("exceptions", "page_fault_user") {
            true => IN_FAULTS.into_iter().filter(|event| knows("kmem", event)).collect(),
            false => Vec::new(),
        };
        armed.events.extend(in_faults.iter().map(|event| format!("kmem:{event}")));
        let mut maxima = None;
        if armed.snapshotter.mode() == SnapshotMode::Onmax {
            armed.snapshotter.leaves_maxima_to_others();
            let (instance, event) = (armed.snapshotter.instance().clone(), trace_leftovers::event_name());
            journal.note(Entry::MadeUpEvent { name: event.clone() })?;
            maxima::define(instance.root(), &event)?;
            let lateness = Lateness { timers: functions.filter(), ..lateness };
            maxima = Some(Maxima { instance, event, lateness });
        }
        let mut recording = Self { instances, in_faults, tids: Vec::new(), maxima };
        recording.only(tids);
        Ok(recording)
    }

    /// Begins the search for maxima among the threads that are followed, once both instances record.
    ///
    /// # Errors
    /// [`TraceError`]; what is overwritten until a spike is reported is then lost.
    pub fn begin(&self, follower: &Instance) -> Result<(), TraceError> {
        let Some(Maxima { instance, event, lateness }) = &self.maxima else { return Ok(()) };
        maxima::find_in_threads(follower, instance, event, lateness).inspect_err(|_| {
            trace_leftovers::take_triggers_off(instance);
            trace_leftovers::take_triggers_off(follower);
        })
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
                    // Faults of other threads are only more to read.
                    let _ = instance.set_event_filter("exceptions", event, &filter);
                }
            }
            for event in &self.in_faults {
                // Without them faults are only recorded less exactly.
                let _ = match tids.len() > FILTERED_MAX {
                    true => instance.disable_event("kmem", event),
                    false => instance
                        .set_event_filter("kmem", event, &filter)
                        .and_then(|()| instance.enable_event("kmem", event)),
                };
            }
        }
        self.tids = tids;
    }
}
