//! `tardy explain --since`: the late wake-ups of a part of a run, or of the archives below a directory.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::options::moment::Moment;
use crate::terminal::answer::remark;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use crate::terminal::table::{Align, Table};
use account::window::{Counts, Hour, Hours, Window};
use account::{Account, ExplanationSource};
use archive::message::Severity;
use archive::method::SampleWord;
use archive::reader::Run;
use archive::spike::Spike;
use report::account::culprit;
use std::collections::BTreeMap;
use std::path::Path;
use words::calendar::{time_of_day, utc};
use words::figures::{count, counted, latency};
use words::saved;
use words::shell::quoted;
use words::vocabulary::by;

const HOURS_SHOWN: usize = 4;
const TWO_DAYS_NS: i64 = 2 * 86_400_000_000_000;

/// A part of one archive.
struct Part {
    account: Account,
    hours: Hours,
}

/// An hour of all archives: its figures, and where its spikes are.
#[derive(Default)]
struct WholeHour {
    wake_ups: Counts,
    cycles: Counts,
    /// Position of the archive and number of each late spike that was captured.
    captured: Vec<(usize, u32)>,
}

/// Shows what was late in a part of a run.
pub fn run(name: Option<&Path>, (since, until): (Option<Moment>, Option<Moment>)) -> anyhow::Result<Exit> {
    let runs = opened(name)?;
    let whole = runs.iter().filter_map(Window::of).reduce(|one, other| Window {
        from_unix_ns: one.from_unix_ns.min(other.from_unix_ns),
        until_unix_ns: one.until_unix_ns.max(other.until_unix_ns),
    });
    let Some(whole) = whole else {
        return Err(UsageError("the run has no samples with an instant, so no part of it can be shown".into()).into());
    };
    let at = |moment: Option<Moment>, otherwise| moment.map_or(otherwise, |it| it.unix_ns(whole.until_unix_ns));
    let asked = Window { from_unix_ns: at(since, whole.from_unix_ns), until_unix_ns: at(until, whole.until_unix_ns) };
    let Some(window) = whole.common(asked) else {
        let text = format!(
            "the run has samples from {} to {}; name a part of that with --since and --until",
            utc(whole.from_unix_ns),
            utc(whole.until_unix_ns)
        );
        return Err(UsageError(text).into());
    };
    let parts: Vec<Part> = runs.into_iter().filter_map(|run| part(run, window)).collect();
    answer(&parts, window, Page::for_stdout()).print()?;
    Ok(Exit::Measured)
}

/// The archive of this name, or every one below the directory.
fn opened(name: Option<&Path>) -> anyhow::Result<Vec<Run>> {
    let path = name.map(archives::find).transpose()?;
    let below = path.as_deref().filter(|path| !archives::is_archive(path)).map(archives::all_below).unwrap_or_default();
    if below.is_empty() {
        return Ok(vec![archives::open_or_latest(name)?]);
    }
    below.into_iter().map(|path| Ok(Run::open(path)?)).collect()
}

fn part(run: Run, window: Window) -> Option<Part> {
    let window = Window::of(&run)?.common(window)?;
    let hours = Hours::of(&run, window);
    Some(Part { account: Account::of(window.cut(run), ExplanationSource::Traces), hours })
}

fn answer(parts: &[Part], window: Window, page: Page) -> Page {
    let hours = together(parts);
    let mut short = Short::on(page);
    let total = |of: fn(&WholeHour) -> &Counts| {
        hours.values().fold(Counts::default(), |mut sum, hour| {
            sum.add(of(hour));
            sum
        })
    };
    let (wake_ups, cycles) = (total(|hour| &hour.wake_ups), total(|hour| &hour.cycles));
    let captured: Vec<(usize, u32)> = hours.values().flat_map(|hour| hour.captured.iter().copied()).collect();
    let word = parts.first().map(|part| part.account.sample_word()).unwrap_or_default();
    short.text(3, "", &verdict(parts, window, (&wake_ups, captured.len()), word));
    if let Some((limit_ns, _)) = cycle_limit_ns(parts).zip(cycles.latency_ns_max) {
        let longest = latency(cycles.latency_ns_max.unwrap_or(0));
        let over = format!("{} of {} cycles", count(cycles.over_limit), count(cycles.samples));
        short.text(1, "", &format!("{over} were longer than {}; the longest took {longest}.", latency(limit_ns)));
    }
    let causes: Vec<String> = parts
        .iter()
        .filter_map(|part| words::run_causes::counted(part.account.sample_word(), part.account.causes()))
        .collect();
    match &causes[..] {
        [] => {}
        [one] => short.text(1, "Causes: ", one),
        _ => short.optional("Causes: ", causes_of_all(parts, captured.len(), word)),
    }
    let worst = captured.iter().max_by_key(|one| spike(parts, **one).map(|spike| spike.sample.latency_ns));
    short.optional("Worst:  ", worst.and_then(|one| worst_sentence(parts, *one, word)));
    short.optional("Saved:  ", saved_on_request(parts));
    let rows = by_hour(parts, &hours, window);
    if let Some((table, others)) = rows {
        short.table(&table);
        short.optional("", (others > 0).then(|| format!("and {} with late ones.", counted(others as u64, "hour"))));
    }
    short.optional("But:    ", doubt(parts));
    let directory = |at: usize| quoted(&parts[at].account.run().directory.display().to_string());
    let commands: Vec<String> =
        worst.map(|(at, spike)| format!("tardy explain {} --spike {spike}", directory(*at))).into_iter().collect();
    short.commands(&commands);
    short.lay_out()
}

/// The reason why the figures are unusable or incomplete: the problem of an invalid archive, or the seconds that another one lacks.
fn doubt(parts: &[Part]) -> Option<String> {
    let invalid = parts.iter().map(|part| part.account.summary()).find(|summary| !summary.valid);
    let reason = invalid.map(|summary| {
        let because = summary.problems.iter().find(|problem| problem.severity == Severity::Invalid);
        format!("the run is invalid: {}", because.map_or("its archive says no more", |problem| problem.text.as_str()))
    });
    reason.or_else(|| parts.iter().find_map(|part| remark(part.account.summary())))
}

/// The figures of each hour over all archives.
fn together(parts: &[Part]) -> BTreeMap<i64, WholeHour> {
    let mut hours: BTreeMap<i64, WholeHour> = BTreeMap::new();
    for (at, part) in parts.iter().enumerate() {
        for (unix_ns, Hour { wake_ups, cycles, captured, .. }) in &part.hours.0 {
            let hour = hours.entry(*unix_ns).or_default();
            hour.wake_ups.add(wake_ups);
            hour.cycles.add(cycles);
            hour.captured.extend(captured.iter().map(|spike| (at, *spike)));
        }
    }
    hours
}

fn verdict(parts: &[Part], window: Window, (counts, captured): (&Counts, usize), word: SampleWord) -> String {
    let between = format!("between {} and {}", utc(window.from_unix_ns), ending(window));
    let most = counts.latency_ns_max.map(|ns| by(word, &latency(ns)));
    let samples = format!("{} {}", count(counts.samples), word.many);
    match (limit_ns(parts), most) {
        (_, None) => format!("No {} {between}.", word.one),
        (Some(limit_ns), Some(most)) if counts.over_limit == 0 => {
            let kept = format!("Every one of {samples} {between} kept within {}", latency(limit_ns));
            format!("{kept}; the worst was {most}.")
        }
        (Some(limit_ns), Some(most)) => {
            let over = format!("{} of {samples} {between} exceeded {}", count(counts.over_limit), latency(limit_ns));
            format!("{over}; the worst was {most}.")
        }
        (None, Some(most)) => {
            let late = counted(captured as u64, &format!("{} {}", word.late, word.one));
            format!("{late} captured among {samples} {between}; the worst was {most}.")
        }
    }
}

/// The end of a window; its day if it is another one.
fn ending(window: Window) -> String {
    let (from, until) = (utc(window.from_unix_ns), utc(window.until_unix_ns));
    let same_day = from.split(' ').next() == until.split(' ').next();
    if same_day { time_of_day(window.until_unix_ns) } else { until }
}

fn limit_ns(parts: &[Part]) -> Option<i64> {
    parts.iter().find_map(|part| part.account.run().manifest.as_ref()?.settings.as_ref()?.limit_ns)
}

fn cycle_limit_ns(parts: &[Part]) -> Option<i64> {
    let watch = |part: &Part| part.account.run().manifest.clone()?.settings?.watch;
    parts.iter().find_map(|part| watch(part)?.cycle_limit_ns)
}

fn spike(parts: &[Part], (at, number): (usize, u32)) -> Option<&Spike> {
    parts[at].account.run().spikes.iter().find(|spike| spike.number == number)
}

fn worst_sentence(parts: &[Part], one: (usize, u32), word: SampleWord) -> Option<String> {
    let (spike, account) = (spike(parts, one)?, &parts[one.0].account);
    let unix_ns = spike.sample.seen_ns().saturating_add(account.run().realtime_offset_ns?);
    let cause = culprit(account.explanation_of(spike.number));
    let late = by(word, &latency(spike.sample.latency_ns));
    Some(format!("at {}, CPU {}, {late}: {cause}", time_of_day(unix_ns), spike.sample.cpu))
}

/// The number of late wake-ups of each culprit over several archives.
fn causes_of_all(parts: &[Part], captured: usize, word: SampleWord) -> Option<String> {
    let mut each: BTreeMap<String, usize> = BTreeMap::new();
    let groups = parts.iter().flat_map(|part| &part.account.causes().groups);
    for group in groups.filter(|group| group.culprit.is_some()) {
        *each.entry(group.name().to_owned()).or_default() += group.spikes.len();
    }
    let mut each: Vec<(String, usize)> = each.into_iter().collect();
    each.sort_by_key(|(_, spikes)| std::cmp::Reverse(*spikes));
    let named: Vec<String> = each.iter().map(|(name, spikes)| format!("{} {name}", count(*spikes as u64))).collect();
    let explained: usize = each.iter().map(|(_, spikes)| spikes).sum();
    let all = format!("{} of {}", count(explained as u64), count(captured as u64));
    (captured > 0).then(|| format!("{all} captured {} {} explained: {}.", word.late, word.many, named.join(", ")))
}

/// The spikes that were kept on request.
fn saved_on_request(parts: &[Part]) -> Option<String> {
    let requested: Vec<&Spike> = parts
        .iter()
        .flat_map(|part| {
            let numbers = part.hours.0.values().flat_map(|hour| &hour.requested);
            numbers.filter_map(|number| part.account.run().spikes.iter().find(|spike| spike.number == *number))
        })
        .collect();
    saved::listed(&requested)
}

/// The hours with the worst late wake-ups, in order of time, and how many others have some.
fn by_hour(parts: &[Part], hours: &BTreeMap<i64, WholeHour>, window: Window) -> Option<(Table, usize)> {
    let is_late =
        |hour: &&WholeHour| !hour.captured.is_empty() || hour.wake_ups.over_limit > 0 || hour.cycles.over_limit > 0;
    let mut late: Vec<(i64, &WholeHour)> =
        hours.iter().map(|(unix_ns, hour)| (*unix_ns, hour)).filter(|(_, hour)| is_late(hour)).collect();
    let others = late.len().saturating_sub(HOURS_SHOWN);
    late.sort_by_key(|(unix_ns, hour)| (std::cmp::Reverse(hour.wake_ups.latency_ns_max), *unix_ns));
    late.truncate(HOURS_SHOWN);
    late.sort_by_key(|(unix_ns, _)| *unix_ns);
    if late.is_empty() {
        return None;
    }
    let has_limit = limit_ns(parts).is_some();
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["hour (UTC)", if has_limit { "over" } else { "late" }, "max", "cause of the worst"]);
    for (unix_ns, hour) in late {
        let worst = hour.captured.iter().max_by_key(|one| spike(parts, **one).map(|spike| spike.sample.latency_ns));
        let cause = worst.and_then(|(at, number)| cause_of(&parts[*at].account, *number)).unwrap_or_else(|| "-".into());
        let number = if has_limit { hour.wake_ups.over_limit } else { hour.captured.len() as u64 };
        let max = hour.wake_ups.latency_ns_max.map_or_else(|| "-".into(), latency);
        table.row([hour_of(unix_ns, window), count(number), max, cause]);
    }
    Some((table, others))
}

/// `06:00`, with its day in a long window.
fn hour_of(unix_ns: i64, window: Window) -> String {
    let whole = utc(unix_ns);
    let minutes = whole.rsplit_once(':').map_or(whole.as_str(), |(minutes, _)| minutes);
    match window.until_unix_ns.saturating_sub(window.from_unix_ns) > TWO_DAYS_NS {
        true => minutes.to_owned(),
        false => minutes.split(' ').nth(1).unwrap_or(minutes).to_owned(),
    }
}

/// The culprit of a spike, in a word.
fn cause_of(account: &Account, number: u32) -> Option<String> {
    let groups = &account.causes().groups;
    groups.iter().find(|group| group.spikes.contains(&number)).map(|group| group.name().to_owned())
}
