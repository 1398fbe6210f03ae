//! The runs of tuning: each with its candidates, and the answer of the complete rounds.

use super::firmware;
use super::question::{Cost, Journal, Measured, Price, RUNS_MIN, Tuned, Tuning, blocks, tuner};
use crate::exit::UsageError;
use crate::measuring::machine::find;
use crate::measuring::rounds::{Measurable, RoundsState, RunResult, StoredSeries};
use account::{Account, ExplanationSource};
use archive::problem::Remark;
use archive::settings::RunSettings;
use judge::tune::{Configuration, TuneResult, ratio_of};
use machines::{BootWords, KnownTarget};
use readiness::suspects;
use std::collections::BTreeSet;
use std::time::Instant;

/// The run before the first round.
const BASELINE: &str = "00-0";

type Series = StoredSeries<Tuning>;

impl Measurable for Tuning {
    type Machines = KnownTarget;

    fn machines(&self) -> Result<KnownTarget, UsageError> {
        find(&self.target)
    }

    /// Measures once without candidates: the time that a run takes bounds their number, and the causes of its spikes
    /// name candidates.
    fn prepare(series: &mut Series) -> anyhow::Result<bool> {
        if series.journal.question.question.is_some() {
            return Ok(true);
        }
        series.measuring.report("a first run without changes");
        let started = Instant::now();
        let run = measure(series, Configuration::NONE, BASELINE, 0)?;
        let took_ns = ns_since(started).max(1);
        let account = match run {
            _ if series.measuring.stopped() => return ended(series, RoundsState::Interrupted, None),
            Err(why) => return ended(series, RoundsState::Failed, Some(why)),
            Ok(account) => account,
        };
        let journal = &mut series.journal;
        let named = named_candidates(&journal.question, &account);
        let runs_max = (journal.question.budget_ns / took_ns).max(u64::from(RUNS_MIN));
        let runs_max = u32::try_from(runs_max).unwrap_or(u32::MAX);
        journal.question.question = Some(judge::tune::Question {
            candidates: journal.question.candidates.len(),
            named,
            least: journal.question.least,
            confidence: journal.confidence,
            runs_max,
            seed: journal.rounds.seed,
        });
        series.measuring.report(&format!("time for at most {runs_max} runs"));
        series.journal.save(&series.directory)?;
        Ok(true)
    }

    fn next_variants(series: &mut Series) -> Vec<String> {
        let next = tuner(&series.journal).and_then(|tuner| tuner.next()).unwrap_or_default();
        next.into_iter().map(String::from).collect()
    }

    fn run(series: &mut Series, variant: &str, archive: &str, round: u32) -> RunResult {
        let configuration = Configuration::try_from(variant.to_owned())?;
        let all = series.journal.question.candidates.len();
        let runs = series.journal.question.measured.len();
        series.measuring.report(&format!("round {round}, run {}: {} of {all} settings", runs + 1, configuration.len()));
        Ok(measure(series, configuration, archive, round)?.map(|_| ()))
    }

    fn decided(series: &Series) -> bool {
        tuner(&series.journal).is_some_and(|tuner| tuner.next().is_none())
    }

    fn answer(series: &Series) -> Option<Tuned> {
        answer(&series.journal)
    }
}

/// The answer of the complete rounds; `None` without one.
fn answer(journal: &Journal) -> Option<Tuned> {
    let result = tuner(journal).filter(|tuner| tuner.runs() > 0)?.result();
    let members: Configuration = result.members.iter().map(|member| member.candidate).collect();
    let figures =
        |of: Configuration| -> Vec<f64> { blocks(journal).filter_map(|block| Some(block.get(&of)?.figure)).collect() };
    let (before, after) = (figures(Configuration::NONE), figures(members));
    Some(Tuned {
        before: judge::tune::median_of(&before),
        after: judge::tune::median_of(&after).filter(|_| !members.is_empty()),
        prices: prices(journal, &result, members),
        result,
    })
}

/// The costs with and without each member, and with and without all.
fn prices(journal: &Journal, result: &TuneResult, members: Configuration) -> Vec<Price> {
    let costs: BTreeSet<Cost> = journal.question.measured.values().flat_map(|run| run.costs().into_keys()).collect();
    let mut prices = Vec::new();
    for cost in costs {
        let compared = |with: Configuration, without: Configuration| {
            let ratio =
                |(one, other): (&Measured, &Measured)| Some((one.costs().get(&cost)? / other.costs().get(&cost)?).ln());
            let both = blocks(journal).filter_map(|block| Some((*block.get(&with)?, *block.get(&without)?)));
            let logarithms: Vec<f64> = both.filter_map(ratio).filter(|value| value.is_finite()).collect();
            ratio_of(&logarithms, result.confidence)
        };
        let single = members.candidates().map(|member| (Some(member), members, members.without(member)));
        let all = (!members.is_empty()).then_some((None, members, Configuration::NONE));
        for (candidate, with, without) in single.chain(all) {
            if let Some(ratio) = compared(with, without) {
                prices.push(Price { candidate, cost: cost.clone(), ratio });
            }
        }
    }
    prices
}

fn ended(series: &mut Series, state: RoundsState, problem: Option<String>) -> anyhow::Result<bool> {
    (series.journal.rounds.state, series.journal.rounds.problem) = (state, problem);
    series.journal.save(&series.directory)?;
    Ok(false)
}

/// Measures with these candidates, explains and keeps the figures; the inner error says why the run does not count. `round`
/// counts from 1.
fn measure(
    series: &mut Series,
    configuration: Configuration,
    archive: &str,
    round: u32,
) -> anyhow::Result<Result<Account, String>> {
    let Some(firmware) = firmware_set(series, configuration)? else {
        return Ok(Err("stopped before a boot with other firmware settings".into()));
    };
    let (settings, boot) = with_candidates(&series.journal.question, configuration);
    let settings = RunSettings { dither_seed: seed_of_round(settings.dither_seed, round), ..settings };
    let target = if boot.is_empty() { Some(series.machines.clone()) } else { series.machines.booted_with(&boot) };
    let Some(target) = target else { return Ok(Err(format!("{} cannot be booted", series.machines.name()))) };
    // In virtual time a run starts at a fixed instant, however long the boot took.
    let boots = target.virtual_machine().is_ok() && !target.is_in_virtual_time();
    let directory = series.directory.join(archive);
    let started = Instant::now();
    // Of a baseline that was interrupted.
    if archive == BASELINE && directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    let run = match series.measuring.run(&target, settings, &directory) {
        Ok(run) => run,
        // The request is sound, since a run has succeeded: a boot that fails costs its round, and several in a row end the series.
        Err(why) if !series.journal.question.measured.is_empty() => return Ok(Err(format!("{why:#}"))),
        Err(why) => return Err(why),
    };
    let account = Account::of(run, ExplanationSource::Traces);
    let summary = account.summary();
    let journal = &mut series.journal;
    if let Err(why) = journal.question.take_boot(firmware, account.run().boot_id.as_deref()) {
        return Ok(Err(why));
    }
    journal.emulated |= summary.emulated;
    journal.virtual_time |= summary.virtual_time;
    if !summary.valid {
        return Ok(Err(Remark::joined(&summary.invalid_because)));
    }
    let measured_ns = u64::try_from(summary.measured_ns.unwrap_or(0)).unwrap_or(0);
    let figure = journal.question.goal.value(account.run(), measured_ns.max(1));
    let Some((figure, figures)) = figure.zip(account.variant_figures()) else {
        return Ok(Err("the run has no samples".into()));
    };
    let work = figures.loads.iter().map(|load| (load.name.clone(), load.per_second)).collect();
    let run = account.run();
    let power = run.energy.iter().filter_map(|used| Some((used.source.clone(), used.watts()?))).collect();
    let boot_ns = run.phases.first().map(|(_, begun_ns)| *begun_ns).filter(|_| boots);
    let measured = Measured { figure, took_ns: ns_since(started), work, power, boot_ns };
    journal.question.measured.insert(archive.to_owned(), measured);
    if !series.measuring.stopped() {
        account.save_explanations()?;
    }
    Ok(Ok(account))
}

/// The firmware settings of the run, after asking for a boot if they are others than before; `None` if the user stopped the series
/// instead.
fn firmware_set(series: &mut Series, configuration: Configuration) -> anyhow::Result<Option<Configuration>> {
    let question = &series.journal.question;
    let wanted = firmware::wanted(&question.candidates, configuration);
    if wanted != question.firmware_set && !firmware::ask(series.machines.name(), &question.candidates, wanted)? {
        series.measuring.signals.requests().request();
        return Ok(None);
    }
    Ok(Some(wanted))
}

/// The seed of all runs of a round. In virtual time the same seed gives the same run again, so each round has another one.
fn seed_of_round(first: Option<u64>, round: u32) -> Option<u64> {
    first.map(|seed| seed.wrapping_add(u64::from(round)))
}

fn ns_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The settings of a run with these candidates, and the words of its boot.
fn with_candidates(question: &Tuning, configuration: Configuration) -> (RunSettings, BootWords) {
    let mut settings = question.settings.clone();
    let mut boot = BootWords::default();
    for candidate in configuration.candidates().filter_map(|at| question.candidates.get(at)) {
        settings.settings.extend(candidate.changes.iter().map(|changed| changed.change.clone()));
        boot.extend(&candidate.boot);
    }
    (settings, boot)
}

/// Candidates whose rule concerns a cause of the run's spikes.
fn named_candidates(question: &Tuning, account: &Account) -> Configuration {
    let findings = account.explanations().iter().flat_map(|explanation| &explanation.findings);
    let rules: BTreeSet<&str> = findings.flat_map(|finding| suspects(&finding.culprit)).copied().collect();
    let is_named = |rule: &Option<String>| rule.as_deref().is_some_and(|rule| rules.contains(rule));
    let candidates = question.candidates.iter().enumerate();
    candidates.filter(|(_, candidate)| is_named(&candidate.rule)).map(|(at, _)| at).collect()
}
