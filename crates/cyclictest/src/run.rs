//! One test from the command line to the exit status.

use super::figures::Figures;
use super::json::Document;
use super::machine::{self, Changes};
use super::markers::Markers;
use super::options::Id;
use super::output_file::OutputFile;
use super::refusal::Refusal;
use super::request::{Affinity, PolicyName, Request};
use super::status_fifo::StatusFifo;
use super::status_file::{self, StatusFile};
use super::thread::{Job, Shared};
use super::tracing::{self, KeptTrace, Tracing};
use super::watch::{Ended, ScreenState, Watch, print_all};
use super::{cpu_list, getopt, help, histogram_text, idle_state, plan, results, smi, team};
use meter::kernel::sleep::posix_timer;
use meter::kernel::{clock, memory, scheduling, signals};
use std::fmt::Write;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs the words behind the program's name; `program` is how it was called. Answers the exit status: 0 measured, 1 the
/// limit of `-b` was exceeded, 2 wrong usage, 3 could not measure.
pub fn run(program: &str, words: &[String]) -> i32 {
    let answer = understand(words).and_then(|request| match request {
        Some(request) => test(&request, &[&[program.to_owned()], words].concat().join(" ")),
        None => Ok(0),
    });
    answer.unwrap_or_else(|refusal| {
        eprintln!("cyclictest: {}", refusal.text);
        refusal.exit_status
    })
}

/// `None` when the command line only asks for a text.
fn understand(words: &[String]) -> Result<Option<Request>, Refusal> {
    let parsed = getopt::parse(words).map_err(Refusal::usage)?;
    let text = parsed.options.iter().find_map(|given| match given.id {
        Id::Help => Some(help::help()),
        Id::Man => Some(help::man()),
        Id::Version => {
            Some(format!("cyclictest of tardy {}, with the options of rt-tests 2.10\n", env!("CARGO_PKG_VERSION")))
        }
        _ => None,
    });
    if let Some(text) = text {
        std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| Refusal::unable(format!("standard output: {error}")))?;
        return Ok(None);
    }
    Request::of(&parsed).map(Some).map_err(Refusal::usage)
}

/// A line that hinders nothing.
pub fn warn(text: &str) {
    eprintln!("WARN: {text}");
}

/// Where results go, known to be writable.
struct Places {
    json: Option<OutputFile>,
    histogram: Option<OutputFile>,
    fifo: Option<StatusFifo>,
}

impl Places {
    fn prepare(request: &Request) -> Result<Self, Refusal> {
        let file = |path: &Option<String>| {
            path.as_deref().filter(|path| *path != "-").map(OutputFile::prepare).transpose().map_err(Refusal::unable)
        };
        let (json, histogram) = (file(&request.json)?, file(&request.histfile)?);
        let fifo = request.fifo.as_deref().map(StatusFifo::make).transpose().map_err(Refusal::unable)?;
        Ok(Self { json, histogram, fifo })
    }
}

/// How the measuring went.
struct Outcome {
    ended: Ended,
    started_s: i64,
    figures: Vec<Figures>,
    /// Thread id that broke the limit, and its value.
    broke: Option<(i32, i64)>,
    failures: Vec<String>,
    traces: Vec<KeptTrace>,
    memory_locked_kb: u64,
    dma_latency_us: Option<i32>,
    /// What the last screen or the last samples have left to print.
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

fn test(request: &Request, command: &str) -> Result<i32, Refusal> {
    let _ = rustix::thread::set_name(c"cyclictest");
    if request.smi && !smi::supported(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()) {
        return Err(Refusal::unable("SMI counter is not supported on this processor; leave out --smi"));
    }
    request.notes.iter().for_each(|note| warn(note));
    let allowed = scheduling::allowed_cpus(0)
        .map_err(|error| Refusal::unable(format!("the allowed CPUs cannot be read: {error}")))?;
    let jobs = plan::jobs(request, &allowed, tracing::wanted(request).is_some())?;
    if request.priority == 0 && matches!(request.policy, PolicyName::Fifo | PolicyName::Rr) {
        eprintln!("defaulting realtime priority to {}", jobs[0].priority);
    }
    let mut places = Places::prepare(request)?;
    for other in status_file::others() {
        warn(&format!("another cyclictest (process {other}) is running; the two disturb each other"));
    }
    let signals =
        signals::block_and_watch_also(&[libc::SIGUSR1, libc::SIGUSR2], &[posix_timer::signal(), libc::SIGALRM])
            .map_err(|error| Refusal::unable(format!("signals cannot be watched: {error}")))?;
    let outcome = measure(request, jobs, &allowed, &signals, places.fifo.take())?;
    Ok(tell(request, command, places, outcome, &signals))
}

fn measure(
    request: &Request,
    jobs: Vec<Job>,
    allowed: &[u32],
    signals: &OwnedFd,
    fifo: Option<StatusFifo>,
) -> Result<Outcome, Refusal> {
    let main_cpus = match &request.main_affinity {
        Some(list) => cpu_list::parse(list, allowed).map_err(|why| Refusal::usage(format!("--mainaffinity: {why}")))?,
        None => Vec::new(),
    };
    let status_file = StatusFile::make();
    let mut changes = Changes::default();
    if let Some(deepest) = request.deepest_idle_state {
        let pinned: Vec<u32> = jobs.iter().filter_map(|job| job.cpu).collect();
        idle_state::limit(if pinned.is_empty() { allowed } else { &pinned }, deepest, changes.journal()?)?;
    }
    let armed = machine::arm(request, allowed, &mut changes)?;
    if request.lock_memory {
        memory::lock_all().map_err(|error| {
            Refusal::unable(format!(
                "memory cannot be locked: {error}; run as root, raise `ulimit -l`, or leave out -m"
            ))
        })?;
    }
    let mut head = String::new();
    machine::tell_cpus(request, allowed, &mut head);
    machine::hold_power(request, &mut changes, &mut head);
    if request.resolution {
        machine::tell_resolution(&jobs[0]);
    }
    let shared = Shared::new(machine::open_tracemark(request)?)
        .map_err(|error| Refusal::unable(format!("no event descriptor: {error}")))?;
    let shared = Arc::new(shared);
    let mut markers = Markers::default();
    let (members, handles) = team::assemble(request, jobs, &shared, armed.as_ref(), &mut markers)?;
    for member in members.iter().filter(|_| request.verbose) {
        if let (Some(cpu), Affinity::List(_)) = (member.job.cpu, &request.affinity) {
            let _ = writeln!(head, "Thread {} using cpu {cpu}.", member.job.thread);
        }
        let _ = writeln!(head, "Thread {} Interval: {}", member.job.thread, member.job.interval_us);
    }
    print_all(&mut head, signals).map_err(|error| Refusal::unable(format!("standard output: {error}")))?;
    if request.debug {
        members.iter().for_each(|member| eprintln!("DEBUG: thread {}: {:?}", member.job.thread, member.standing));
    }
    if !main_cpus.is_empty() {
        scheduling::bind(&main_cpus).map_err(|error| Refusal::unable(format!("--mainaffinity: {error}")))?;
    }
    let tracing = armed.map(|armed| tracing::start_beside(armed, request, &members, allowed, &shared));
    let mut tracing = tracing.transpose()?;
    let started_s = clock::realtime_ns() / 1_000_000_000;
    // Set once, here, by the only thread that can.
    let schedules = team::schedules(request, &members, tracing.is_some());
    shared.start.choose(schedules[0].count_from_ns);
    let _ = shared.schedules.set(schedules);
    let mut watch = Watch {
        request,
        members: &members,
        shared: &shared,
        signals,
        fifo,
        status_file,
        tracing: tracing.as_mut(),
        state: ScreenState::default(),
    };
    let ended = watch.until_done();
    let failures = team::join(handles);
    let mut tail = String::new();
    watch.finish(&mut tail);
    drop(watch);
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

/// Prints and writes everything; answers the exit status.
fn tell(request: &Request, command: &str, places: Places, mut outcome: Outcome, signals: &OwnedFd) -> i32 {
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
    unwritten.extend(places.json.zip(json).and_then(|(file, text)| file.finish(text.as_bytes()).err()));
    if let Some(file) = places.histogram.filter(|_| request.histogram > 0) {
        let block = histogram_text::block(&outcome.figures, request.compat, request.histogram_sum);
        unwritten.extend(file.finish(block.as_bytes()).err());
    }
    outcome.failures.iter().chain(&unwritten).for_each(|why| eprintln!("cyclictest: {why}"));
    if outcome.nothing() && outcome.failures.is_empty() {
        eprintln!("cyclictest: nothing was measured: it was stopped before the first interval had passed");
    }
    results::tell_losses(request, &outcome.figures);
    outcome.traces.iter().filter(|trace| !trace.snapshot).for_each(|trace| {
        eprintln!("cyclictest: the trace that the test stopped for is in {}", trace.file);
    });
    if unwritten.is_empty() { exit_status } else { 3 }
}
