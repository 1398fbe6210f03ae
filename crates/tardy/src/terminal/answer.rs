//! The short answer of a run: by which limit, how late, why, how sure, and what to do.

use crate::terminal::clock_alarm::clock_alarm;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use account::Account;
use archive::explanation::{Confidence, ExplanationStatus, Finding};
use archive::message::{Problem, Severity};
use archive::problem::Remark;
use archive::spike::Spike;
use archive::summary::{RunSummary, SpikeSummary};
use report::account::{culprit, figures, losses, problem_sentences, remarks, verdict};
use report::conditions::{are_known, conditions_line};
use report::{counted, roles, stimulus};
use words::figures::latency;
use words::saved;
use words::vocabulary::{by, sample};

/// The limit of every maximum.
pub const NO_BOUND: &str = "A maximum is an observation, not a bound: a longer run may show a larger one.";

/// The answer about one run.
pub struct Answer<'a> {
    pub account: &'a Account,
    /// With the explanations beside the spikes.
    pub summary: &'a RunSummary,
    /// How the run failed, if that is shown elsewhere.
    pub shown: Option<&'a Problem>,
    pub next: Next,
}

/// The last lines of an answer.
pub enum Next {
    Commands(Vec<String>),
    /// The reason why nothing shows more.
    Nothing(String),
}

impl Answer<'_> {
    /// Lays the answer out.
    pub fn lay_out(&self, page: Page) -> Page {
        let summary = self.summary;
        let judgements = self.account.limit_judgements();
        let mut short = Short::on(page);
        // A judgement says it of such a clock.
        short.optional("", clock_alarm(summary.virtual_time, summary.emulated).filter(|_| judgements.is_empty()));
        let mut sentences = judgements.iter().map(|judgement| judgement.sentence.as_str());
        // Lines that the user asked to count are the second line, behind one line of the first sentence.
        let counts = if summary.valid { self.counts() } else { Vec::new() };
        if !counts.is_empty() {
            short.line(sentences.next().unwrap_or(&verdict(summary)));
            counts.iter().for_each(|sentence| short.text(2, "", sentence));
        }
        sentences.for_each(|sentence| short.text(1, "", sentence));
        if counts.is_empty() || !judgements.is_empty() {
            short.text(2, "", &verdict(summary));
        }
        short.optional("  because ", self.reason());
        short.optional("", figures(summary));
        let has_samples = summary.all_cpus.max.is_some();
        short.optional("", (has_samples && are_known(summary)).then(|| conditions_line(summary)));
        others(summary).iter().for_each(|sentence| short.text(1, "", sentence));
        if !summary.valid {
            self.counts().iter().for_each(|sentence| short.text(1, "", sentence));
        }
        // A judgement says how sure its claim is.
        let is_unbounded = judgements.is_empty() && has_samples && !summary.virtual_time && summary.valid;
        short.optional("", is_unbounded.then_some(NO_BOUND));
        // The causes of figures that must not be used are of no interest before the reason.
        if summary.valid {
            short.optional("Causes: ", words::run_causes::counted(self.account.sample_word(), self.account.causes()));
            short.optional("Worst:  ", worst(summary));
            short.optional("Fix:    ", fix(summary));
            short.optional("Saved:  ", saved::listed(&requested(summary)));
        } else {
            short.optional("Fix:    ", self.repair_of_run());
        }
        short.optional("But:    ", remark(summary));
        match &self.next {
            Next::Commands(commands) => short.commands(commands),
            Next::Nothing(why) => short.whole("", why),
        }
        short.lay_out()
    }

    /// The counted lines with the causes before them.
    fn counts(&self) -> Vec<String> {
        self.summary.counted.iter().map(|text| counted::with_causes(text, self.summary)).collect()
    }

    /// Why the figures are invalid, unless that is shown elsewhere or the verdict has said it.
    fn reason(&self) -> Option<&str> {
        let shown = |reason: &&Remark| self.shown.is_some_and(|problem| Remark::from(problem) == **reason);
        let reason = self.summary.invalid_because.iter().find(|reason| !shown(reason))?;
        (!self.summary.cpus.is_empty()).then_some(&reason.text)
    }

    /// The fix that makes the next run valid, unless it is shown elsewhere.
    fn repair_of_run(&self) -> Option<&str> {
        let invalid = self.summary.problems.iter().filter(|problem| problem.severity == Severity::Invalid);
        let others = invalid.filter(|problem| self.shown.is_none_or(|shown| shown != *problem));
        others.map(|problem| problem.fix.as_str()).find(|fix| !fix.is_empty())
    }
}

/// The figures of another machine or a stimulus board, and their reservations.
fn others(summary: &RunSummary) -> Vec<String> {
    let measured = |whose: String, max: Option<i64>| match max {
        Some(ns) => format!("{whose} Its max: {}.", latency(ns)),
        None => whose,
    };
    let board = summary.stimulus_board.iter().flat_map(|board| {
        let figures = measured(stimulus::whose(board), board.latency_ns.max);
        [figures].into_iter().chain(stimulus::reservation(board).map(str::to_owned))
    });
    let roles = summary.roles.iter().flat_map(|other| {
        let reservations = roles::reservations(other);
        [measured(roles::whose(other), other.latency_ns.max)].into_iter().chain(reservations)
    });
    board.chain(roles).collect()
}

/// The spikes that were kept on request.
fn requested(summary: &RunSummary) -> Vec<&Spike> {
    summary.spikes.iter().map(|entry| &entry.spike).filter(|spike| spike.requested).collect()
}

/// The most severe remark, and the number of the others. Of an invalid run the reason is shown, and of figures that are no
/// time of hardware the clock.
pub fn remark(summary: &RunSummary) -> Option<String> {
    let is_said = !summary.valid || summary.emulated || summary.virtual_time;
    let of_request = if is_said { Vec::new() } else { problem_sentences(summary) };
    let lost = losses(summary).into_iter().map(|loss| format!("lost: {loss}"));
    let all: Vec<String> = of_request.into_iter().chain(remarks(&summary.gaps)).chain(lost).collect();
    let first = all.first()?;
    Some(match all.len() - 1 {
        0 => first.clone(),
        others => format!("{first} (and {others} more)"),
    })
}

fn worst(summary: &RunSummary) -> Option<String> {
    let worst = summary.worst_spike()?;
    let late = by(sample(summary), &latency(worst.latency_ns));
    Some(format!("CPU {}, {late}: {}", worst.spike.sample.cpu, culprit(worst.explanation.as_ref())))
}

/// The repair for the worst wake-up that is explained.
fn fix(summary: &RunSummary) -> Option<String> {
    let mut worst_first = summary.worst_spike().into_iter().chain(summary.late_spikes());
    let (entry, finding) = worst_first.find_map(|entry| Some((entry, repair(entry)?)))?;
    let is_worst = summary.worst_spike().is_some_and(|worst| worst.spike.number == entry.spike.number);
    Some(match is_worst {
        true => finding.fix.clone(),
        false => format!("for {} (spike {}): {}", finding.culprit, entry.spike.number, finding.fix),
    })
}

fn repair(entry: &SpikeSummary) -> Option<&Finding> {
    let explanation = entry.explanation.as_ref().filter(|known| known.status == ExplanationStatus::Explained)?;
    let is_cause = |finding: &&Finding| finding.confidence > Confidence::Hint && !finding.fix.is_empty();
    explanation.findings.iter().find(is_cause)
}
