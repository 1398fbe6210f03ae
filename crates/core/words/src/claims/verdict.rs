//! A verdict with its evidence and assumptions.

use crate::amounts::{hours, hours_more, percent, rough, time};
use crate::figures::{count, counted};
use archive::method::SampleWord;
use archive::problem::Remark;
use claims::doubt::{Doubt, DoubtKind};
use claims::limit::{Limit, Rate, Requirement};
use claims::verdict::{CpuJudgement, Judgement, Occasions, Verdict, Withheld};

/// Where the share of late wake-ups suffices, however they come together.
const EVEN_AT_ONCE: &str = "This holds however the late ones come together";

/// The verdict, its evidence on the CPU that decides it, and what it assumes.
pub fn sentence(judgement: &Judgement, word: SampleWord) -> String {
    if let Some(withheld) = &judgement.withheld {
        return format!("{}: {}.", Verdict::NoVerdict.words(), because(withheld, &judgement.doubts));
    }
    let Judgement { limit, confidence, verdict, cpus, .. } = judgement;
    let words = verdict.words();
    let sure = percent(*confidence);
    let mut decisive: Vec<&CpuJudgement> = cpus.iter().filter(|cpu| cpu.verdict == *verdict).collect();
    let by = |figure: fn(&CpuJudgement) -> f64| {
        let worse = |one: &&CpuJudgement, other: &&CpuJudgement| {
            // The reader finds the largest count of the summary again.
            let late = |cpu: &CpuJudgement| cpu.occasions.map_or(0, |of| of.late_samples.saturating_add(of.missed));
            let undecided = *verdict == Verdict::NotEnoughData;
            let by_events = late(one).cmp(&late(other));
            let by_figure = figure(one).total_cmp(&figure(other)).then(one.latest_ns.cmp(&other.latest_ns));
            if undecided { by_events.then(by_figure) } else { by_figure }
        };
        decisive.iter().copied().max_by(worse)
    };
    let worst = if *verdict == Verdict::Fail { by(|cpu| cpu.low) } else { by(|cpu| cpu.high) };
    let Some(worst) = worst else { return format!("{words}: no thread has samples to judge.") };
    let mut where_ = place(&decisive, cpus.len());
    let of_some = match verdict {
        Verdict::Fail => decisive.len() > 1,
        Verdict::NotEnoughData => decisive.iter().any(|cpu| evidence(cpu) != evidence(worst)),
        _ => false,
    };
    if of_some {
        // The numbers of the worst need not hold for the others.
        let of_worst = place(&[worst], cpus.len());
        where_ = format!("{}; {of_worst}", where_.trim_end_matches([' ', ':']));
    }
    let plain = |where_: &str| match &worst.because {
        Some(because) => format!("{words}: {where_}{}.", because.text),
        None => format!("{words}: nothing was measured."),
    };
    if *verdict == Verdict::NoVerdict {
        // Other CPUs may have other reasons.
        decisive.retain(|cpu| cpu.because == worst.because);
        where_ = place(&decisive, cpus.len());
        return plain(&where_);
    }
    if worst.samples.is_some() {
        return of_quantile(limit, worst, &where_, *verdict, &sure, word);
    }
    let (Some(allow), Some(_)) = (&limit.allow, &worst.blocks) else { return plain(&where_) };
    match verdict {
        Verdict::Pass => of_pass(limit, allow, worst, &where_, &sure, word),
        Verdict::Fail => of_fail(limit, allow, worst, &where_, &sure, word),
        _ => of_not_enough(limit, allow, cpus, worst, &where_, &sure, word),
    }
}

fn because(withheld: &Withheld, doubts: &[Doubt]) -> String {
    let texts = |wanted: &[DoubtKind]| -> Vec<&str> {
        doubts.iter().filter(|doubt| wanted.contains(&doubt.kind)).map(|doubt| doubt.text.as_str()).collect()
    };
    match withheld {
        Withheld::Invalid(reasons) => format!("the run is not valid: {}", Remark::joined(reasons)),
        Withheld::Emulated => texts(&[DoubtKind::Emulated]).concat(),
        Withheld::Incomplete(missing) => format!("the numbers would pass, but {}", Remark::joined(missing)),
        Withheld::Doubted(kinds) => {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            format!(
                "the numbers would pass, but {}. Use `--accept {}` if the limit is meant for such a machine",
                texts(kinds).join("; and "),
                words.join(",")
            )
        }
    }
}

/// The numbers that a sentence states of a CPU.
fn evidence(cpu: &CpuJudgement) -> impl PartialEq {
    let occasions = cpu.occasions.map(|occasions| (occasions.count, occasions.late_samples, occasions.missed));
    (occasions, cpu.samples.map(|samples| (samples.over, samples.missed)))
}

/// The decisive CPUs, followed by a space.
fn place(decisive: &[&CpuJudgement], all: usize) -> String {
    let watched = decisive.iter().any(|cpu| cpu.series.is_some());
    let names: Vec<String> =
        decisive.iter().map(|cpu| if watched { cpu.name() } else { cpu.cpu.to_string() }).collect();
    match (names.len(), all) {
        (_, 1) => String::new(),
        (some, all) if some == all && watched => "for every watched thread: ".to_owned(),
        (some, all) if some == all => "on every CPU ".to_owned(),
        _ if watched => format!("for {}: ", names.join(", ")),
        (1, _) => format!("on CPU {} ", names[0]),
        _ => format!("on CPUs {} ", names.join(", ")),
    }
}

/// The events that a rate counts, in the plural.
fn events(limit: &Limit, word: SampleWord) -> String {
    match &limit.requirement {
        Requirement::Missed => "missed periods".into(),
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => {
            format!("{} {} than {}", word.many, word.later, time(*latest_ns as f64 + 0.5))
        }
    }
}

/// The same as the count of one CPU, with its occasions if they are fewer.
fn counted_events(limit: &Limit, cpu: &CpuJudgement, word: SampleWord) -> String {
    let Some(Occasions { count: occasions, late_samples: late, missed, .. }) = cpu.occasions else {
        return String::new();
    };
    let (number, one) = match &limit.requirement {
        Requirement::Missed => (missed, "missed period".to_owned()),
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => {
            let limit = time(*latest_ns as f64 + 0.5);
            (late, format!("{} {} than {limit}", word.for_count(late), word.later))
        }
    };
    let events = match (number, &limit.requirement) {
        (0, _) => format!("no {one}"),
        (number, Requirement::Missed) => counted(number, &one),
        (number, _) => format!("{} {one}", count(number)),
    };
    if occasions == 0 || occasions == number {
        events
    } else {
        format!("{events}, on {}", counted(occasions, "occasion"))
    }
}

/// The place, apart from a number that follows.
fn before_a_number(where_: &str) -> String {
    match where_.strip_suffix(' ') {
        Some(place) if !place.ends_with(':') => format!("{place}, "),
        _ => where_.to_owned(),
    }
}

fn seconds(length: u32) -> String {
    hours(f64::from(length) / 3600.0)
}

fn of_pass(limit: &Limit, allow: &Rate, cpu: &CpuJudgement, where_: &str, sure: &str, word: SampleWord) -> String {
    let (Some(blocks), Some(occasions)) = (cpu.blocks, cpu.occasions) else { return String::new() };
    format!(
        "PASS: {where_}{} come less often than {} ({sure} confidence, conditions of this run; {} of {} stretches of {} have one). \
         {}",
        events(limit, word),
        allow.text,
        blocks.bad + blocks.unknown,
        blocks.count,
        seconds(blocks.block_s),
        assumptions(occasions)
    )
}

fn assumptions(occasions: Occasions) -> String {
    let within = seconds(occasions.within_s);
    format!("Assumptions: events within {within} are one occasion; one occasion does not bring the next.")
}

fn of_fail(limit: &Limit, allow: &Rate, cpu: &CpuJudgement, where_: &str, sure: &str, word: SampleWord) -> String {
    let (Some(blocks), Some(occasions)) = (cpu.blocks, cpu.occasions) else { return String::new() };
    let against = if allow.per_hour == 0.0 {
        "the limit allows none".to_owned()
    } else {
        format!("more often than {} ({sure} confidence)", allow.text)
    };
    format!(
        "FAIL: {}{} in {}, in {} of {} stretches of {}: {against}. {}",
        before_a_number(where_),
        counted_events(limit, cpu, word),
        hours(cpu.hours),
        blocks.bad,
        blocks.count,
        seconds(blocks.block_s),
        match occasions.disturbance_s {
            Some(length) => format!(
                "Assumption: a disturbance lasts at most {}, as the disturbances of this run did.",
                seconds(length)
            ),
            None => assumptions(occasions),
        }
    )
}

fn of_not_enough(
    limit: &Limit,
    allow: &Rate,
    cpus: &[CpuJudgement],
    worst: &CpuJudgement,
    where_: &str,
    sure: &str,
    word: SampleWord,
) -> String {
    let measured = cpus.iter().map(|cpu| cpu.hours).fold(0.0, f64::max);
    let begin = format!(
        "NOT ENOUGH DATA: {}{} in {}",
        before_a_number(where_),
        counted_events(limit, worst, word),
        hours(measured)
    );
    if allow.per_hour == 0.0 {
        return format!("{begin}; no test is long enough to show *never*. Allow a rate, like 1/day.");
    }
    let because = cpus.iter().filter(|cpu| cpu.verdict == Verdict::NotEnoughData).find_map(|cpu| cpu.because.as_ref());
    let because = because.map_or(String::new(), |because| format!(" ({})", because.text));
    let undecided = format!("{begin}: too short to decide {}{because}.", allow.text);
    if cpus.iter().any(|cpu| cpu.verdict == Verdict::NotEnoughData && cpu.hours_needed.is_none()) {
        return undecided;
    }
    let more = cpus.iter().filter_map(|cpu| cpu.hours_needed).fold(0.0, f64::max);
    format!("{undecided} Another {} without one would be enough for PASS ({sure} confidence).", hours_more(more))
}

fn of_quantile(
    limit: &Limit,
    cpu: &CpuJudgement,
    where_: &str,
    verdict: Verdict,
    sure: &str,
    word: SampleWord,
) -> String {
    let Requirement::Quantile { q, latest_ns, .. } = limit.requirement else { return String::new() };
    let share = |p: f64| format!("{} %", rough(p * 100.0));
    let allowed = share(1.0 - q);
    let (high, low) = (share(cpu.high), share(cpu.low));
    let late = format!("{} than {}", word.are_later(), time(latest_ns as f64 + 0.5));
    let many = word.many;
    let counts = cpu.samples.unwrap_or_default();
    let missed = match counts.missed {
        0 => String::new(),
        missed => format!(", {} among them", counted(missed, "missed period")),
    };
    let assumed = |stretch_s: u32| {
        let length = seconds(stretch_s);
        format!(
            "Assumption: a disturbance makes {} {} for at most {length}, and one does not bring the next",
            word.many, word.late
        )
    };
    match verdict {
        Verdict::Pass => format!(
            "PASS: {where_}at most {high} of the {many} {late} ({sure} confidence); {allowed} may ({} of {} were{missed}). \
             {}.",
            counts.over,
            rough(counts.samples as f64),
            assumed(counts.stretch_s)
        ),
        Verdict::Fail => format!(
            "FAIL: {where_}at least {low} of the {many} {late} ({sure} confidence); only {allowed} may ({} of {} were{missed}). \
             {}.",
            counts.over,
            rough(counts.samples as f64),
            if counts.fail_stretch_s > 0 { assumed(counts.fail_stretch_s) } else { EVEN_AT_ONCE.to_owned() }
        ),
        _ => {
            let more = cpu.hours_needed.map_or(String::new(), |more| {
                format!(" Another {} like this would be enough for PASS.", hours_more(more))
            });
            let because = cpu.because.as_ref().map_or(String::new(), |because| format!(" ({})", because.text));
            let bounds = if cpu.low == 0.0 { format!("at most {high}") } else { format!("between {low} and {high}") };
            format!(
                "NOT ENOUGH DATA: {where_}{bounds} of the {many} {late} ({sure} confidence); {allowed} \
                 may{because}. {}.{more}",
                assumed(counts.stretch_s)
            )
        }
    }
}
