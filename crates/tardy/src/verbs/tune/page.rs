//! The result of tuning as a page of text.

use super::candidate::{LeftOut, WhyLeftOut};
use super::files;
use super::question::{Cost, Journal, Price, Tuned};
use crate::measuring::rounds::RoundsState;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use judge::observer::Estimate;
use judge::tune::{Goal, TuneState};
use std::collections::BTreeMap;
use std::path::Path;
use words::claims::amount;
use words::figures::{counted, duration};
use words::printable::printable;
use words::shell::quoted;

/// Most names in a list of settings that do nothing.
const NAMES_MAX: usize = 6;

/// The figure in the words of a sentence.
pub fn goal_words(goal: &Goal) -> String {
    match goal {
        Goal::Quantile(name) => name.to_string(),
        Goal::Worst => "the largest lateness of a run".into(),
        Goal::OverLimit => "the rate of periods over the limit".into(),
    }
}

/// The lines before the first run.
pub fn announcement(journal: &Journal) -> Vec<String> {
    let question = &journal.question;
    let length = question.settings.duration_ns.unwrap_or_default().saturating_add(question.settings.settle_ns);
    let mut lines = vec![format!(
        "tardy tries {} for {}, in runs of {}, for {} at most",
        counted(question.candidates.len() as u64, "setting"),
        goal_words(&question.goal),
        duration(length as i64),
        duration(question.budget_ns as i64),
    )];
    lines.extend(question.candidates.iter().map(|candidate| format!("  {}", candidate.name)));
    lines
}

pub fn lay_out(directory: &Path, journal: &Journal, mut page: Page) -> Page {
    alarm_of_clock(journal.virtual_time, journal.emulated, &mut page);
    match journal.rounds.state {
        RoundsState::Failed => {
            let why = journal.rounds.problem.as_deref().unwrap_or("unknown");
            page.wrapped("", &format!("The series failed: {why}."));
        }
        RoundsState::Interrupted | RoundsState::Running => page.wrapped("", "Stopped early."),
        RoundsState::Complete => {}
    }
    match &journal.result {
        Some(tuned) => result(tuned, journal, &mut page),
        None if journal.question.candidates.is_empty() => {
            page.wrapped("", "`tardy check` found no setting that a program can change, and no --candidate names one.");
        }
        None => page.wrapped("", "No round is complete: nothing can be said."),
    }
    left_out(&journal.question.left_out, &mut page);
    let shown = quoted(&directory.display().to_string());
    if !files::members(journal).is_empty() {
        page.line(&format!("  tardy tune --apply {shown}"));
    }
    if !matches!(journal.rounds.state, RoundsState::Complete) {
        page.line(&format!("  tardy tune --resume {shown}"));
    }
    let files = match files::members(journal).is_empty() {
        true => "Archives, tune.html and tune.json",
        false => "Archives, tune.html, tune.json and files to install",
    };
    page.record(0, &format!("{files} are in {shown} (--coin-seed {}).", journal.rounds.seed));
    page
}

fn result(tuned: &Tuned, journal: &Journal, page: &mut Page) {
    let result = &tuned.result;
    let goal = goal_words(&journal.question.goal);
    let name = |candidate: usize| {
        journal.question.candidates.get(candidate).map_or_else(String::new, |one| printable(&one.name))
    };
    let unit = journal.question.goal.unit();
    let all = journal.question.candidates.len();
    let effort = effort(journal, result.runs);
    page.heading(&match (result.members.len(), tuned.before, tuned.after) {
        (0, ..) if result.state == TuneState::Decided => {
            let figure = tuned.before.map_or(String::new(), |before| format!(" ({})", amount(before, &unit)));
            format!("No setting lowers {goal}{figure} by {} or more: {all} tried ({effort}).", percent(result.least))
        }
        (0, ..) => format!("No setting is shown to lower {goal} yet: {all} tried ({effort})."),
        (number, Some(before), Some(after)) => format!(
            "{goal}: {} before, {} with {number} of {all} settings ({effort})",
            amount(before, &unit),
            amount(after, &unit),
        ),
        (number, ..) => format!("{number} of {all} settings lower {goal} ({effort})"),
    });
    if !result.members.is_empty() {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left, Align::Left]);
        table.row(["setting", "without it", "", "work of the loads with it"]);
        for member in &result.members {
            table.row([
                name(member.candidate),
                times(&member.effect),
                interval(&member.effect),
                work(tuned, Some(member.candidate)),
            ]);
        }
        if let Some(total) = result.total.as_ref().filter(|_| result.members.len() > 1) {
            table.row(["all of them".into(), times(total), interval(total), work(tuned, None)]);
        }
        page.headed_table(&table);
        // A machine in virtual time has neither power nor a boot that takes time.
        if !journal.virtual_time {
            page.wrapped("price  ", &format!("all of them: {}.", other_prices(tuned)));
        }
    }
    for pair in &result.pairs {
        let [one, other] = pair.members.map(name);
        let text = match pair.needs_the_other {
            [true, true] => format!("{one} and {other} help only together"),
            [true, false] => format!("{one} helps only together with {other}"),
            [false, true] => format!("{other} helps only together with {one}"),
            [false, false] => format!("{one} and {other} help more together than each alone"),
        };
        page.wrapped("pair  ", &format!("{text}."));
    }
    let harmful: Vec<String> =
        result.useless.iter().filter(|one| one.effect * result.least < 1.0).map(|one| name(one.candidate)).collect();
    if !harmful.is_empty() {
        page.wrapped(
            "harmful  ",
            &match &harmful[..] {
                [one] => format!("{one} seems to raise it; it is off."),
                several => format!("{} seem to raise it; they are off.", several.join(", ")),
            },
        );
    }
    let useless: Vec<String> =
        result.useless.iter().filter(|one| one.effect * result.least >= 1.0).map(|one| name(one.candidate)).collect();
    if !useless.is_empty() {
        let changes = if useless.len() == 1 { "changes" } else { "change" };
        let text = format!("{} {changes} it by less than {}", few(&useless), percent(result.least));
        page.wrapped("useless  ", &format!("{text}."));
    }
    for one in &result.undecided {
        let more = match one.rounds_more {
            Some(rounds) => format!("about {} more would decide it", counted(rounds.into(), "round")),
            None => "more runs, longer runs, or a larger --least would decide it".into(),
        };
        let effect = one.effect.map_or(String::new(), |effect| format!(" (about {effect:.2} x without it)"));
        page.wrapped("not decided  ", &format!("{}{effect}: {more}.", name(one.candidate)));
    }
}

/// The number of runs of the complete rounds, and the time that all runs took.
fn effort(journal: &Journal, runs: u32) -> String {
    let took_ns: u64 = journal.question.measured.values().map(|run| run.took_ns).fold(0, u64::saturating_add);
    let number = counted(runs.into(), "run");
    // Series of older versions have no times. In virtual time a repeated series prints the same page.
    match took_ns {
        0 => number,
        _ if journal.virtual_time => number,
        ns => format!("{number}, {}", duration(i64::try_from(ns).unwrap_or(i64::MAX))),
    }
}

/// One entry for each reason.
fn left_out(all: &[LeftOut], page: &mut Page) {
    let mut names: BTreeMap<&WhyLeftOut, Vec<String>> = BTreeMap::new();
    for one in all {
        names.entry(&one.why).or_default().push(printable(&one.name));
    }
    for (why, names) in names {
        let number = counted(names.len() as u64, "setting");
        let list = names.join(", ");
        let text = match why {
            WhyLeftOut::ByHand => format!("{number} that only a person can change; `tardy check` shows them"),
            WhyLeftOut::NeedsBoot => {
                format!("{number} that take a boot, and this target does not boot for each run: {list}")
            }
            WhyLeftOut::EndsWithBoot => {
                format!("{list}: a boot of this machine would end the series; tune it from another computer, over ssh")
            }
            WhyLeftOut::NoFirmware => format!("{list}: a virtual machine has no such setup"),
            WhyLeftOut::NoTerminal => format!("{list}: each boot asks a person, and this is not a terminal"),
            WhyLeftOut::SetAlready => format!("{list}: the machine has the value already"),
            WhyLeftOut::SameFile(other) => format!("{list}: {} changes the same file", printable(other)),
            WhyLeftOut::Refused(reason) => format!("{list}: the kernel refused it ({})", printable(reason)),
            WhyLeftOut::Unwanted => format!("{list}: excluded by --without"),
            WhyLeftOut::TooMany => format!("{list}: others fill the list of candidates"),
        };
        page.wrapped("not tried  ", &format!("{text}."));
    }
}

/// The names, or the first ones and the number of the others; tune.json has all.
fn few(names: &[String]) -> String {
    match names.len() {
        0..=NAMES_MAX => names.join(", "),
        all => format!("{} and {} others", names[..NAMES_MAX - 1].join(", "), all - NAMES_MAX + 1),
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.0} %", (ratio - 1.0) * 100.0)
}

fn times(effect: &Estimate) -> String {
    format!("{:.2} x", effect.value)
}

fn interval(effect: &Estimate) -> String {
    effect.interval.map_or(String::new(), |ends| format!("[{:.2}, {:.2}]", ends.low, ends.high))
}

fn change(name: &str, price: &Price) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let ends = price.ratio.interval.map(|ends| format!(" [{}, {}]", percent(ends.low), percent(ends.high)));
    format!("{name} {}{}", percent(price.ratio.value), ends.unwrap_or_default())
}

fn work(tuned: &Tuned, candidate: Option<usize>) -> String {
    let of_load = |price: &Price| match &price.cost {
        Cost::Work(load) if price.candidate == candidate => Some(change(load, price)),
        _ => None,
    };
    tuned.prices.iter().filter_map(of_load).collect::<Vec<_>>().join(", ")
}

/// Power and boot time with all members.
fn other_prices(tuned: &Tuned) -> String {
    let of_machine = |price: &Price| match &price.cost {
        _ if price.candidate.is_some() => None,
        Cost::Power(part) => Some(change(&format!("power of {}", printable(part)), price)),
        Cost::BootTime {} => Some(change("boot time", price)),
        Cost::Work(_) => None,
    };
    let mut prices: Vec<String> = tuned.prices.iter().filter_map(of_machine).collect();
    if !tuned.prices.iter().any(|price| matches!(price.cost, Cost::Power(_))) {
        prices.push("power unknown, because neither RAPL nor hwmon counted it".into());
    }
    prices.join(", ")
}
