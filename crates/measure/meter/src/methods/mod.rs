//! The methods: one file or directory for each path through the kernel that a sample can measure.
//!
//! A [`MeasuringMethod`] lists its requirements, opens its resources, and returns one [`Station`] per measuring thread:
//! what the thread waits for, and the threads that work for it. Histogram, counters, worst samples, snapshots of the
//! trace and everything after them are the same for all. [`stimulus`] is the thread that gives a stimulus on schedule
//! and its synchronisation with the measuring thread; a method for a system call needs only a [`stimulus::Post`] and a
//! [`stimulus::Receive`].
//!
//! A new method is a variant of [`archive::method::Method`] with its entry in the catalogue there, a file here, and an
//! arm of [`method`].

mod audio;
mod deadline;
mod device;
pub mod error;
mod hardware;
pub mod interrupt;
mod inversion;
mod map;
mod message_queue;
mod migrate;
mod mutex;
mod noise;
mod response;
mod rights;
mod semaphore;
mod signal;
pub mod stimulus;
pub mod storage;
mod timer;
mod uio;

use crate::journal::Journal;
use crate::measure::partner::Partner;
use crate::measure::waiter::{Waiter, WaiterCounts};
use archive::method::state::{MethodState, Obstacle};
use archive::method::{METHODS, Method, MethodRequest};
use archive::settings::{Policy, RunSettings};
use error::MethodError;
use std::path::Path;
use std::sync::Arc;

/// A path through the kernel, before anything is opened.
pub trait MeasuringMethod {
    /// What prevents it on the machine whose files are below `root`; `request` is `None` if only the method itself is
    /// checked. Changes nothing, and needs no privileges.
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle>;

    /// Policy and priority of its measuring threads, unless they are those of the run.
    fn scheduling(&self, _request: &MethodRequest) -> Option<(Policy, u8)> {
        None
    }

    /// Opens its resources. Those that the kernel does not release with the process are written into the journal first.
    ///
    /// # Errors
    /// [`MethodError`].
    fn open(&self, site: &Site, journal: &mut Journal) -> Result<Vec<Station>, MethodError>;
}

/// The conditions in which a method measures.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub settings: &'a RunSettings,
    /// Measured CPUs, ascending.
    pub measured: &'a [u32],
    /// CPUs that this process may use, ascending.
    pub allowed: &'a [u32],
}

impl Site<'_> {
    pub fn request(&self) -> &MethodRequest {
        &self.settings.method
    }

    /// The CPU of the thread that gives the stimulus, from the option `partner`.
    pub fn partner_cpu(&self, cpu: u32) -> u32 {
        if self.request().value("partner") != Some("other") {
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
pub struct Station {
    /// The CPU that is measured, to which the thread is bound unless `pinned` is false.
    pub cpu: u32,
    /// The thread's name in the trace.
    pub name: String,
    /// Replaces the run's setting, if the method requires it.
    pub pinned: Option<bool>,
    pub scheduling: Option<(Policy, u8)>,
    /// Its instants are those of the first station, not spread over the interval.
    pub together: bool,
    pub waiter: Box<dyn Waiter>,
    pub counts: Arc<WaiterCounts>,
    pub partners: Vec<Partner>,
    /// Ends a wait that would last for ever; called repeatedly while the run ends.
    pub release: Option<Release>,
    /// Set where fio makes the requests of this thread.
    pub fio: Option<Arc<storage::fio::Conduct>>,
}

impl Station {
    pub fn new(cpu: u32, waiter: impl Waiter + 'static) -> Self {
        Self {
            cpu,
            name: format!("tardy-cpu{cpu}"),
            pinned: None,
            scheduling: None,
            together: false,
            waiter: Box::new(waiter),
            counts: Arc::default(),
            partners: Vec::new(),
            release: None,
            fio: None,
        }
    }
}

/// The implementation of a method.
pub fn method(name: Method) -> Box<dyn MeasuringMethod> {
    match name {
        Method::Timer => Box::new(timer::Timer),
        Method::Semaphore => Box::new(semaphore::Semaphore),
        Method::Mutex => Box::new(mutex::Mutex),
        Method::Signal => Box::new(signal::Signal),
        Method::MessageQueue => Box::new(message_queue::MessageQueues),
        Method::Inversion => Box::new(inversion::Inversion),
        Method::Migrate => Box::new(migrate::Migrate),
        Method::Deadline => Box::new(deadline::Deadline),
        Method::Noise => Box::new(noise::Noise),
        Method::Hardware => Box::new(hardware::Hardware),
        Method::Map => Box::new(map::Map),
        Method::Rtc => Box::new(interrupt::rtc::RealTimeClock),
        Method::Hpet => Box::new(interrupt::hpet::HpetTimer),
        Method::Uio => Box::new(uio::Uio),
        Method::Udp => Box::new(response::udp::Udp),
        Method::Serial => Box::new(response::serial::Serial),
        Method::Ethernet => Box::new(response::ethernet::Ethernet),
        Method::Gpio => Box::new(response::gpio::Gpio),
        Method::Parallel => Box::new(response::parallel::Parallel),
        Method::Storage => Box::new(storage::Storage),
        Method::Audio => Box::new(audio::Audio),
    }
}

/// Opens the requested method.
///
/// # Errors
/// What is missing, or what could not be opened.
pub fn open(site: &Site, journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
    let request = site.request();
    let method = method(request.name);
    let obstacles = method.obstacles(Path::new("/"), Some(request));
    if !obstacles.is_empty() {
        return Err(MethodError::Impossible { method: request.name, obstacles });
    }
    method.open(site, journal)
}

/// Whether this process can run the requested method, before anything of the machine is changed.
///
/// # Errors
/// Everything that is missing, in the words of [`states`].
pub fn check(settings: &RunSettings) -> Result<(), MethodError> {
    let request = &settings.method;
    let mut obstacles = rights::missing(settings, rights::of_locked_memory().as_ref());
    obstacles.extend(method(request.name).obstacles(Path::new("/"), Some(request)));
    if obstacles.is_empty() { Ok(()) } else { Err(MethodError::Impossible { method: request.name, obstacles }) }
}

/// What a run of each method with this priority lacks on the machine whose files are below `root`; on this machine also
/// the rights of this process.
pub fn states(root: &Path, priority: u8) -> Vec<MethodState> {
    let live = root == Path::new("/");
    let memory = live.then(rights::of_locked_memory).flatten();
    let state = |name: Method| {
        let settings = RunSettings { method: MethodRequest::from(name), priority, ..RunSettings::default() };
        let mut obstacles = if live { rights::missing(&settings, memory.as_ref()) } else { Vec::new() };
        obstacles.extend(method(name).obstacles(root, None));
        MethodState { method: name.name().to_owned(), obstacles }
    };
    METHODS.iter().map(|definition| state(definition.method)).collect()
}
