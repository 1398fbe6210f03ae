//! The whole search, step by step, with the evidence of each step.

use super::candidate::Candidate;
use super::journal::{DoneStep, Journal, Plan};
use super::measuring::{Step, Steps, enough_rounds};
use super::{BisectArguments, candidates, measuring};
use crate::archives::{RUNS, new_below};
use crate::exit::{Exit, UsageError};
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use anyhow::anyhow;
use archive::reader::Run;
use judge::bisect::{Next, StepVerdict, next, step_confidence, steps_most};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use words::printable::printable;
use words::shell::quoted;

pub fn run(arguments: &BisectArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let words = candidates(arguments)?;
    let parsed: Vec<Candidate> =
        words.iter().map(|word| Candidate::parse(word, arguments)).collect::<Result<_, _>>()?;
    let virtual_time = parsed[0].in_virtual_time();
    if parsed.iter().any(|candidate| candidate.in_virtual_time() != virtual_time) {
        return Err(UsageError(
            "some candidates are in virtual time and others are not: the two do not compare".into(),
        )
        .into());
    }
    let typed = arguments.limits.of(&Run::default())?;
    if virtual_time && typed.is_empty() && parsed[0].variant.settings.limit_ns.is_none() {
        return Err(UsageError(
            "in virtual time --limit says what is bad, like 'latency < 50us' or 'p99.9 < 20us'".into(),
        )
        .into());
    }
    let confidence = step_confidence(arguments.limits.confidence(), steps_most(words.len()));
    let by_experiments = !virtual_time && typed.is_empty() && parsed[0].variant.settings.limit_ns.is_none();
    if by_experiments {
        enough_rounds(arguments.rounds, confidence)?;
    }
    let plan = Plan {
        candidates: words,
        before: arguments.before.clone(),
        limits: typed.iter().map(|limit| limit.text.clone()).collect(),
        settings: parsed[0].variant.settings.clone(),
        seeds: arguments.seeds,
        rounds: arguments.rounds,
        confidence: arguments.limits.confidence(),
    };
    let directory = place(arguments.out.as_deref())?;
    let mut search = Search {
        arguments,
        journal: Journal::open(&directory, plan, virtual_time)?,
        candidates: parsed,
        steps: Steps { limits: &arguments.limits, seeds: arguments.seeds, rounds: arguments.rounds, confidence },
        directory,
    };
    let end = search.go_on(command)?;
    search.conclude(end)
}

/// Directory of the archives; an unfinished search in it is continued.
fn place(out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(out) = out else {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(new_below(Path::new(RUNS), started.as_secs(), "bisect")?.0);
    };
    fs::create_dir_all(out).map_err(|error| anyhow!("failed to create {}: {error}", out.display()))?;
    Ok(out.to_owned())
}

struct Search<'a> {
    arguments: &'a BisectArguments,
    journal: Journal,
    candidates: Vec<Candidate>,
    steps: Steps<'a>,
    directory: PathBuf,
}

impl Search<'_> {
    /// Runs steps until the search ends or the user stops it; a stopped search has no result.
    fn go_on(&mut self, command: Vec<String>) -> anyhow::Result<Option<Next>> {
        let mut means = None;
        loop {
            let at = match next(&self.journal.verdicts()) {
                Next::Check(at) => at,
                end => return Ok(Some(end)),
            };
            if means.is_none() {
                means = Some(measuring(self.arguments, command.clone())?);
            }
            let Some(means) = &means else { continue };
            let archives = format!("{:02}", self.journal.steps.len() + 1);
            let place = self.directory.join(&archives);
            // The results of an interrupted step are not used.
            if place.exists() {
                fs::remove_dir_all(&place).map_err(|error| anyhow!("failed to remove {}: {error}", place.display()))?;
            }
            let worse_at_least = self.journal.steps.iter().find_map(|step| step.worse_at_least);
            let good = (at > 0).then(|| &self.candidates[0]);
            // Without a limit, the other candidates are compared with the good end.
            let step = if at == 0 && self.is_reference() {
                Step { verdict: StepVerdict::Good, sentence: "reference for the others".into(), worse_at_least: None }
            } else {
                self.steps.measure(means, &self.candidates[at], good, worse_at_least, &place)?
            };
            if means.stopped() {
                return Ok(None);
            }
            self.report(at, &step);
            let Step { verdict, sentence, worse_at_least } = step;
            self.journal.steps.push(DoneStep { candidate: at, verdict, sentence, worse_at_least, archives });
            self.journal.save(&self.directory)?;
        }
    }

    fn is_reference(&self) -> bool {
        let settings = &self.candidates[0].variant.settings;
        !self.journal.virtual_time && self.journal.plan.limits.is_empty() && settings.limit_ns.is_none()
    }

    /// One line on standard error per step, because a search takes long.
    fn report(&self, at: usize, step: &Step) {
        if !self.arguments.json {
            let number = self.journal.steps.len() + 1;
            let most = steps_most(self.candidates.len());
            let word = step.verdict.words();
            let line = format!("step {number} of about {most}: {} {word}: {}", self.name(at), step.sentence);
            complain!("{}", printable(&line));
        }
    }

    fn name(&self, at: usize) -> String {
        quoted(&self.journal.plan.candidates[at])
    }

    fn conclude(mut self, end: Option<Next>) -> anyhow::Result<Exit> {
        let exit = match &end {
            None => Exit::NotMeasured,
            Some(Next::FirstBad(at)) => {
                self.journal.first_bad = Some(self.journal.plan.candidates[*at].clone());
                Exit::Measured
            }
            Some(Next::WrongEnd(..)) => Exit::Usage,
            Some(Next::Suspects(suspects)) => {
                self.journal.suspects = suspects.iter().map(|at| self.journal.plan.candidates[*at].clone()).collect();
                Exit::NotEnoughData
            }
            Some(Next::Check(_)) => unreachable!("the search continues while there is something to check"),
        };
        self.journal.save(&self.directory)?;
        if self.arguments.json {
            let mut document = serde_json::to_value(&self.journal)?;
            document["directory"] = self.directory.display().to_string().into();
            json::print(&document)?;
        } else {
            self.lay_out(end.as_ref(), Page::for_stdout()).print()?;
        }
        Ok(exit)
    }

    fn lay_out(&self, end: Option<&Next>, mut page: Page) -> Page {
        alarm_of_clock(self.journal.virtual_time, false, &mut page);
        for step in &self.journal.steps {
            page.wrapped(&format!("{}  {} ", step.archives, step.verdict.words()), &self.name(step.candidate));
            page.wrapped("      ", &step.sentence);
        }
        page.blank();
        match end {
            Some(Next::FirstBad(at)) => {
                page.wrapped(
                    "",
                    &format!("{} is the first bad one; {} is good.", self.name(*at), self.name(self.last_good(*at))),
                );
                page.wrapped("", &self.guarantee());
                self.way_on(*at, &mut page);
            }
            Some(Next::Suspects(suspects)) => {
                let names: Vec<String> = suspects.iter().map(|at| self.name(*at)).collect();
                page.wrapped(
                    "",
                    &format!("The first bad one is among these, which cannot be separated: {}.", names.join(", ")),
                );
            }
            Some(Next::WrongEnd(at, verdict)) => {
                let end = if *at == 0 { "good" } else { "bad" };
                let word = verdict.words();
                page.wrapped(
                    "",
                    &format!("The {end} end {} is not: it is {word}. There is nothing to search for; name other ends or another limit.", self.name(*at)),
                );
            }
            None | Some(Next::Check(_)) => {
                let directory = quoted(&self.directory.display().to_string());
                page.wrapped("", &format!("Stopped. To continue, run the same command with --out {directory}"));
            }
        }
        page.wrapped(
            "",
            &format!("Archives and bisect.json are in {}.", quoted(&self.directory.display().to_string())),
        );
        page
    }

    fn last_good(&self, bad: usize) -> usize {
        let verdicts = self.journal.verdicts();
        verdicts[..bad].iter().rposition(|verdict| *verdict == Some(StepVerdict::Good)).unwrap_or(0)
    }

    fn guarantee(&self) -> String {
        if self.journal.virtual_time {
            return "Every step repeats exactly, as long as the list goes from good to bad once.".into();
        }
        format!(
            "If the list goes from good to bad once, this is wrong with a probability of at most {:.4}: each of {} steps was made \
             with a confidence of {:.3} %.",
            1.0 - self.journal.plan.confidence,
            steps_most(self.candidates.len()),
            100.0 * self.steps.confidence
        )
    }

    /// Commands that show what changed.
    fn way_on(&self, bad: usize, page: &mut Page) {
        let place = |at: usize| {
            let step = self.journal.steps.iter().find(|step| step.candidate == at)?;
            Some(quoted(&self.directory.join(&step.archives).display().to_string()))
        };
        if let Some((good, bad)) = place(self.last_good(bad)).zip(place(bad)).filter(|_| self.journal.virtual_time) {
            page.line(&format!("  tardy compare {good} {bad}"));
        }
    }
}
