//! One test from the command line to the exit status.

use super::figures::{Figures, Member};
use super::json::Document;
use super::options::Id;
use super::output_file::OutputFile;
use super::plan::{self, over_ns};
use super::refusal::Refusal;
use super::request::{Affinity, PolicyName, Request};
use super::status_fifo::StatusFifo;
use super::status_file::{self, StatusFile};
use super::tally::{Tally, TallyRequest};
use super::thread::{self, Job, Pages, Shared, Standing};
use super::tracing::{self, KeptTrace, Tracing};
use super::watch::{Ended, ScreenState, Watch, print};
use super::{cpu_list, getopt, help, histogram_text, idle_state, smi, text};
use crate::journal::{Header, Journal, restore, state_directory};
use crate::kernel::dma_latency::DmaLatencyRequest;
use crate::kernel::{clock, memory, scheduling, signals};
use crate::measure::books::Books;
use crate::measure::cycle::Schedule;
use crate::source::posix_timer;
use crate::trace::capture::Watched;
use crate::trace::recorder::Armed;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// A measuring thread that sleeps longer than this after the end is not waited for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs the words behind the program's name; `program` is how it was called. Answers the exit status: 0 measured, 1 the
/// limit of `-b` was exceeded, 2 wrong usage, 3 could not measure.
pub fn run(program: &str, words: &[String]) -> i32 {
    let answer = understand(words).and_then(|request| match request {
        Some(request) => measure(&request, &[&[program.to_owned()], words].concat().join(" ")),
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
        print(&text).map_err(|error| Refusal::unable(format!("standard output: {error}")))?;
        return Ok(None);
    }
    Request::of(&parsed).map(Some).map_err(Refusal::usage)
}

fn warn(text: &str) {
    eprintln!("WARN: {text}");
}

/// What is put back when the test is over, however it ends.
#[derive(Default)]
struct Changes {
    journal: Option<Journal>,
    power: Option<(i32, DmaLatencyRequest)>,
}

impl Changes {
    fn journal(&mut self) -> Result<&mut Journal, Refusal> {
        if self.journal.is_none() {
            let directory = state_directory().join("journal");
            // What an earlier process that was killed left behind would be in the way of this one.
            drop(restore::restore_all(&directory));
            let journal = Journal::begin(&directory, &Header::of_this_process());
            self.journal = Some(journal.map_err(|error| Refusal::unable(error.to_string()))?);
        }
        self.journal.as_mut().ok_or_else(|| Refusal::unable("no journal"))
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for left in self.journal.take().map(Journal::undo).unwrap_or_default() {
            warn(&format!("not put back: {left}; run `tardy-meter restore`"));
        }
    }
}

fn measure(request: &Request, command: &str) -> Result<i32, Refusal> {
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
    let main_cpus = request
        .main_affinity
        .as_deref()
        .map(|text| cpu_list::parse(text, &allowed).map_err(|why| Refusal::usage(format!("--mainaffinity: {why}"))));
    let main_cpus = main_cpus.transpose()?;
    let prepare = |path: &Option<String>| {
        path.as_deref().filter(|path| *path != "-").map(OutputFile::prepare).transpose().map_err(Refusal::unable)
    };
    let (json_file, histogram_file) = (prepare(&request.json)?, prepare(&request.histfile)?);
    let fifo = request.fifo.as_deref().map(StatusFifo::make).transpose().map_err(Refusal::unable)?;
    for other in status_file::others() {
        warn(&format!("another cyclictest (process {other}) is running; the two disturb each other"));
    }
    let signals =
        signals::block_and_watch_also(&[libc::SIGUSR1, libc::SIGUSR2], &[posix_timer::signal(), libc::SIGALRM])
            .map_err(|error| Refusal::unable(format!("signals cannot be watched: {error}")))?;
    let status_file = StatusFile::make();
    let mut changes = Changes::default();
    let cpus: Vec<u32> = jobs.iter().filter_map(|job| job.cpu).collect();
    if let Some(deepest) = request.deepest_idle_state {
        idle_state::limit(if cpus.is_empty() { &allowed } else { &cpus }, deepest, changes.journal()?)?;
    }
    let armed = arm(request, &allowed, &mut changes)?;
    if request.lock_memory {
        memory::lock_all().map_err(|error| {
            Refusal::unable(format!(
                "memory cannot be locked: {error}; run as root, raise `ulimit -l`, or leave out -m"
            ))
        })?;
    }
    let mut head = String::new();
    if request.verbose {
        let _ = write!(head, "Max CPUs = {}\nOnline CPUs = {}\n", cpu_count("possible"), cpu_count("online"));
        if let Affinity::List(list) = &request.affinity {
            let _ = writeln!(head, "Using {} cpus.", cpu_list::parse(list, &allowed).map_or(0, |cpus| cpus.len()));
        }
    }
    hold_power(request, &mut changes, &mut head);
    if request.resolution {
        tell_resolution(&jobs[0]);
    }
    let shared = Arc::new(
        Shared::new(open_tracemark(request)?)
            .map_err(|error| Refusal::unable(format!("no event descriptor: {error}")))?,
    );
    let (members, handles) = assemble(request, jobs, &shared, armed.as_ref())?;
    if request.verbose {
        for member in &members {
            if let (Some(cpu), Affinity::List(_)) = (member.job.cpu, &request.affinity) {
                let _ = writeln!(head, "Thread {} using cpu {cpu}.", member.job.thread);
            }
            let _ = writeln!(head, "Thread {} Interval: {}", member.job.thread, member.job.interval_us);
        }
    }
    print(&head).map_err(|error| Refusal::unable(format!("standard output: {error}")))?;
    if request.debug {
        members.iter().for_each(|member| eprintln!("DEBUG: thread {}: {:?}", member.job.thread, member.standing));
    }
    if let Some(cpus) = main_cpus {
        scheduling::bind(&cpus).map_err(|error| Refusal::unable(format!("--mainaffinity: {error}")))?;
    }
    let mut tracing = armed.map(|armed| start_tracing(armed, request, &members, &allowed, &shared)).transpose()?;
    let started_s = clock::realtime_ns() / 1_000_000_000;
    let traced = tracing.is_some();
    // Set once, here, by the only thread that can.
    let _ = shared.schedules.set(schedules(request, &members, traced));
    let mut watch = Watch {
        request,
        members: &members,
        shared: &shared,
        signals: &signals,
        fifo,
        status_file,
        tracing: tracing.as_mut(),
        state: ScreenState::default(),
    };
    let ended = watch.until_done();
    let failures = join(handles);
    let mut tail = String::new();
    watch.finish(&mut tail);
    drop(watch);
    let (traces, complaints) = tracing.map(Tracing::finish).unwrap_or_default();
    let power = changes.power.as_ref().map(|(latency_us, _)| *latency_us);
    let memory_locked_kb = memory::locked_kb();
    drop(changes);
    complaints.iter().for_each(|complaint| warn(complaint));
    failures.iter().for_each(|failure| eprintln!("cyclictest: {failure}"));
    let figures: Vec<Figures> = members.iter().map(|member| Figures::of(member, request)).collect();
    let broke_by = shared.broke_by.load(Relaxed) - 1;
    let broke = figures.get(broke_by.max(0) as usize).filter(|_| broke_by >= 0);
    let broke = broke.map(|figures| (figures.line.tid, shared.broke_value.load(Relaxed)));
    let nothing = figures.iter().all(|figures| figures.line.cycles == 0);
    let exit_status = match () {
        () if !failures.is_empty() || nothing || ended == Ended::Unread => 3,
        () if broke.is_some() => 1,
        () => 0,
    };
    let document = Document {
        request,
        command,
        started_s,
        ended_s: clock::realtime_ns() / 1_000_000_000,
        exit_status,
        interrupted: ended == Ended::Signalled,
        memory_locked_kb,
        dma_latency_us: power,
        broke,
        traces: &traces,
        figures: &figures,
    };
    let json = request.json.as_ref().map(|_| document.text());
    results(request, &mut tail, &figures, broke, &traces, json.as_deref());
    let mut unwritten = Vec::new();
    if print(&tail).is_err() && ended != Ended::Unread {
        unwritten.push("standard output could not be written to the end".to_owned());
    }
    unwritten.extend(json_file.zip(json).and_then(|(file, text)| file.finish(text.as_bytes()).err()));
    if let Some(file) = histogram_file.filter(|_| request.histogram > 0) {
        let block = histogram_text::block(&figures, request.compat, request.histogram_sum);
        unwritten.extend(file.finish(block.as_bytes()).err());
    }
    unwritten.iter().for_each(|why| eprintln!("cyclictest: {why}"));
    if nothing && failures.is_empty() {
        eprintln!("cyclictest: nothing was measured: it was stopped before the first interval had passed");
    }
    tell_losses(request, &figures);
    traces.iter().filter(|trace| !trace.snapshot).for_each(|trace| {
        eprintln!("cyclictest: the trace that the test stopped for is in {}", trace.file);
    });
    Ok(if unwritten.is_empty() { exit_status } else { 3 })
}

/// A recorder when one is wanted; when it is only helpful, the test goes on without.
fn arm(request: &Request, allowed: &[u32], changes: &mut Changes) -> Result<Option<Armed>, Refusal> {
    let Some(required) = tracing::wanted(request) else { return Ok(None) };
    let cpus = cpu_count("possible").max(allowed.len());
    match changes.journal().and_then(|journal| tracing::arm(request, cpus, journal)) {
        Ok(armed) => Ok(Some(armed)),
        Err(refusal) if required => Err(refusal),
        Err(refusal) => {
            warn(&format!("no trace of the break will be kept: {}", refusal.text));
            Ok(None)
        }
    }
}

fn start_tracing(
    armed: Armed,
    request: &Request,
    members: &[Member],
    allowed: &[u32],
    shared: &Shared,
) -> Result<Tracing, Refusal> {
    let watched = members
        .iter()
        .map(|member| Watched {
            thread: member.job.thread,
            tid: member.standing.tid,
            books: member.pages.books.clone(),
        })
        .collect();
    Tracing::start(armed, request, watched, allowed.to_vec(), shared.schedules.clone())
        .map_err(|why| Refusal::unable(format!("the recorder did not start: {why}")))
}

fn hold_power(request: &Request, changes: &mut Changes, head: &mut String) {
    if let Some(why) = request.keep_power {
        return warn(why);
    }
    let latency_us = request.dma_latency_us;
    match DmaLatencyRequest::hold(latency_us) {
        Ok(held) => {
            let _ = writeln!(head, "# /dev/cpu_dma_latency set to {latency_us}us");
            changes.power = Some((latency_us, held));
        }
        Err(error) => warn(&format!(
            "/dev/cpu_dma_latency could not be set to {latency_us}us: {error}; deep idle states may be in the latencies"
        )),
    }
}

fn tell_resolution(job: &Job) {
    let reported = rustix::time::clock_getres(job.clock);
    warn(&format!("reported clock resolution: {} nsec", reported.tv_sec * 1_000_000_000 + reported.tv_nsec));
    warn(&format!("measured clock resolution approximately: {} nsec", clock::step_of_ns(job.clock)));
}

fn open_tracemark(request: &Request) -> Result<Option<(std::fs::File, std::fs::File)>, Refusal> {
    if !request.tracemark || request.breaktrace.is_none() {
        return Ok(None);
    }
    let tracefs = crate::trace::mount::find_or_mount()
        .map_err(|error| Refusal::unable(format!("--tracemark: failed to {error}; run as root")))?;
    let open = |name: &str| {
        let path = tracefs.root().join(name);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(|error| Refusal::unable(format!("--tracemark: {}: {error}; run as root", path.display())))
    };
    Ok(Some((open("trace_marker")?, open("tracing_on")?)))
}

type Handles = Vec<(u32, JoinHandle<Result<(), String>>)>;

/// Starts every thread and sees that each is what was asked for.
fn assemble(
    request: &Request,
    jobs: Vec<Job>,
    shared: &Arc<Shared>,
    armed: Option<&Armed>,
) -> Result<(Vec<Member>, Handles), Refusal> {
    let tally = TallyRequest {
        nanoseconds: request.nanoseconds,
        histogram: request.histogram,
        spike: request.spike,
        spike_nodes: request.spike_nodes,
        stream: request.verbose,
    };
    let (ready, answers) = channel();
    let (mut handles, mut pages) = (Vec::new(), Vec::new());
    for job in &jobs {
        let own = Pages { books: Arc::new(Books::new(0)), tally: Arc::new(Tally::new(&tally)) };
        let marker = match armed {
            Some(armed) if armed.recorder.needs_marker() => Some(armed.recorder.marker().map_err(Refusal::unable)?),
            _ => None,
        };
        let handle =
            thread::spawn(job.clone(), own.clone(), shared.clone(), marker, ready.clone()).map_err(|error| {
                Refusal::unable(format!("a measuring thread cannot be started: {error}; choose a smaller -t"))
            })?;
        handles.push((job.thread, handle));
        pages.push(own);
    }
    drop(ready);
    let mut standings: Vec<Option<Standing>> = vec![None; jobs.len()];
    for (thread, answer) in answers.iter().take(jobs.len()) {
        let standing = answer.map_err(|why| {
            Refusal::unable(format!(
                "thread {thread} {why}; run as root, raise `ulimit -r`, or setcap cap_sys_nice,cap_ipc_lock+ep on it"
            ))
        })?;
        standings[thread as usize] = Some(standing);
    }
    let members = jobs.into_iter().zip(pages).zip(standings).map(|((job, pages), standing)| {
        let standing = standing.ok_or_else(|| Refusal::unable("a measuring thread died while it was set up"))?;
        Ok(Member { job, standing, pages })
    });
    Ok((members.collect::<Result<_, Refusal>>()?, handles))
}

fn schedules(request: &Request, members: &[Member], traced: bool) -> Vec<Schedule> {
    let count = members.len() as i64;
    let clock = members[0].job.clock;
    let mut start_ns = thread::soon_ns(clock);
    if let Some(offset_us) = request.secaligned_us {
        let fraction_ns = start_ns.rem_euclid(1_000_000_000);
        // Less than a tenth of a second would be too short to be ready on a slow machine.
        let seconds = if fraction_ns > 900_000_000 { 2 } else { 1 };
        start_ns += seconds * 1_000_000_000 - fraction_ns + offset_us * 1000;
    }
    let duration_ns = request.duration_s.map_or(i64::MAX, |seconds| seconds * 1_000_000_000 + 1);
    let over = |limit: Option<i64>| limit.map_or(i64::MAX, |limit| over_ns(limit, request.nanoseconds));
    let schedule = |member: &Member| {
        let interval_ns = member.job.interval_us * 1000;
        let thread = i64::from(member.job.thread);
        let offset_ns = match (request.aligned_us, request.secaligned_us) {
            (Some(offset_us), _) => offset_us * 1000 * thread,
            (None, Some(_)) => 0,
            // Threads that nobody aligned do not all wake in the same instant.
            (None, None) => interval_ns * thread / count,
        };
        Schedule {
            interval_ns,
            first_due_ns: start_ns + offset_ns + interval_ns,
            // The recorder begins then; without one every wake-up counts, whatever is done to the clock.
            count_from_ns: if traced { start_ns } else { i64::MIN },
            end_ns: start_ns.saturating_add(duration_ns),
            cycles_max: request.loops.unwrap_or(u64::MAX),
            limit_ns: over(request.breaktrace).saturating_sub(1),
            spike_threshold_ns: over(request.snapshot),
            traced,
        }
    };
    members.iter().map(schedule).collect()
}

/// Waits a moment for every thread; answers why some could not go on. Those that still sleep are left asleep.
fn join(handles: Handles) -> Vec<String> {
    let until_ns = clock::monotonic_ns() + PATIENCE.as_nanos() as i64;
    while handles.iter().any(|(_, handle)| !handle.is_finished()) && clock::monotonic_ns() < until_ns {
        std::thread::sleep(Duration::from_millis(1));
    }
    let finished = handles.into_iter().filter(|(_, handle)| handle.is_finished());
    finished
        .filter_map(|(thread, handle)| match handle.join() {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(format!("the measuring thread {thread} {why}")),
            Err(_) => Some(format!("the measuring thread {thread} died; the numbers are not to be used")),
        })
        .collect()
}

/// Everything on standard output behind the last sample.
fn results(
    request: &Request,
    tail: &mut String,
    figures: &[Figures],
    broke: Option<(i32, i64)>,
    traces: &[KeptTrace],
    json: Option<&str>,
) {
    if request.json.as_deref() == Some("-") {
        tail.push_str(json.unwrap_or_default());
    }
    if request.quiet && request.histogram == 0 {
        figures.iter().for_each(|figures| text::thread_line(tail, &figures.line, request.nanoseconds));
    }
    if request.spike.is_some() {
        text::spikes(tail, figures, request.spike_nodes);
    }
    if request.histogram > 0 && request.histfile.is_none() {
        tail.push_str(&histogram_text::block(figures, request.compat, request.histogram_sum));
    }
    if request.breaktrace.is_some() {
        text::break_lines(tail, figures, broke);
    }
    if request.snapshot.is_some() {
        tracing::snapshot_lines(tail, traces, request.nanoseconds);
    }
}

/// What cyclictest would not say.
fn tell_losses(request: &Request, figures: &[Figures]) {
    let ended_by_loops = request.loops.is_some_and(|loops| figures.iter().any(|figures| figures.line.cycles >= loops));
    for figures in figures {
        let thread = figures.line.thread;
        let complain = |count: u64, text: &str| {
            if count > 0 {
                eprintln!("cyclictest: thread {thread}: {count} {text}");
            }
        };
        complain(
            figures.totals.missed_periods,
            "periods missed: nobody was awake to measure them, their latencies are not in the result",
        );
        complain(figures.totals.clock_anomalies, "wake-ups before they were due: the clock was set back");
        complain(figures.samples_dropped, "samples not printed: the reader of standard output was too slow");
        let loops = request.loops.unwrap_or(u64::MAX);
        let made = figures.line.cycles;
        // The others end within a cycle of the first, give or take the one they were sleeping for.
        if ended_by_loops && made + figures.totals.missed_periods + 2 < loops {
            eprintln!(
                "cyclictest: thread {thread}: {made} of {loops} loops, the first thread to finish ends the test \
                 (-d 0 makes them equal)"
            );
        }
    }
}

/// CPUs of a list in /sys/devices/system/cpu.
fn cpu_count(list: &str) -> usize {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{list}")).unwrap_or_default();
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((last.parse::<usize>().ok()? + 1).saturating_sub(first.parse().ok()?))
    };
    text.trim().split(',').filter_map(count).sum()
}
