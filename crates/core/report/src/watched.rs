//! Sentences about a run that watched another program's threads.

use archive::settings::Policy;
use archive::summary::{CpuSummary, RunSummary};
use archive::watched::{WatchSettings, WatchedKind, WatchedSeries};
use std::collections::BTreeSet;
use words::figures::{counted, duration, latency};

/// Every kind of series, in display order.
pub const KINDS: [WatchedKind; 3] = [WatchedKind::Timer, WatchedKind::Cycle, WatchedKind::Woken];

/// Whether a run watched another program, or is the recording of one.
pub fn is_watch(summary: &RunSummary) -> bool {
    request(summary).is_some() || is_recording(summary)
}

/// Whether another tool recorded the wake-ups of threads.
pub fn is_recording(summary: &RunSummary) -> bool {
    summary.imported.is_some() && summary.cpus.iter().any(|cpu| cpu.watched.is_some())
}

fn request(summary: &RunSummary) -> Option<&WatchSettings> {
    summary.settings.as_ref()?.watch.as_ref()
}

/// The watched threads, as requested.
pub fn whom(summary: &RunSummary) -> String {
    let recorded = summary.imported.as_ref().map(|imported| format!("threads in {}", imported.file_name));
    request(summary).map(WatchSettings::whom).or(recorded).unwrap_or_else(|| "nothing".into())
}

/// `arm-high-4711`.
pub fn thread_name(series: &WatchedSeries) -> String {
    format!("{}-{}", series.name, series.tid)
}

/// The meaning of a sample in a kind of series.
pub fn meaning(kind: WatchedKind) -> &'static str {
    match kind {
        WatchedKind::Timer => "timer wake-ups: from the instant asked for until the thread was given the CPU",
        WatchedKind::Cycle => "cycles: from being given the CPU by a timer until the next timer was set",
        WatchedKind::Woken => "other wake-ups: from being woken until the thread was given the CPU",
    }
}

/// The run in one or two sentences.
pub fn verdict(summary: &RunSummary) -> String {
    let deciding = |kind| series(summary, kind).filter(|(cpu, _)| !cpu.aside);
    let of = |kind| deciding(kind).map(|(cpu, _)| cpu.cycles).fold(0, u64::saturating_add);
    let threads = tids(summary.deciding());
    let within = summary.measured_ns.map_or(String::new(), |ns| format!(" in {}", duration(ns)));
    let asked = request(summary).map_or_else(String::new, |request| format!("Watched {}: ", request.whom()));
    let mut text = format!("{asked}{}", counted(threads.len() as u64, "thread"));
    if threads.is_empty() {
        text.push_str(", none of which woke up.");
        return text;
    }
    text.push_str(&format!(
        " woke up {} by timers and {} otherwise{within}",
        counted(of(WatchedKind::Timer), "time"),
        counted(of(WatchedKind::Woken), "time")
    ));
    if let Some((cpu, ns)) = summary.worst().filter(|(cpu, _)| !is_cycle(cpu))
        && let Some(watched) = &cpu.watched
    {
        let kind = watched.kind.title();
        text.push_str(&format!("; the worst {kind} was {} late ({})", latency(ns), thread_name(watched)));
    }
    text.push('.');
    let aside = tids(&summary.cpus).difference(&threads).count() as u64;
    if aside > 0 {
        let others = counted(aside, "thread");
        let count = if aside == 1 { "does" } else { "do" };
        text.push_str(&format!(" {others} without a real-time policy {count} not count (--all-threads counts them)."));
    }
    text
}

fn tids<'a>(series: impl IntoIterator<Item = &'a CpuSummary>) -> BTreeSet<i32> {
    series.into_iter().filter_map(|cpu| Some(cpu.watched.as_ref()?.tid)).collect()
}

/// Whether a series consists of cycles, which are not latencies.
pub fn is_cycle(cpu: &CpuSummary) -> bool {
    cpu.watched.as_ref().is_some_and(|watched| watched.kind == WatchedKind::Cycle)
}

/// The subject of a line of a picture and of a row of the table, after `each` or `one`.
pub fn subject(summary: &RunSummary) -> &'static str {
    if is_watch(summary) { "series of a watched thread" } else { "CPU" }
}

/// The same with their number.
pub fn subjects(summary: &RunSummary, number: usize) -> String {
    match is_watch(summary) {
        true => format!("{number} series of watched threads"),
        false => counted(number as u64, "CPU"),
    }
}

/// The number of cycles over the limit, as a sentence; empty if there is no limit.
pub fn cycle_judgement(summary: &RunSummary) -> String {
    let Some(limit_ns) = request(summary).and_then(|request| request.cycle_limit_ns) else { return String::new() };
    let over: u64 = summary.deciding().filter(|cpu| is_cycle(cpu)).map(|cpu| cpu.over_limit).sum();
    match over {
        0 => format!(" No cycle took longer than {}.", latency(limit_ns)),
        _ => format!(" {} took longer than {}.", counted(over, "cycle"), latency(limit_ns)),
    }
}

/// The series of one kind, each with its description.
pub fn series(summary: &RunSummary, kind: WatchedKind) -> impl Iterator<Item = (&CpuSummary, &WatchedSeries)> {
    summary.cpus.iter().filter_map(move |cpu| Some((cpu, cpu.watched.as_ref().filter(|watched| watched.kind == kind)?)))
}

/// The policy of a thread in short form, `fifo 80`.
pub fn runs_as(watched: &WatchedSeries) -> String {
    match watched.policy {
        Some(Policy::Fifo) => format!("fifo {}", watched.priority),
        Some(Policy::Rr) => format!("rr {}", watched.priority),
        Some(Policy::Deadline) => "deadline".into(),
        Some(Policy::Other) => "other".into(),
        None => "policy unknown".into(),
    }
}
