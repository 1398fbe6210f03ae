//! The answer to "is this machine good enough?": one word, its evidence, the worst cause, and the next step.

use super::settings::Settings;
use crate::exit::Exit;
use crate::options::limits::described;
use crate::terminal::page::Page;
use account::Account;
use archive::explanation::{ExplanationStatus, Finding};
use judge::length::refutation;
use judge::verdict::{Judgement, Verdict};
use serde::Serialize;
use std::path::PathBuf;
use words::amounts::hours_more;
use words::figures::latency;

/// Version of the document that `tardy qualify --json` prints.
const QUALIFY_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub struct Answer {
    qualify_version: u32,
    target: String,
    interval_ns: Option<u64>,
    answer: &'static str,
    judgement: Judgement,
    worst_ns: Option<i64>,
    /// The first finding of the worst explained wake-up.
    cause: Option<Finding>,
    settings: Settings,
    archive: PathBuf,
    page: PathBuf,
    /// The name of the target unless that is this machine.
    #[serde(skip)]
    other_machine: Option<String>,
    #[serde(skip)]
    explained: (usize, usize),
}

impl Answer {
    pub fn of(judgement: Judgement, account: &Account, settings: Settings, page: PathBuf) -> Self {
        let (run, summary) = (account.run(), account.summary());
        let late: Vec<_> = account.explanations().iter().filter(|one| !run.is_ordinary(one.spike)).collect();
        let explained = || late.iter().filter(|one| one.status == ExplanationStatus::Explained);
        let worst = explained().max_by_key(|one| one.latency_ns);
        Self {
            qualify_version: QUALIFY_VERSION,
            other_machine: summary.other_machine().map(str::to_owned),
            target: summary.target.clone(),
            interval_ns: summary.settings.as_ref().map(|settings| settings.interval_ns),
            answer: word(judgement.verdict),
            worst_ns: summary.all_cpus.max,
            cause: worst.and_then(|one| one.findings.first().cloned()),
            explained: (explained().count(), late.len()),
            settings,
            archive: run.directory.clone(),
            page,
            judgement,
        }
    }

    /// `YES`, `NO`, `NOT YET` or `NO VERDICT`.
    pub fn verdict_word(&self) -> &'static str {
        self.answer
    }

    pub fn exit(&self) -> Exit {
        match self.judgement.verdict {
            Verdict::Pass => Exit::Measured,
            Verdict::Fail => Exit::LimitExceeded,
            Verdict::NoVerdict => Exit::NotMeasured,
            Verdict::NotEnoughData => Exit::NotEnoughData,
        }
    }

    pub fn lay_out(&self, mut page: Page) -> Page {
        page.wrapped(&format!("{}: ", self.answer), &self.in_short());
        page.wrapped("", &self.judgement.sentence);
        if let Some(worst_ns) = self.worst_ns {
            let interval = self.interval_ns.map_or(String::new(), |ns| {
                format!(" at an interval of {}", latency(i64::try_from(ns).unwrap_or(i64::MAX)))
            });
            page.wrapped("Worst: ", &format!("{}{interval}.", latency(worst_ns)));
        }
        match (&self.cause, self.explained) {
            (Some(cause), (explained, late)) => {
                let captured = if self.is_over() { "late" } else { "captured" };
                page.wrapped(
                    "Why:   ",
                    &format!("{} ({explained} of {late} {captured} wake-ups explained)", cause.sentence),
                );
                if self.is_over() {
                    page.wrapped("Fix:   ", &cause.fix);
                }
            }
            (None, (_, 0)) => {}
            (None, (_, late)) => page.wrapped("Why:   ", &format!("not explained ({late} late wake-ups with a trace)")),
        }
        self.lay_out_next(&mut page);
        page
    }

    /// Whether a wake-up was later than the limit: a cause of earlier ones needs no fix.
    fn is_over(&self) -> bool {
        self.worst_ns > self.judgement.limit.requirement.latest_ns()
    }

    /// Whether the machine keeps the limit.
    fn in_short(&self) -> String {
        let machine = self.other_machine.as_deref().unwrap_or("this machine");
        let limit = described(&self.judgement.limit);
        match self.judgement.verdict {
            Verdict::Pass => format!("{machine} keeps {limit}."),
            Verdict::Fail => format!("{machine} does not keep {limit}."),
            Verdict::NotEnoughData => format!("{machine} has not shown that it keeps {limit}."),
            Verdict::NoVerdict => format!("this run of {machine} cannot be judged by {limit}."),
        }
    }

    /// The way to a decision, if there is none yet. A run with late wake-ups is not on the way to YES.
    fn next(&self) -> Option<String> {
        let Judgement { verdict, limit, confidence, cpus, .. } = &self.judgement;
        if *verdict != Verdict::NotEnoughData {
            return None;
        }
        if cpus.iter().any(|cpu| cpu.occasions.is_some_and(|occasions| occasions.count > 0)) {
            let measured = cpus.iter().map(|cpu| cpu.hours).fold(0.0, f64::max);
            let longer = refutation(limit, *confidence).filter(|refutation| refutation.hours > measured);
            let no = longer.map_or("until NO is shown with `--until-decided`".to_owned(), |refutation| {
                format!("{} or longer to show NO", hours_more(refutation.hours))
            });
            return Some(format!("remove the cause and qualify again, or measure {no}"));
        }
        let more = cpus.iter().filter_map(|cpu| cpu.hours_needed).fold(0.0, f64::max);
        (more > 0.0).then(|| format!("measure {} more, or `--until-decided`", hours_more(more)))
    }

    fn lay_out_next(&self, page: &mut Page) {
        if let (Some(count @ 1..), Some(worst)) = (self.settings.findings, &self.settings.worst) {
            let settings = if count == 1 { "setting hurts" } else { "settings hurt" };
            page.wrapped(
                "Check: ",
                &format!("{count} {settings} real-time work, the worst: {worst}; `tardy check` shows fixes"),
            );
        }
        if let Some(next) = self.next() {
            page.wrapped("Next:  ", &next);
        }
        page.wrapped("Page:  ", &self.page.display().to_string());
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "YES",
        Verdict::Fail => "NO",
        Verdict::NotEnoughData => "NOT YET",
        Verdict::NoVerdict => "NO VERDICT",
    }
}
