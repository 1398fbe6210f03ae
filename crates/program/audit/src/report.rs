//! The result of an audit.

use crate::activity::{Activity, Call};
use crate::cycles::{self, Loop, WorkByInjection};
use crate::frame::Frame;
use crate::naming::{Names, Naming};
use crate::places::Places;
use crate::read::Recorded;
use crate::rules::{self, Habit, Subject};
use crate::system_calls::name;
use archive::audit::{
    AuditDescription, AuditedProcess, AuditedThread, Interception, LibraryCalls, PatchRefusal, UnpatchedReason,
};
use archive::settings::Policy;
use serde::Serialize;
use std::collections::BTreeMap;

/// Which threads are audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads with a real-time policy, or all if there is none.
    RealTime,
    All,
}

/// One kind of system call of a thread in its loop, or calls of a function from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallCount {
    pub name: String,
    pub count: u64,
    pub total_ns: i64,
    pub worst_ns: i64,
    /// Calls in which it waited.
    pub waits: u64,
    /// Calls that were delayed or refused on purpose.
    pub injected: u64,
    /// From where the longest came, innermost first.
    pub stack: Vec<Frame>,
}

/// One audited thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadReport {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    pub policy: Option<Policy>,
    pub priority: u8,
    /// 0 if it never waited twice and did much all the same. Absent if it did not even that: nothing was audited.
    pub cycles: Option<u64>,
    /// Length of its loop, in ns.
    pub loop_ns: Option<i64>,
    /// The part of it of which the trace lost no event, in ns.
    pub recorded_ns: Option<i64>,
    /// Calls in it that the program itself did not record, of a program that records its calls.
    pub lost_calls: Option<u64>,
    /// Page faults that the kernel itself counted from the first look at the thread to the last one.
    pub faults_counted: Option<u64>,
    /// The work of its cycles between their waits; absent if no call was injected.
    pub work: Option<WorkByInjection>,
    /// Most frequent first.
    pub calls: Vec<CallCount>,
    /// Calls of functions of the C library in its loop, of each place; most frequent first. Empty unless they were recorded.
    #[serde(rename = "library_calls")]
    pub function_calls: Vec<CallCount>,
}

/// The whole audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Version of this document.
    pub audit_version: u32,
    /// No thread had a real-time policy, so all were audited.
    pub without_real_time: bool,
    pub threads: Vec<ThreadReport>,
    /// In the order of the rules, then of the threads.
    pub findings: Vec<Habit>,
    /// Stretches in which events were lost: findings count too few.
    pub gaps: u64,
    /// Threads that ended early and were left out, because there were more than an audit keeps.
    pub threads_left_out: u64,
    /// Open files of the audited processes that were not listed: a call on one shows its number instead of its path.
    pub files_left_out: u64,
    /// Mappings and processes that were not listed: an address in one has no name.
    pub mappings_left_out: u64,
    pub processes_left_out: u64,
    /// There was more than an audit keeps: the end is missing.
    pub cut_off: bool,
    /// Events that the kernel of the target lacks, as `exceptions:page_fault_user`.
    pub events_absent: Vec<String>,
    /// The cost for the program of recording a call with trace events, in ns; absent if it was not measured.
    pub cost_ns_per_call: Option<u64>,
    /// How the program recorded its own calls; absent if the kernel recorded them.
    pub interception: Option<InterceptionReport>,
}

/// How a program recorded its own calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterceptionReport {
    /// Processes that loaded the library.
    pub processes: u64,
    /// Instructions, in all processes.
    pub patched: u64,
    pub not_patched: u64,
    /// Calls that were not recorded because the memory was full.
    pub lost: u64,
    pub refusal: Option<PatchRefusal>,
    /// Calls of the C library were recorded as well.
    #[serde(rename = "library")]
    pub of_library: Option<LibraryCalls>,
    /// Where calls are not seen; each place of a file once.
    pub unpatched: Vec<UnpatchedReport>,
    /// Instructions that were not patched either and that the library did not list, because it found too many.
    pub not_listed: u64,
}

/// An instruction that keeps its system call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UnpatchedReport {
    pub place: Frame,
    pub reason: UnpatchedReason,
}

/// Judges what was recorded.
pub fn judge(
    description: &AuditDescription,
    recorded: &Recorded,
    scope: Scope,
    settle_ns: i64,
    names: &mut dyn Names,
) -> AuditReport {
    let known = Known::of(description);
    let subjects: Vec<Subject<'_>> = recorded
        .threads
        .values()
        .filter(|activity| {
            // The kernel records a few events of threads that run next, which are not the program's.
            let only_faults = !activity.faults.is_empty() && known.threads.contains_key(&activity.tid);
            !activity.calls.is_empty() || !activity.function_calls.is_empty() || only_faults
        })
        .map(|activity| known.subject(activity, settle_ns))
        .collect();
    let any_real_time = subjects.iter().any(Subject::is_real_time);
    let without_real_time = scope == Scope::RealTime && !any_real_time;
    let audited: Vec<&Subject<'_>> =
        subjects.iter().filter(|subject| scope == Scope::All || !any_real_time || subject.is_real_time()).collect();
    let mut naming = Naming::new(names);
    let (findings, more) = rules::check(description, &subjects, &audited, &mut naming);
    let threads = audited.iter().map(|subject| thread(subject, &mut naming)).collect();
    let events_absent = description.recorded.events_absent.clone();
    let interception = description.interception.as_ref().map(|recorded| intercepted(&known, recorded, &mut naming));
    let sum = |count: fn(&AuditedProcess) -> u64| description.processes.iter().map(count).fold(0, u64::saturating_add);
    AuditReport {
        audit_version: 1,
        without_real_time,
        threads,
        findings,
        gaps: recorded.gaps,
        threads_left_out: recorded.threads_left_out.saturating_add(description.threads_left_out),
        files_left_out: sum(|process| process.files_left_out),
        mappings_left_out: sum(|process| process.mappings_left_out),
        processes_left_out: description.processes_left_out,
        cut_off: recorded.cut_off || more || naming.is_cut_off(),
        events_absent,
        cost_ns_per_call: description.cost_ns_per_call,
        interception,
    }
}

fn intercepted(known: &Known<'_>, recorded: &Interception, naming: &mut Naming<'_>) -> InterceptionReport {
    let mut unpatched: BTreeMap<(Option<String>, Option<u64>, u64), UnpatchedReport> = BTreeMap::new();
    for one in &recorded.unpatched {
        let places = known.places.get(&one.pid).cloned().unwrap_or_else(Places::unknown);
        let Some(place) = naming.frame(one.pid, &places, one.address) else { break };
        // The same file is elsewhere in each process.
        let address = if place.file.is_some() { 0 } else { place.address };
        let key = (place.file.clone(), place.offset, address);
        unpatched.entry(key).or_insert(UnpatchedReport { place, reason: one.reason });
    }
    let Interception { processes, patched, not_patched, lost, refusal, .. } = *recorded;
    let library = recorded.of_library.clone();
    let unpatched = unpatched.into_values().collect();
    let not_listed = not_patched.saturating_sub(recorded.unpatched.len() as u64);
    InterceptionReport { processes, patched, not_patched, lost, refusal, of_library: library, unpatched, not_listed }
}

/// The known threads and processes, by number.
struct Known<'a> {
    machine: &'a str,
    threads: BTreeMap<i32, &'a AuditedThread>,
    places: BTreeMap<i32, Places<'a>>,
}

impl<'a> Known<'a> {
    fn of(description: &'a AuditDescription) -> Self {
        let mut threads = BTreeMap::new();
        for thread in &description.threads {
            threads.entry(thread.tid).or_insert(thread);
        }
        Self { machine: &description.machine, threads, places: Places::of_all(description) }
    }

    fn subject(&self, activity: &'a Activity, settle_ns: i64) -> Subject<'a> {
        let known = self.threads.get(&activity.tid).map(|thread| (*thread).clone());
        let mut known =
            known.unwrap_or(AuditedThread { tid: activity.tid, pid: activity.tid, ..AuditedThread::default() });
        if let Some(name) = activity.name.clone().filter(|name| !name.is_empty()) {
            known.name = name;
        }
        // A thread may have ended before the first look; its switches show its priority, though perhaps one that was lent.
        match activity.kernel_priority_min {
            Some(..0) if known.policy.is_none() => known.policy = Some(Policy::Deadline),
            Some(priority @ 0..=98) if known.policy.is_none() => {
                (known.policy, known.priority) = (Some(Policy::Fifo), (99 - priority) as u8);
            }
            _ => {}
        }
        let places = self.places.get(&known.pid).cloned().unwrap_or_else(Places::unknown);
        let machine = places.process().and_then(|process| process.machine.as_deref()).unwrap_or(self.machine);
        let cycles = cycles::find(activity, settle_ns);
        let mut subject = Subject { thread: known, activity, cycles, recorded_calls: 0, places, machine };
        let calls = subject.calls().chain(subject.function_calls().map(|(call, _)| call));
        subject.recorded_calls = calls.map(Call::count).fold(0, u64::saturating_add);
        subject
    }
}

fn thread(subject: &Subject<'_>, naming: &mut Naming<'_>) -> ThreadReport {
    let mut by_number: BTreeMap<i64, Vec<&Call>> = BTreeMap::new();
    subject.calls().for_each(|call| by_number.entry(call.number).or_default().push(call));
    let named = |number| name(subject.machine, number).map_or_else(|| format!("call {number}"), str::to_owned);
    // No kernel has as many, so these are numbers of no call.
    let of_number = by_number.into_iter().take(CALLS_MAX);
    let mut calls: Vec<CallCount> =
        of_number.filter_map(|(number, calls)| counted(subject, named(number), &calls, naming)).collect();
    calls.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
    let AuditedThread { tid, pid, name, policy, priority, faults_first, faults_last, .. } = subject.thread.clone();
    let (cycles, loop_ns) = (subject.cycles.map(|found| found.cycles), subject.cycles.map(length_ns));
    let faults_counted = faults_last.zip(faults_first).map(|(last, first)| last.saturating_sub(first));
    let recorded_ns = subject.seen_ns();
    let lost_calls = subject.lost_calls().filter(|_| subject.activity.records_calls);
    let library_calls = library_calls(subject, naming);
    let any_injected = calls.iter().any(|call| call.injected > 0);
    let work = subject.cycles.filter(|_| any_injected).map(|found| cycles::work(subject.activity, &found));
    ThreadReport {
        tid,
        pid,
        name,
        policy,
        priority,
        cycles,
        loop_ns,
        recorded_ns,
        lost_calls,
        faults_counted,
        work,
        calls,
        function_calls: library_calls,
    }
}

/// Calls of functions, of each place.
fn library_calls(subject: &Subject<'_>, naming: &mut Naming<'_>) -> Vec<CallCount> {
    let mut by_place: BTreeMap<(&str, u64), Vec<&Call>> = BTreeMap::new();
    for (call, function) in subject.function_calls() {
        by_place.entry((function.name(), subject.place(call))).or_default().push(call);
    }
    let of_place = by_place.into_iter().take(CALLS_MAX);
    let counts = of_place.filter_map(|((name, _), calls)| counted(subject, name.to_owned(), &calls, naming));
    let mut counts: Vec<CallCount> = counts.collect();
    counts.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
    counts
}

fn counted(subject: &Subject<'_>, name: String, calls: &[&Call], naming: &mut Naming<'_>) -> Option<CallCount> {
    let worst = calls.iter().max_by_key(|call| call.duration_ns())?;
    Some(CallCount {
        name,
        count: calls.iter().map(|call| call.count()).sum(),
        total_ns: calls.iter().fold(0, |sum, call| call.total_ns().saturating_add(sum)),
        worst_ns: worst.duration_ns(),
        injected: calls.iter().filter(|call| call.injected).map(|call| call.count()).sum(),
        waits: calls.iter().filter(|call| call.waited_ns > 0).map(|call| call.count()).sum(),
        stack: naming.stack(subject.thread.pid, &subject.places, &worst.stack),
    })
}

fn length_ns(found: Loop) -> i64 {
    found.end_ns.saturating_sub(found.start_ns)
}

/// Most kinds of system calls of a thread, and most places of functions.
const CALLS_MAX: usize = 1000;
