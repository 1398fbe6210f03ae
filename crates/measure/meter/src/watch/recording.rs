//! Configures the snapshotter's instances for the watched threads: base events that are recorded for these threads
//! only, and the triggers by which the kernel detects maxima itself.

use super::follower::filter_of;
use super::kept::KeptRecording;
use crate::journal::{Entry, Journal, trace_leftovers};
use crate::trace::arming::Armed;
use crate::trace::error::TraceError;
use crate::trace::maxima::{self, Lateness};
use archive::settings::SnapshotMode;
use archive::watched::chain::ChainEvent;
use archive::watched::guard::EventKind;
use ftrace::tracefs::Instance;
use wakeups::timer_functions::TimerFunctions;

/// Events of the kernel while it handles a page fault: the page was allocated, and charged to the process. There is no
/// event at the end of a fault, so these give a lower bound of its duration. For few threads only: all tasks allocate
/// memory continuously.
const IN_FAULTS: [&str; 2] = ["mm_page_alloc", "rss_stat"];

/// With more threads than this, page faults of all threads are recorded: the length of a filter is limited.
const FILTERED_MAX: usize = 120;

/// A filter that no event passes.
const OF_NO_THREAD: &str = "common_pid == 0 && common_pid == 1";

/// The kernel's own detection of maxima.
struct Maxima {
    instance: Instance,
    event: String,
    lateness: Lateness,
}

/// The instances of a snapshotter whose filters list the watched threads.
#[derive(Default)]
pub struct Recording {
    instances: Vec<Instance>,
    /// Events of [`IN_FAULTS`] that the kernel has, if it has events for faults at all.
    in_faults: Vec<&'static str>,
    /// Events that begin or end chains, of the watched threads.
    of_watched: Vec<ChainEvent>,
    tids: Vec<i32>,
    maxima: Option<Maxima>,
    /// Every recorded event, as `system:name`.
    events: Vec<String>,
    shed: &'static [EventKind],
    /// The instance in memory that a reset keeps.
    pub kept: Option<KeptRecording>,
}

impl Recording {
    /// Replaces the filters of a snapshotter that is armed but not started, and adds the events of chains where they are followed.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn of(
        snapshotter: Option<&mut Armed>,
        functions: &TimerFunctions,
        (tids, in_chains): (&[i32], &[ChainEvent]),
        lateness: Lateness,
        journal: &mut Journal,
    ) -> Result<Self, TraceError> {
        let Some(armed) = snapshotter else {
            return Ok(Self::default());
        };
        let instances: Vec<Instance> = armed.snapshotter.recording().into_iter().cloned().collect();
        for instance in &instances {
            instance.set_event_filter("timer", "hrtimer_start", &filter_of(functions))?;
        }
        let knows = |system: &str, event: &str| instances.iter().all(|instance| instance.has_event(system, event));
        let in_faults: Vec<&str> = match knows("exceptions", "page_fault_user") {
            true => IN_FAULTS.into_iter().filter(|event| knows("kmem", event)).collect(),
            false => Vec::new(),
        };
        armed.events.extend(in_faults.iter().map(|event| format!("kmem:{event}")));
        let mut of_watched = Vec::new();
        for event in in_chains {
            let is_known = knows(&event.system, &event.name);
            let name = format!("{}:{}", event.system, event.name);
            if armed.events.contains(&name) {
                // Of the base set, which every account needs of all threads.
                continue;
            }
            let events = if is_known { &mut armed.events } else { &mut armed.events_absent };
            events.push(name);
            for instance in instances.iter().filter(|_| is_known) {
                if event.of_watched {
                    // Until a thread is watched.
                    instance.set_event_filter(&event.system, &event.name, OF_NO_THREAD)?;
                } else {
                    instance.enable_event(&event.system, &event.name)?;
                }
            }
            of_watched.extend(Some(event.clone()).filter(|event| is_known && event.of_watched));
        }
        let mut maxima = None;
        if armed.snapshotter.mode() == SnapshotMode::Onmax {
            armed.snapshotter.leaves_maxima_to_others();
            let (instance, event) = (armed.snapshotter.instance().clone(), trace_leftovers::event_name());
            journal.note(Entry::MadeUpEvent { name: event.clone() })?;
            maxima::define(instance.root(), &event)?;
            let lateness = Lateness { timers: filter_of(functions), ..lateness };
            maxima = Some(Maxima { instance, event, lateness });
        }
        let events = armed.events.clone();
        let mut recording = Self { instances, in_faults, of_watched, maxima, events, ..Self::default() };
        recording.only(tids);
        Ok(recording)
    }

    /// Starts the detection of maxima among the followed threads, once both instances record.
    ///
    /// # Errors
    /// [`TraceError`]; events overwritten until a spike is reported are then lost.
    pub fn begin(&self, follower: &Instance) -> Result<(), TraceError> {
        let Some(Maxima { instance, event, lateness }) = &self.maxima else { return Ok(()) };
        maxima::find_in_threads(follower, instance, event, lateness).inspect_err(|_| {
            trace_leftovers::take_triggers_off(instance);
            trace_leftovers::take_triggers_off(follower);
        })
    }

    /// Whether the kernel itself detects maxima.
    pub fn finds_maxima(&self) -> bool {
        self.maxima.is_some()
    }

    /// Instant since when the buffers of all CPUs have everything; `None` if the kernel does not say.
    pub fn complete_since_ns(&self) -> Option<i64> {
        let buffers =
            self.instances.iter().flat_map(|instance| instance.cpus().into_iter().map(move |cpu| (instance, cpu)));
        let stats = buffers.filter_map(|(instance, cpu)| instance.cpu_stats(cpu).ok());
        let oldest =
            stats.filter(|stats| stats.entries > 0 && stats.overrun > 0).filter_map(|stats| stats.oldest_event_ts_ns);
        oldest.max().and_then(|ns| i64::try_from(ns).ok())
    }

    /// Records the events of all kinds but these.
    pub fn shed(&mut self, kinds: &'static [EventKind]) {
        for event in &self.events {
            let Some((system, name)) = event.split_once(':') else { continue };
            let kind = EventKind::of(system, name);
            let (was, is) = (self.shed.contains(&kind), kinds.contains(&kind));
            for instance in self.instances.iter().filter(|_| was != is) {
                // An event that stays on costs a little; one that stays off is missing in an account, which names its kind.
                let _ = if is { instance.disable_event(system, name) } else { instance.enable_event(system, name) };
            }
        }
        if let Some(kept) = &self.kept {
            kept.shed(self.shed, kinds);
        }
        self.shed = kinds;
    }

    /// Sets the current threads.
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
                    // Faults of other threads only add to what must be read.
                    let _ = instance.set_event_filter("exceptions", event, &filter);
                }
            }
            for event in &self.in_faults {
                // Without them, faults are only recorded less exactly.
                let _ = match tids.len() > FILTERED_MAX || self.shed.contains(&EventKind::of("kmem", event)) {
                    true => instance.disable_event("kmem", event),
                    false => instance
                        .set_event_filter("kmem", event, &filter)
                        .and_then(|()| instance.enable_event("kmem", event)),
                };
            }
            for ChainEvent { system, name, .. } in &self.of_watched {
                // Without a filter, the account finds the stages among all threads.
                let _ = instance.set_event_filter(system, name, &filter);
                if !self.shed.contains(&EventKind::of(system, name)) {
                    let _ = instance.enable_event(system, name);
                }
            }
        }
        self.tids = tids;
    }
}
