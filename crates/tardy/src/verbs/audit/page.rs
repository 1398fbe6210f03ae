//! An audit as text.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::audit::{LibraryCalls, PatchRefusal, UnpatchedReason};
use archive::reader::Run;
use archive::settings::Policy;
use audit::cycles::{Work, WorkByInjection};
use audit::frame::Frame;
use audit::places::is_c_library;
use audit::report::{AuditReport, CallCount, InterceptionReport, ThreadReport};
use audit::rules::{Habit, RULES};
use std::collections::BTreeSet;
use std::path::Path;
use words::figures::{count, counted, duration, latency};

/// Most kinds of calls of a thread that are listed.
const CALLS_MAX: usize = 12;
/// Most instructions that keep their system calls in the list.
const UNPATCHED_MAX: usize = 5;
/// Frames of a stack that are shown.
const FRAMES_MAX: usize = 4;

/// `settle_ns` of each thread were left out.
pub fn lay_out(report: &AuditReport, whom: &str, settle_ns: i64, denied: &dyn Fn(&str) -> bool, run: &Run) -> Page {
    let mut page = Page::for_stdout();
    page.heading(&headline(report, whom));
    if settle_ns > 0 && report.threads.iter().any(|thread| thread.cycles.is_some()) {
        let left_out = duration(settle_ns);
        page.wrapped("", &format!("The first {left_out} of each thread is left out: its start (--settle)."));
    }
    if report.without_real_time {
        page.wrapped("", "No thread had a real-time policy, so all threads were audited.");
    }
    if report.gaps > 0 {
        let places = counted(report.gaps, "place");
        page.alarm(&format!(
            "Events were lost in {places}: each count is a lower bound. Rates are of the recorded time."
        ));
    }
    if report.threads_left_out > 0 {
        let threads = counted(report.threads_left_out, "thread");
        page.alarm(&format!("The audit keeps no more threads: it left out {threads} at least."));
    }
    if report.files_left_out > 0 {
        let files = counted(report.files_left_out, "open file");
        page.alarm(&format!("The audit lists no more open files: of {files} it shows the number instead of the path."));
    }
    if report.processes_left_out > 0 {
        let processes = counted(report.processes_left_out, "process");
        page.alarm(&format!("The audit lists no more processes: it left out {processes} at least."));
    }
    if report.mappings_left_out > 0 {
        let mappings = counted(report.mappings_left_out, "mapping");
        page.alarm(&format!("The audit lists no more mappings: addresses in {mappings} have no names."));
    }
    if report.cut_off {
        page.alarm("There was more than an audit keeps: the end is missing. Audit for a shorter time.");
    }
    for event in &report.events_absent {
        page.wrapped("", &format!("This kernel has no event {event}; its findings are missing or counted otherwise."));
    }
    if let Some(interception) = &report.interception {
        of_interception(interception, &mut page);
    }
    if let Some(cost_ns) = report.cost_ns_per_call {
        let cost = latency(i64::try_from(cost_ns).unwrap_or(i64::MAX));
        page.wrapped(
            "",
            &format!("The trace events delayed each system call by about {cost}; --by interception costs less."),
        );
    }
    for thread in &report.threads {
        page.blank();
        of_thread(report, thread, denied, &mut page);
    }
    let seen: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    if !seen.is_empty() {
        page.blank();
        page.heading("What to do");
    }
    for rule in RULES.iter().filter(|rule| seen.contains(rule.name)) {
        page.line(&format!("  {}", rule.name));
        page.wrapped("    ", rule.why);
        page.wrapped("    -> ", rule.instead);
    }
    page.blank();
    page.record(0, &format!("Archive: {}", run.directory.display()));
    if let Some(gate) = gate(report, denied) {
        page.wrapped("", &gate);
    }
    page
}

/// How a found habit makes the audit fail; `None` if one does so already.
fn gate(report: &AuditReport, denied: &dyn Fn(&str) -> bool) -> Option<String> {
    let first = report.findings.first()?;
    let is_open = !report.findings.iter().any(|finding| denied(finding.rule));
    is_open.then(|| {
        format!("The exit code is 0. `--deny {}` makes it 1 for that habit, `--deny all` for every habit.", first.rule)
    })
}

fn of_interception(interception: &InterceptionReport, page: &mut Page) {
    let InterceptionReport { patched, not_patched, lost, unpatched, not_listed, refusal, of_library: library, .. } =
        interception;
    if *lost > 0 {
        let kind = if library.is_some() { "call" } else { "system call" };
        let text = format!(
            "{} could not be recorded: each count of calls is a lower bound. Rates include them.",
            counted(*lost, kind)
        );
        page.alarm(&text);
    }
    if let Some(refusal) = refusal {
        page.alarm(&format!("A process of the program was not audited: {}.", refusal_words(*refusal)));
    }
    let all = patched + not_patched;
    page.wrapped(
        "",
        &format!("The program recorded its own calls, at {} of {} syscall instructions.", count(*patched), count(all)),
    );
    if let Some(library) = library {
        of_library(library, page);
    }
    if unpatched.is_empty() {
        return;
    }
    page.line("  Calls from these are not seen:");
    for one in unpatched.iter().take(UNPATCHED_MAX) {
        page.wrapped("    ", &format!("{}: {}", frame(&one.place), reason_words(one.reason)));
    }
    if unpatched.len() > UNPATCHED_MAX {
        page.line(&format!("    and {}; --json has all", counted((unpatched.len() - UNPATCHED_MAX) as u64, "other")));
    }
    if *not_listed > 0 {
        let more = counted(*not_listed, "further instruction");
        page.line(&format!("    and {more}, which the library did not list because it found too many"));
    }
}

/// Whose calls of the C library were recorded, and which of them are not seen.
fn of_library(library: &LibraryCalls, page: &mut Page) {
    let whose = if library.all_threads { "each thread" } else { "each real-time thread" };
    page.wrapped("", &format!("Allocations, frees and locks of {whose} were recorded as well."));
    if !library.elsewhere.is_empty() {
        let names = library.elsewhere.join(", ");
        page.alarm(&format!("A file of the program has its own {names}: their calls are not seen."));
    }
}

fn refusal_words(refusal: PatchRefusal) -> &'static str {
    match refusal {
        PatchRefusal::Threads => "it had threads before its own code ran",
        PatchRefusal::NoMemory => "it could not open the memory for its calls",
        PatchRefusal::Architecture => "its processor is not supported",
    }
}

fn reason_words(reason: UnpatchedReason) -> &'static str {
    match reason {
        UnpatchedReason::FunctionUnknown => "no unwind table says where its function starts",
        UnpatchedReason::NoRoom => "no room for a jump",
        UnpatchedReason::JumpedInto => "other code jumps to the next instruction",
        UnpatchedReason::JumpTable => "its function jumps through a table",
        UnpatchedReason::NoStack => "its thread has no stack there",
        UnpatchedReason::NoMemoryNear => "no free memory near it",
        UnpatchedReason::Protected => "the kernel does not let the code be changed",
        UnpatchedReason::NotDecoded => "the code before it cannot be disassembled",
    }
}

fn headline(report: &AuditReport, whom: &str) -> String {
    let threads = report.threads.iter().filter(|thread| thread.cycles.is_some()).count() as u64;
    let rules: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    let found = match rules.len() {
        0 => "no bad habit found".to_owned(),
        1 => "1 bad habit found".to_owned(),
        many => format!("{many} bad habits found"),
    };
    let whom = Path::new(whom).file_name().map_or(whom.into(), |name| name.to_string_lossy());
    format!("Audited {} of {whom}: {found}.", counted(threads, "thread"))
}

fn of_thread(report: &AuditReport, thread: &ThreadReport, denied: &dyn Fn(&str) -> bool, page: &mut Page) {
    let cycles = match (thread.cycles, thread.loop_ns) {
        (Some(0), Some(loop_ns)) => format!("no wait in {}, audited as a loop", duration(loop_ns)),
        (Some(cycles), Some(loop_ns)) => format!("{} in {}", counted(cycles, "cycle"), duration(loop_ns)),
        _ => "no loop: it waited less than twice after it had settled".to_owned(),
    };
    page.heading(&format!("{} (thread {}, {}): {cycles}", thread.name, thread.tid, policy(thread)));
    if let Some(lost) = lost(thread) {
        page.wrapped("  ", &lost);
    }
    for finding in report.findings.iter().filter(|finding| finding.tid == thread.tid) {
        of_finding(finding, denied(finding.rule), page);
    }
    if let Some(work) = &thread.work {
        page.wrapped("  ", &injected(work));
    }
    of_calls("System calls in the loop", &thread.calls, caller, page);
    // One that the C library makes itself has no better place.
    let place = |stack: &[Frame]| caller(stack).or_else(|| stack.first().map(frame));
    of_calls("Calls of the C library in the loop", &thread.function_calls, place, page);
}

fn of_calls(heading: &str, calls: &[CallCount], from: impl Fn(&[Frame]) -> Option<String>, page: &mut Page) {
    if calls.is_empty() {
        return;
    }
    page.line(&format!("  {heading}:"));
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right, Align::Left]);
    for call in calls.iter().take(CALLS_MAX) {
        let CallCount { name, count: number, worst_ns, waits, injected, stack, .. } = call;
        let counts = [(*injected, "injected in"), (*waits, "waits in")];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{what} {}", count(*number)))
            .collect();
        let waits = counts.join(", ");
        let from = from(stack).map_or(waits.clone(), |from| match waits.is_empty() {
            true => format!("from {from}"),
            false => format!("{waits}, from {from}"),
        });
        table.row(["   ", name, &count(*number), &format!("worst {}", latency(*worst_ns)), &from]);
    }
    page.table(&table);
    if calls.len() > CALLS_MAX {
        let more = (calls.len() - CALLS_MAX) as u64;
        page.line(&format!("     and {}; --json has all", counted(more, "other")));
    }
}

/// How the cycles of a loop survive what was injected.
fn injected(work: &WorkByInjection) -> String {
    let of = |work: &Work| {
        let (median, worst) = (latency(work.median_ns), latency(work.worst_ns));
        format!("{}: median {median}, worst {worst}", counted(work.cycles, "cycle"))
    };
    let with = of(&work.with);
    match work.without.cycles {
        0 => format!("Work between two waits, with an injected call: {with}."),
        _ => format!("Work between two waits, without an injected call: {}; with one: {with}.", of(&work.without)),
    }
}

/// The part of the loop that the trace has, and the kernel's own count of page faults.
fn lost(thread: &ThreadReport) -> Option<String> {
    let (loop_ns, recorded_ns) = (thread.loop_ns?, thread.recorded_ns?);
    if recorded_ns >= loop_ns {
        return None;
    }
    let percent = recorded_ns.max(0).saturating_mul(100) / loop_ns.max(1);
    let part = if percent == 0 { "less than 1 %".to_owned() } else { format!("{percent} %") };
    let faults = thread.faults_counted.filter(|faults| *faults > 0);
    let faults =
        faults.map_or(String::new(), |faults| format!(" The kernel counted {}.", counted(faults, "page fault")));
    Some(format!("The trace has {part} of this time.{faults}"))
}

/// Rates from here on are shown.
const RATE_SHOWN_MIN: u64 = 1000;

fn of_finding(finding: &Habit, denied: bool, page: &mut Page) {
    let title = RULES.iter().find(|rule| rule.name == finding.rule).map_or("", |rule| rule.title);
    let number = match finding.count {
        0 => String::new(),
        number if finding.is_lower_bound => format!(", at least {}", counted(number, "time")),
        number => format!(", {}", counted(number, "time")),
    };
    let rate = finding.per_second.filter(|rate| *rate >= RATE_SHOWN_MIN);
    let rate = rate.map_or(String::new(), |rate| format!(", {} a second", count(rate)));
    let worst = finding.worst_ns.map_or(String::new(), |ns| format!(", worst {}", latency(ns)));
    let mark = if denied { "  ! " } else { "  - " };
    page.wrapped(mark, &format!("{title} [{}]: {}{number}{rate}{worst}", finding.rule, finding.what));
    // The last frames, of the C library or without a name, start the thread.
    let (stack, is_named) = (&finding.stack, |frame: &Frame| frame.function.is_some());
    let of_program = stack.iter().rposition(|frame| is_named(frame) && !is_of_c_library(frame));
    let last = of_program.or_else(|| stack.iter().rposition(is_named)).unwrap_or(0);
    let frames: Vec<String> = stack.iter().take((last + 1).min(FRAMES_MAX)).map(frame).collect();
    if !frames.is_empty() {
        page.wrapped("      from ", &frames.join(" < "));
    }
}

fn policy(thread: &ThreadReport) -> String {
    match thread.policy {
        Some(Policy::Fifo) => format!("SCHED_FIFO {}", thread.priority),
        Some(Policy::Rr) => format!("SCHED_RR {}", thread.priority),
        Some(Policy::Deadline) => "SCHED_DEADLINE".into(),
        Some(Policy::Other) => "no real-time policy".into(),
        None => "policy unknown".into(),
    }
}

/// The first frame outside of the C library: the library's wrapper of a call says no more than the call.
fn caller(stack: &[Frame]) -> Option<String> {
    stack.iter().find(|frame| frame.function.is_some() && !is_of_c_library(frame)).map(frame)
}

fn is_of_c_library(frame: &Frame) -> bool {
    frame.file.as_deref().is_some_and(is_c_library)
}

fn frame(frame: &Frame) -> String {
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    match (&frame.function, file, frame.offset) {
        (Some(function), Some(file), _) => format!("{function} ({file})"),
        (None, Some(file), Some(offset)) => format!("{file}+{offset:#x}"),
        _ => format!("{:#x}", frame.address),
    }
}
