//! One test from the command line to the exit status.

use super::error::Error;
use super::figures::Figures;
use super::json::Document;
use super::machine::{self, Changes};
use super::markers::Markers;
use super::options::Id;
use super::output_file::OutputFile;
use super::printing::{Ended, Printer, ScreenState, print_all, warn};
use super::request::{Affinity, PolicyName, Request};
use super::status_fifo::StatusFifo;
use super::status_file::{self, StatusFile};
use super::thread::{Job, Shared};
use super::tracing::{self, KeptTrace, Tracing};
use super::{cpu_list, getopt, help, histogram_text, idle_state, plan, results, smi, threads};
use meter::kernel::scheduling::{self, ProcessCpus};
use meter::kernel::sleep::posix_timer;
use meter::kernel::{clock, memory, signals};
use std::fmt::Write;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs with the arguments after the program's name; `program` is the name it was called by. Returns the exit status: 0
/// measured, 1 the limit of `-b` was exceeded, 2 wrong usage, 3 could not measure.
pub fn run(program: &str, words: &[String]) -> i32 {
    let answer = understand(words).and_then(|request| match request {
        Some(request) => test(&request, &[&[program.to_owned()], words].concat().join(" ")),
        None => Ok(0),
    });
    answer.unwrap_or_else(|error| {
        eprintln!("cyclictest: {error}");
        error.exit_status()
    })
}

/// `None` if the command line only asks for a text.
fn understand(words: &[String]) -> Result<Option<Request>, Error> {
    let parsed = getopt::parse(words)?;
    let text = parsed.options.iter().find_map(|given| match given.id {
        Id::Help => Some(help::help()),
        Id::Man => Some(help::man()),
        Id::Version => {
            Some(format!("cyclictest of tardy {}, with the options of rt-tests 2.10\n", env!("CARGO_PKG_VERSION")))
        }
        _ => None,
    });
    if let Some(text) = text {
        std::io::stdout().write_all(text.as_bytes()).map_err(Error::Stdout)?;
        return Ok(None);
    }
    Ok(Some(Request::of(&parsed)?))
}

/// Destinations of the results, known to be writable.
struct Places {
    json: Option<OutputFile>,
    histogram: Option<OutputFile>,
    fifo: Option<StatusFifo>,
}

impl Places {
    fn prepare(request: &Request) -> Result<Self, Error> {
        let file =
            |path: &Option<String>| path.as_deref().filter(|path| *path != "-").map(OutputFile::prepare).transpose();
        let (json, histogram) = (file(&request.json)?, file(&request.histfile)?);
        let fifo = request.fifo.as_deref().map(StatusFifo::make).transpose()?;
        Ok(Self { json, histogram, fifo })
    }
}

/// Result of the measurement.
struct Outcome {
    ended: Ended,
    started_s: i64,
    figures: Vec<Figures>,
    /// ID of the thread that exceeded the limit, and its value.
    broke: Option<(i32, i64)>,
    failures: Vec<String>,
    traces: Vec<KeptTrace>,
    memory_locked_kb: u64,
    dma_latency_us: Option<i32>,
    /// The rest of the last screen or the last samples.
    tail: String,
}

impl Outcome {
    fn nothing(&self) -> bool {
        self.figures.iter().all(|figures| figures.line.cycles == 0)
    }

    fn exit_status(&self) -> i32 {
        if !self.failures.is_empty() || self.nothing() || self.ended == Ended::Unread {
            3
        } else {
            i32::from(self.broke.is_some())
        }
    }
}

fn test(request: &Request, command: &str) -> Result<i32, Error> {
    let _ = rustix::thread::set_name(c"cyclictest");
    if request.smi && !smi::supported(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()) {
        return Err(Error::NoSmiCounter);
    }
    request.notes.iter().for_each(|note| warn(note));
    let cpus = ProcessCpus::read().map_err(Error::AllowedCpus)?;
    let jobs = plan::jobs(request, &cpus, tracing::wanted(request).is_some())?;
    if request.priority == 0 && matches!(request.policy, PolicyName::Fifo | PolicyName::Rr) {
        eprintln!("defaulting realtime priority to {}", jobs[0].priority);
    }
    let mut places = Places::prepare(request)?;
    for other in status_file::others() {
        warn(&format!("another cyclictest (process {other}) is running; the two disturb each other"));
    }
    let signals =
        signals::block_and_receive_also(&[libc::SIGUSR1, libc::SIGUSR2], &[posix_timer::signal(), libc::SIGALRM])
            .map_err(Error::Signals)?;
    let outcome = measure(request, jobs, &cpus, &signals, places.fifo.take())?;
    Ok(write_results(request, command, places, outcome, &signals))
}

fn measure(
    request: &Request,
    jobs: Vec<Job>,
    cpus: &ProcessCpus,
    signals: &OwnedFd,
    fifo: Option<StatusFifo>,
) -> Result<Outcome, Error> {
    let main_cpus = match &request.main_affinity {
        Some(list) => cpu_list::parse(list, &cpus.bindable).map_err(Error::MainAffinity)?,
        None => Vec::new(),
    };
    let allowed = &cpus.mask;
    let status_file = StatusFile::make();
    let mut changes = Changes::default();
    if let Some(deepest) = request.deepest_idle_state {
        let pinned: Vec<u32> = jobs.iter().filter_map(|job| job.cpu).collect();
        idle_state::limit(if pinned.is_empty() { allowed } else { &pinned }, deepest, changes.journal()?)?;
    }
    let armed = machine::arm(request, allowed, &mut changes)?;
    if request.lock_memory {
        memory::lock_all().map_err(Error::MemoryLock)?;
    }
    let mut head = String::new();
    machine::write_cpus(request, allowed, &mut head);
    machine::hold_power(request, &mut changes, &mut head);
    if request.resolution {
        machine::print_resolution(&jobs[0]);
    }
    let shared = Shared::new(machine::open_tracemark(request)?).map_err(Error::EventDescriptor)?;
    let shared = Arc::new(shared);
    let mut markers = Markers::default();
    let (members, handles) = threads::start_all(request, jobs, &shared, armed.as_ref(), &mut markers)?;
    for member in members.iter().filter(|_| request.verbose) {
        if let (Some(cpu), Affinity::List(_)) = (member.job.cpu, &request.affinity) {
            let _ = writeln!(head, "Thread {} using cpu {cpu}.", member.job.thread);
        }
        let _ = writeln!(head, "Thread {} Interval: {}", member.job.thread, member.job.interval_us);
    }
    print_all(&mut head, signals).map_err(Error::Stdout)?;
    if request.debug {
        members.iter().for_each(|member| eprintln!("DEBUG: thread {}: {:?}", member.job.thread, member.effective));
    }
    if !main_cpus.is_empty() {
        scheduling::bind(&main_cpus).map_err(Error::BindMain)?;
    }
    let tracing = armed.map(|armed| tracing::start_beside(armed, request, &members, allowed, &shared));
    let mut tracing = tracing.transpose()?;
    let started_s = clock::realtime_ns() / 1_000_000_000;
    // Set only here, by the only thread that can.
    let schedules = threads::schedules(request, &members, tracing.is_some());
    shared.start.choose(schedules[0].count_from_ns);
    let _ = shared.schedules.set(schedules);
    let mut printer = Printer {
        request,
        members: &members,
        shared: &shared,
        signals,
        fifo,
        status_file,
        tracing: tracing.as_mut(),
        state: ScreenState::default(),
    };
    let ended = printer.print_until_done();
    let failures = threads::join(handles);
    let mut tail = String::new();
    printer.finish(&mut tail);
    drop(printer);
    let (traces, complaints) = tracing.map(Tracing::finish).unwrap_or_default();
    complaints.iter().for_each(|complaint| warn(complaint));
    let figures: Vec<Figures> = members.iter().map(|member| Figures::of(member, request)).collect();
    let broke_by = usize::try_from(shared.broke_by.load(Relaxed) - 1).ok().and_then(|thread| figures.get(thread));
    Ok(Outcome {
        ended,
        started_s,
        broke: broke_by.map(|figures| (figures.line.tid, shared.broke_value.load(Relaxed))),
        figures,
        failures,
        traces,
        memory_locked_kb: memory::locked_kb(),
        dma_latency_us: changes.power.as_ref().map(|(latency_us, _)| *latency_us),
        tail,
    })
}

/// Prints and writes everything; returns the exit status.
fn write_results(request: &Request, command: &str, places: Places, mut outcome: Outcome, signals: &OwnedFd) -> i32 {
    let exit_status = outcome.exit_status();
    let document = Document {
        request,
        command,
        started_s: outcome.started_s,
        ended_s: clock::realtime_ns() / 1_000_000_000,
        exit_status,
        interrupted: outcome.ended == Ended::Signalled,
        memory_locked_kb: outcome.memory_locked_kb,
        dma_latency_us: outcome.dma_latency_us,
        broke: outcome.broke,
        traces: &outcome.traces,
        figures: &outcome.figures,
    };
    let json = request.json.as_ref().map(|_| document.text());
    let mut tail = std::mem::take(&mut outcome.tail);
    results::standard_output(request, &mut tail, &outcome.figures, outcome.broke, &outcome.traces, json.as_deref());
    let mut unwritten = Vec::new();
    if print_all(&mut tail, signals).is_err() && outcome.ended != Ended::Unread {
        unwritten.push("standard output could not be written to the end".to_owned());
    }
    let json = places.json.zip(json).and_then(|(file, text)| file.finish(text.as_bytes()).err());
    unwritten.extend(json.map(|error| error.to_string()));
    if let Some(file) = places.histogram.filter(|_| request.histogram > 0) {
        let block = histogram_text::block(&outcome.figures, request.compat, request.histogram_sum);
        unwritten.extend(file.finish(block.as_bytes()).err().map(|error| error.to_string()));
    }
    outcome.failures.iter().chain(&unwritten).for_each(|why| eprintln!("cyclictest: {why}"));
    if outcome.nothing() && outcome.failures.is_empty() {
        eprintln!("cyclictest: nothing was measured: it was stopped before the first interval had passed");
    }
    results::print_losses(request, &outcome.figures);
    outcome.traces.iter().filter(|trace| !trace.snapshot).for_each(|trace| {
        eprintln!("cyclictest: the trace that the test stopped for is in {}", trace.file);
    });
    if unwritten.is_empty() { exit_status } else { 3 }
}
