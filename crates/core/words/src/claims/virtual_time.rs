//! Measurements in virtual time: the cost of tracing, limits, causes, comparisons.

use crate::amounts::{p_value, time};
use archive::culprit::Culprit;
use archive::problem::Remark;
use claims::baseline::{Deviation, Guest, Tolerance};
use claims::figure_name::FigureName;
use claims::limit::{Limit, Requirement};
use claims::virtual_time::{Cause, CauseShift, FigureShift, Spread, TracedWakeUp, TracingCost, VirtualComparison};

/// The cost of tracing, where the runs diverge, and the requested wake-ups, one sentence each.
pub fn tracing_cost(cost: &TracingCost) -> Vec<String> {
    let (median_ns, traced_ns) = (cost.median_ns, cost.median_traced_ns);
    let mut sentences = vec![format!(
        "Tracing added {} ns of virtual time to the median wake-up, {median_ns} ns without and {traced_ns} ns with it, \
         and {} ns to the earliest ({} wake-ups that are in both runs{}).",
        traced_ns - median_ns,
        cost.least_traced_ns - cost.least_ns,
        cost.pairs,
        match cost.began_later_ns {
            0 => String::new(),
            later => format!(", which began {} ms later when traced", later / 1_000_000),
        }
    )];
    sentences.push(match cost.parted_at {
        None => "No wake-up is earlier with tracing, so the two runs may be one course to their end.".into(),
        Some(TracedWakeUp { cycle, latency_ns, traced_ns }) => format!(
            "From wake-up {cycle} on at the latest the traced run is a different trajectory: that wake-up is {} ns late with \
             tracing and {latency_ns} ns without, and tracing takes nothing away. Its account and the accounts of \
             later ones did not happen in the first run.",
            traced_ns.unwrap_or_default()
        ),
    });
    sentences.extend(cost.late.iter().map(|of| traced_wake_up(of, cost)));
    sentences
}

fn traced_wake_up(of: &TracedWakeUp, cost: &TracingCost) -> String {
    let TracedWakeUp { cycle, latency_ns, traced_ns } = *of;
    let Some(traced_ns) = traced_ns else {
        return format!("Wake-up {cycle}, {latency_ns} ns late: the traced run missed it.");
    };
    let difference_ns = traced_ns - latency_ns;
    if cost.parted_at.is_some_and(|parted| parted.cycle <= cycle) {
        return format!(
            "Wake-up {cycle}: {latency_ns} ns late, {traced_ns} ns in the other course; the difference of \
             {difference_ns:+} ns is not the price of tracing."
        );
    }
    format!("Wake-up {cycle}: {latency_ns} ns late, {traced_ns} ns with tracing, which added {difference_ns} ns.")
}

/// A limit over `seeds` seeds; `worst`: the seed with the largest value, and the value, in ns or missed periods. A limit without
/// any value does not hold.
pub fn limit(limit: &Limit, holds: bool, broken_in: usize, seeds: usize, worst: Option<(u64, i64)>) -> String {
    let Some((seed, value)) = worst else { return "nothing was measured".into() };
    let worst = match limit.requirement {
        Requirement::Missed => format!("{value} missed"),
        _ => format!("{} ({value} ns)", time(value as f64)),
    };
    let (word, count) = if holds { ("holds in", seeds) } else { ("is broken in", broken_in) };
    format!("`{}` {word} {count} of {seeds} seeds in virtual time; the worst is seed {seed} with {worst}", limit.text)
}

/// How a cause changed over this number of seeds.
pub fn cause(shift: &CauseShift, seeds: usize) -> String {
    let who = shift.cause.culprit.as_ref().map_or("something not explained", Culprit::id);
    let place = match (&shift.cause.function, shift.called_by.first()) {
        (Some(function), Some(caller)) => format!(", in `{function}`, called by `{caller}`"),
        (Some(function), None) => format!(", in `{function}`"),
        (None, _) => String::new(),
    };
    let size = time(shift.longer_ns.abs() as f64);
    let (CauseShift { longer_in, shorter_in, seeds_a, seeds_b, .. }, of) = (shift, seeds);
    match (shift.a_ns, shift.b_ns) {
        (None, _) => format!("only in B: {who} holds the CPU up to {size}{place}; {seeds_b} of {of} seeds"),
        (_, None) => format!("only in A: {who} holds the CPU up to {size}{place}; {seeds_a} of {of} seeds"),
        _ if shift.longer_ns > 0 => {
            format!("{who} holds the CPU up to {size} longer{place}; {longer_in} of {of} seeds")
        }
        _ if shift.longer_ns < 0 => {
            format!("{who} holds the CPU up to {size} shorter{place}; {shorter_in} of {of} seeds")
        }
        _ => format!("{who} holds the CPU as long as before{place}; {seeds_b} of {of} seeds"),
    }
}

/// The results of a comparison, one sentence each. `seeds_needed`: number of seeds that can show a figure to differ.
pub fn comparison(comparison: &VirtualComparison, seeds_needed: usize) -> Vec<String> {
    let of = comparison.seeds.len();
    let seeds = if of == 1 { "1 seed".to_owned() } else { format!("{of} seeds") };
    if let Some(defect) = &comparison.defect {
        let latency = |sample: Option<(i64, i64)>| sample.map_or("none".into(), |(_, ns)| format!("{ns} ns"));
        return vec![format!(
            "NOT IDENTICAL although system, settings and seed are: with seed {} sample {} is the first that differs, {} in A and {} in \
             B. The emulator or the host let its own time in; `tardy virtual repeat` shows how often.",
            defect.seed,
            defect.sample,
            latency(defect.a),
            latency(defect.b)
        )];
    }
    if comparison.identical == of {
        let why = if comparison.same_system { "one system" } else { "two systems that behave as one" };
        return vec![format!("Identical: every sample of {seeds} in virtual time ({why}).")];
    }
    let mut sentences = Vec::new();
    if comparison.idle {
        sentences.extend(comparison.figures.first().map(|p50| idle_path(p50, of)));
    }
    let differing = comparison
        .figures
        .iter()
        .filter(|figure| figure.differs && !(comparison.idle && figure.name == FigureName::P50));
    sentences.extend(differing.map(|figure| figure_sentence(figure, of)));
    sentences.extend(comparison.causes.iter().filter(|shift| shift.longer_ns != 0).map(|shift| shift.sentence.clone()));
    if !comparison.idle && !comparison.figures.iter().any(|figure| figure.differs) {
        let few = if of < seeds_needed { format!("; at least {seeds_needed} seeds are needed") } else { String::new() };
        let most = comparison.figures.iter().map(|figure| figure.p_adjusted).fold(1.0, f64::min);
        sentences.push(format!(
            "No figure moved the same way in enough of {seeds} to rule out chance (the clearest: {}){few}.",
            p_value(most)
        ));
    }
    sentences
}

fn idle_path(p50: &FigureShift, of: usize) -> String {
    let Spread { least_ns, median_ns, most_ns } = p50.shift;
    let size = if least_ns == most_ns {
        format!("{median_ns:+} ns")
    } else {
        format!("{median_ns:+} ns ({least_ns:+} to {most_ns:+} ns)")
    };
    let seeds = if of == 1 { "1 seed".into() } else { format!("each of {of} seeds") };
    format!(
        "wake-up path {size}: the idle guest's median, from {} to {} ns of virtual time, in {seeds}",
        p50.a.median_ns, p50.b.median_ns
    )
}

fn figure_sentence(figure: &FigureShift, of: usize) -> String {
    let (word, count) = if figure.longer_in > figure.shorter_in {
        ("longer", figure.longer_in)
    } else {
        ("shorter", figure.shorter_in)
    };
    let Spread { least_ns, median_ns, most_ns } = figure.shift;
    format!(
        "{} is {} {word} in virtual time ({} to {} over the seeds); {count} of {of} seeds, {}",
        figure.name,
        time(median_ns.abs() as f64),
        time(least_ns as f64),
        time(most_ns as f64),
        p_value(figure.p_adjusted)
    )
}

/// At most eight seeds by number.
pub fn seeds(seeds: &[u64]) -> String {
    let listed: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
    let more = if seeds.len() > listed.len() { " ..." } else { "" };
    format!("seed {}{more}", listed.join(", "))
}

/// A deviation from a baseline as a clause.
pub fn deviation(deviation: &Deviation) -> String {
    let idle_or_loaded = |guest: &Guest| match guest {
        Guest::Idle => "idle",
        Guest::Loaded => "loaded",
    };
    match deviation {
        Deviation::Figure { guest, figure, before_ns, now_ns, tolerance } => {
            let by = now_ns.saturating_sub(*before_ns);
            let percent = 100.0 * by as f64 / (*before_ns as f64).abs().max(1.0);
            let word = if deviation.fails() { "beyond" } else { "within" };
            let tolerated = match tolerance {
                Tolerance::Nanoseconds(ns) => format!("{ns} ns"),
                Tolerance::Percent(percent) => format!("{percent} %"),
            };
            format!(
                "{} {figure} moved from {before_ns} to {now_ns} ns of virtual time ({by:+} ns, {percent:+.1} %), {word} {tolerated}",
                idle_or_loaded(guest)
            )
        }
        Deviation::NewCause { cause, longest_ns, seeds } => {
            format!("new cause: {} holds the CPU up to {}, {seeds} seeds", named(cause), time(*longest_ns as f64))
        }
        Deviation::CauseLength { cause, longest_ns, before_ns } => format!(
            "{} holds the CPU up to {}, before up to {}",
            named(cause),
            time(*longest_ns as f64),
            time(*before_ns as f64)
        ),
        Deviation::GoneCause(cause) => format!("not seen any more: {}", named(cause)),
        Deviation::Seeds { guest, expected, seen } => {
            format!("{}: the baseline has seeds {expected:?}, the runs have {seen:?}", idle_or_loaded(guest))
        }
        Deviation::Setting { guest, difference, seeds } => {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
            format!(
                "{}: {} is {} in the runs, {} in the baseline (seeds {seeds:?})",
                idle_or_loaded(guest),
                difference.what,
                side(&difference.a),
                side(&difference.b)
            )
        }
        Deviation::Unusable { archive, invalid_because } => {
            let why = invalid_because.as_ref().map_or_else(|| "not virtual time".to_owned(), |why| Remark::joined(why));
            format!("{archive} cannot be used: {why}")
        }
    }
}

fn named(cause: &Cause) -> String {
    let culprit = cause.culprit.as_ref().map_or("something not explained", Culprit::id);
    let place = cause.function.as_ref().map_or(String::new(), |function| format!(" in `{function}`"));
    format!("{culprit}{place}")
}
