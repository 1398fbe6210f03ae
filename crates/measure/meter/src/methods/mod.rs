//! The methods: one file or directory for each path through the kernel that a sample can measure.
//!
//! A [`MeasuringMethod`] is implemented for the options of a method. It lists its requirements, opens its resources, and returns one
//! [`ThreadSetup`] per measuring thread: what the thread waits for, and the threads that work for it. Histogram, counters, worst
//! samples, snapshots of the trace and everything after them are the same for all. [`stimulus`] is the thread that gives a stimulus
//! on schedule and its synchronisation with the measuring thread; a method for a system call needs only a [`stimulus::Post`] and a
//! [`stimulus::Receive`].
//!
//! A new method is a file in [`archive::method`] with its line in the list there, a file here, and an arm of [`method`]. Methods that
//! need a device are in a crate of their own, which the program passes as [`OtherMethods`].

mod deadline;
pub mod error;
mod hardware;
mod inversion;
mod map;
mod message_queue;
mod migrate;
mod mutex;
mod noise;
pub mod program;
mod rights;
mod semaphore;
mod signal;
pub mod stimulus;
pub mod storage;
mod timer;

use crate::journal::Journal;
use crate::measure::loss_counter::LossCounter;
use crate::measure::partner::Partner;
use crate::measure::waiter::{Waiter, WaiterCounts};
use archive::method::state::{MethodState, Obstacle};
use archive::method::{METHODS, Method, MethodOptions, MethodRequest, Partner as PartnerCpu};
use archive::settings::{Policy, RunSettings};
use error::MethodError;
use program::RequestingProgram;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path through the kernel with the options of a run, before anything is opened.
pub trait MeasuringMethod {
    /// Hindrances on the machine whose files are below `root`. Changes nothing, and needs no privileges.
    fn obstacles(&self, root: &Path) -> Vec<Obstacle>;

    /// Policy and priority of its measuring threads, unless they are those of the run.
    fn scheduling(&self) -> Option<(Policy, u8)> {
        None
    }

    /// Whether a sample is known when it ends, so that the trace still shows it.
    fn sees_samples_at_once(&self) -> bool {
        true
    }

    /// The files, directories and devices whose block requests are recorded with the samples.
    fn block_places(&self, _settings: &RunSettings) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Opens its resources. Those that the kernel does not release with the process are written into the journal first.
    ///
    /// # Errors
    /// [`MethodError`].
    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError>;
}

/// The conditions in which a method measures.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    pub settings: &'a RunSettings,
    /// Measured CPUs, ascending.
    pub measured: &'a [u32],
    /// CPUs that this process may use, ascending.
    pub allowed: &'a [u32],
}

impl RunContext<'_> {
    /// The CPU of the thread that gives the stimulus.
    pub fn partner_cpu(&self, cpu: u32, partner: PartnerCpu) -> u32 {
        if partner == PartnerCpu::Same {
            return cpu;
        }
        let at = self.allowed.iter().position(|allowed| *allowed == cpu).unwrap_or(0);
        self.allowed.get((at + 1) % self.allowed.len().max(1)).copied().unwrap_or(cpu)
    }

    /// Policy and priority of a thread so much less urgent than the measuring thread.
    pub fn less_urgent(&self, by: u8) -> (Policy, u8) {
        match self.settings.policy {
            Policy::Deadline => (Policy::Fifo, 1),
            policy => (policy, self.settings.priority.saturating_sub(by).max(1)),
        }
    }

    /// Policy and priority of a thread that gives the stimulus on schedule: one less urgent than the measuring thread, which
    /// preempts it at once.
    pub fn below(&self) -> (Policy, u8) {
        self.less_urgent(1)
    }
}

/// Ends a wait, from another thread.
pub type Release = Box<dyn Fn() + Send>;

/// The resources of one measuring thread.
pub struct ThreadSetup {
    /// The CPU that is measured, to which the thread is bound unless `pinned` is false.
    pub cpu: u32,
    /// The thread's name in the trace.
    pub name: String,
    /// Replaces the run's setting, if the method requires it.
    pub pinned: Option<bool>,
    pub scheduling: Option<(Policy, u8)>,
    /// Its instants are those of the first thread, not spread over the interval.
    pub together: bool,
    /// The shortest distance of its samples, unless it is the interval of the run.
    pub shortest_ns: Option<u64>,
    pub waiter: Box<dyn Waiter>,
    pub counts: Arc<WaiterCounts>,
    /// Losses that only this method has.
    pub losses: Vec<Arc<LossCounter>>,
    pub partners: Vec<Partner>,
    /// Ends a wait that would last for ever; called repeatedly while the run ends.
    pub release: Option<Release>,
    /// The maker of the requests in place of this thread; one for all threads of a run.
    pub program: Option<Arc<dyn RequestingProgram>>,
}

impl ThreadSetup {
    pub fn new(cpu: u32, waiter: impl Waiter + 'static) -> Self {
        Self {
            cpu,
            name: format!("tardy-cpu{cpu}"),
            pinned: None,
            scheduling: None,
            together: false,
            shortest_ns: None,
            waiter: Box::new(waiter),
            counts: Arc::default(),
            losses: Vec::new(),
            partners: Vec::new(),
            release: None,
            program: None,
        }
    }
}

impl<M: MeasuringMethod + ?Sized> MeasuringMethod for &M {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        (**self).obstacles(root)
    }

    fn scheduling(&self) -> Option<(Policy, u8)> {
        (**self).scheduling()
    }

    fn sees_samples_at_once(&self) -> bool {
        (**self).sees_samples_at_once()
    }

    fn block_places(&self, settings: &RunSettings) -> Vec<PathBuf> {
        (**self).block_places(settings)
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        (**self).open(run, journal)
    }
}

/// Methods of another crate: the implementation for these options, if it has one.
pub type OtherMethods = for<'a> fn(&'a MethodOptions) -> Option<Box<dyn MeasuringMethod + 'a>>;

/// The implementation of a method, here or among `others`.
///
/// # Errors
/// [`MethodError::OfAnotherVersion`].
pub fn method(request: &MethodRequest, others: OtherMethods) -> Result<Box<dyn MeasuringMethod + '_>, MethodError> {
    let unknown = || MethodError::OfAnotherVersion { request: request.text() };
    if !request.unknown.is_empty() {
        return Err(unknown());
    }
    Ok(match &request.options {
        MethodOptions::Timer(options) => Box::new(options),
        MethodOptions::Semaphore(options) => Box::new(options),
        MethodOptions::Mutex(options) => Box::new(options),
        MethodOptions::Signal(options) => Box::new(options),
        MethodOptions::MessageQueue(options) => Box::new(options),
        MethodOptions::Inversion(options) => Box::new(options),
        MethodOptions::Migrate(options) => Box::new(options),
        MethodOptions::Deadline(options) => Box::new(options),
        MethodOptions::Noise(options) => Box::new(options),
        MethodOptions::Hardware(options) => Box::new(options),
        MethodOptions::Map(options) => Box::new(options),
        MethodOptions::Storage(options) => Box::new(options),
        options => others(options).ok_or_else(unknown)?,
    })
}

/// Opens the requested method.
///
/// # Errors
/// Something is missing, or could not be opened.
pub fn open(
    method: &dyn MeasuringMethod,
    run: &RunContext,
    journal: &mut Journal,
) -> Result<Vec<ThreadSetup>, MethodError> {
    possible(&run.settings.method, method.obstacles(Path::new("/")))?;
    method.open(run, journal)
}

/// Whether this process can run the requested method, before anything of the machine is changed.
///
/// # Errors
/// Everything that is missing, in the words of [`states`].
pub fn check(method: &dyn MeasuringMethod, settings: &RunSettings) -> Result<(), MethodError> {
    let mut obstacles = rights::missing(settings, method.scheduling(), rights::of_locked_memory().as_ref());
    obstacles.extend(method.obstacles(Path::new("/")));
    possible(&settings.method, obstacles)
}

fn possible(request: &MethodRequest, obstacles: Vec<Obstacle>) -> Result<(), MethodError> {
    match request.method() {
        Some(method) if !obstacles.is_empty() => Err(MethodError::Impossible { method, obstacles }),
        _ => Ok(()),
    }
}

/// Hindrances of a run of each method with this priority on the machine whose files are below `root`; on this machine also
/// the rights of this process.
pub fn states(root: &Path, priority: u8, others: OtherMethods) -> Vec<MethodState> {
    let live = root == Path::new("/");
    let memory = live.then(rights::of_locked_memory).flatten();
    let state = |name: Method| {
        let settings = RunSettings { method: name.into(), priority, ..RunSettings::default() };
        let obstacles = method(&settings.method, others).map(|method| {
            let rights = live.then(|| rights::missing(&settings, method.scheduling(), memory.as_ref()));
            rights.into_iter().flatten().chain(method.obstacles(root)).collect()
        });
        obstacles.ok().map(|obstacles| MethodState { method: name.name().to_owned(), obstacles })
    };
    METHODS.iter().filter_map(|definition| state(definition.method)).collect()
}

/// Hindrances of a run with the method of this text.
#[cfg(test)]
fn obstacles_of(request: &str, root: &Path) -> Vec<Obstacle> {
    method(&MethodRequest::parse(request).unwrap(), |_| None).unwrap().obstacles(root)
}
