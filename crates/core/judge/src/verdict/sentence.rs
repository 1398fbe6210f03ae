//! Renders a verdict with its evidence and assumptions.

use super::{CpuJudgement, Judgement, Occasions, Verdict};
use crate::limit::{Limit, Rate, Requirement};
use archive::method::SampleWord;
use words::amounts::{hours, hours_more, percent, rough, time};
use words::figures::counted;

pub fn sentence(judgement: &Judgement, word: SampleWord) -> String {
    let Judgement { limit, confidence, verdict, cpus, .. } = judgement;
    let words = verdict.words();
    let sure = percent(*confidence);
    let decisive: Vec<&CpuJudgement> = cpus.iter().filter(|cpu| cpu.verdict == *verdict).collect();
    let by = |figure: fn(&CpuJudgement) -> f64| {
        let worse = |one: &&CpuJudgement, other: &&CpuJudgement| {
            figure(one).total_cmp(&figure(other)).then(one.latest_ns.cmp(&other.latest_ns))
        };
        decisive.iter().copied().max_by(worse)
    };
    let worst = if *verdict == Verdict::Fail { by(|cpu| cpu.low) } else { by(|cpu| cpu.high) };
    let Some(worst) = worst else { return format!("{words}: no thread has samples to judge.") };
    let mut where_ = place(&decisive, cpus.len());
    if *verdict == Verdict::Fail && decisive.len() > 1 {
        // What is shown of the worst need not hold for the others.
        let of_worst = place(&[worst], cpus.len());
        where_ = format!("{}; {of_worst}", where_.trim_end_matches([' ', ':']));
    }
    let plain = || match &worst.because {
        Some(because) => format!("{words}: {where_}{}.", because.text),
        None => format!("{words}: nothing was measured."),
    };
    if *verdict == Verdict::NoVerdict {
        return plain();
    }
    if worst.samples.is_some() {
        return of_quantile(limit, worst, &where_, *verdict, &sure, word);
    }
    let (Some(allow), Some(_)) = (&limit.allow, &worst.blocks) else { return plain() };
    match verdict {
        Verdict::Pass => of_pass(limit, allow, worst, &where_, &sure, word),
        Verdict::Fail => of_fail(limit, allow, worst, &where_, &sure, word),
        _ => of_not_enough(limit, allow, cpus, worst, &where_, &sure, word),
    }
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

/// The meaning of an occasion. A reader who sees a maximum below the limit must learn which periods were late.
fn late(limit: &Limit, occasions: Option<Occasions>, word: SampleWord) -> String {
    let (Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. }) = &limit.requirement else {
        return "missed periods".into();
    };
    let latest = time(*latest_ns as f64 + 0.5);
    match occasions {
        Some(Occasions { missed: 1.., late: false, .. }) => {
            format!("periods that were never served, and so are later than {latest},")
        }
        Some(Occasions { missed: 1.., .. }) => {
            format!("{} {} than {latest} or periods that were never served", word.many, word.later)
        }
        _ => format!("{} {} than {latest}", word.many, word.later),
    }
}

fn seconds(length: u32) -> String {
    hours(f64::from(length) / 3600.0)
}

fn of_pass(limit: &Limit, allow: &Rate, cpu: &CpuJudgement, where_: &str, sure: &str, word: SampleWord) -> String {
    let (Some(blocks), Some(occasions)) = (cpu.blocks, cpu.occasions) else { return String::new() };
    format!(
        "PASS: {where_}{} come on fewer occasions than {}, with {sure} confidence, under the conditions of this run ({} of {} \
         stretches of {} have one). Assumed: those within {} are one occasion, and occasions are independent.",
        late(limit, cpu.occasions, word),
        allow.text,
        blocks.bad + blocks.unknown,
        blocks.count,
        seconds(blocks.block_s),
        seconds(occasions.within_s)
    )
}

fn of_fail(limit: &Limit, allow: &Rate, cpu: &CpuJudgement, where_: &str, sure: &str, word: SampleWord) -> String {
    let (Some(blocks), Some(occasions)) = (cpu.blocks, cpu.occasions) else { return String::new() };
    let against = if allow.per_hour == 0.0 {
        "the limit allows none".to_owned()
    } else {
        format!("with {sure} confidence that is more often than {}", allow.text)
    };
    format!(
        "FAIL: {where_}{} came on {} in {}, in {} of {} stretches of {}: {against}.",
        late(limit, cpu.occasions, word),
        counted(occasions.count, "occasion"),
        hours(cpu.hours),
        blocks.bad,
        blocks.count,
        seconds(blocks.block_s)
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
    let count = worst.occasions.map_or(0, |occasions| occasions.count);
    let begin = format!(
        "NOT ENOUGH DATA: {where_}{} came on {} in {}",
        late(limit, worst.occasions, word),
        if count == 0 { "no occasion".to_owned() } else { counted(count, "occasion") },
        hours(measured)
    );
    if allow.per_hour == 0.0 {
        return format!("{begin}; no test is long enough to show *never*. Allow a rate, like 1/day.");
    }
    let because = cpus.iter().filter(|cpu| cpu.verdict == Verdict::NotEnoughData).find_map(|cpu| cpu.because.as_ref());
    let because = because.map_or(String::new(), |because| format!(" ({})", because.text));
    if cpus.iter().any(|cpu| cpu.verdict == Verdict::NotEnoughData && cpu.hours_needed.is_none()) {
        return format!("{begin}: that shows neither more nor fewer than {}{because}.", allow.text);
    }
    let more = cpus.iter().filter_map(|cpu| cpu.hours_needed).fold(0.0, f64::max);
    format!(
        "{begin}: that shows neither more nor fewer than {}{because}. {} more without one would show fewer, with {sure} \
         confidence.",
        allow.text,
        hours_more(more)
    )
}

fn of_quantile(
    limit: &Limit,
    cpu: &CpuJudgement,
    where_: &str,
    verdict: Verdict,
    sure: &str,
    word: SampleWord,
) -> String {
    let Requirement::Quantile { q, latest_ns } = limit.requirement else { return String::new() };
    let share = |p: f64| format!("{} %", rough(p * 100.0));
    let allowed = share(1.0 - q);
    let (high, low) = (share(cpu.high), share(cpu.low));
    let late = format!("{} than {}", word.are_later(), time(latest_ns as f64 + 0.5));
    let many = word.many;
    let counts = cpu.samples.unwrap_or_default();
    let missed = match counts.missed {
        0 => String::new(),
        missed => format!(", {} never served among them", counted(missed, "period")),
    };
    let assumed = format!(
        "Assumed: what makes {} {} does so for {} at most and comes independently",
        word.many,
        word.late,
        seconds(counts.stretch_s)
    );
    match verdict {
        Verdict::Pass => format!(
            "PASS: {where_}at most {high} of the {many} {late}, with {sure} confidence; {allowed} may ({} of {} were{missed}). \
             {assumed}.",
            counts.over,
            rough(counts.samples as f64)
        ),
        Verdict::Fail => format!(
            "FAIL: {where_}at least {low} of the {many} {late}, with {sure} confidence; only {allowed} may ({} of {} \
             were{missed}).",
            counts.over,
            rough(counts.samples as f64)
        ),
        _ => {
            let more = cpu
                .hours_needed
                .map_or(String::new(), |more| format!(" {} more like this would show less.", hours_more(more)));
            let because = cpu.because.as_ref().map_or(String::new(), |because| format!(" ({})", because.text));
            format!(
                "NOT ENOUGH DATA: {where_}between {low} and {high} of the {many} {late}, with {sure} confidence; {allowed} \
                 may{because}. {assumed}.{more}"
            )
        }
    }
}
