//! The question of a `tardy tune` series, the figures of its runs, and its answer.

use super::candidate::{Candidate, LeftOut};
use crate::measuring::rounds;
use archive::settings::RunSettings;
use judge::observer::Estimate;
use judge::tune::{Configuration, Goal, TuneResult, Tuner};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which settings help on a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    pub tune_version: u32,
    pub target: String,
    /// Settings of every run, without candidates.
    pub settings: RunSettings,
    pub goal: Goal,
    /// Time for all runs, in ns.
    pub budget_ns: u64,
    pub candidates: Vec<Candidate>,
    pub left_out: Vec<LeftOut>,
    /// `None` until a first run has shown how long a run takes and which causes its spikes have.
    pub question: Option<judge::tune::Question>,
    /// Least effect of interest, as a ratio.
    pub least: f64,
    /// The firmware settings that the target had in the last run, as the user said.
    #[serde(default)]
    pub firmware_set: Configuration,
    /// The boot in which the last run ran.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// Figures of the runs by the names of their archives.
    pub measured: BTreeMap<String, Measured>,
}

impl Tuning {
    /// Notes the boot of a run with these firmware settings.
    ///
    /// # Errors
    /// When they are others than in the last run, and the target has not booted since.
    pub fn take_boot(&mut self, firmware: Configuration, boot_id: Option<&str>) -> Result<(), String> {
        if firmware != self.firmware_set && boot_id.is_some() && boot_id == self.boot_id.as_deref() {
            return Err("the target has not booted since the last run, so its firmware settings are the same".into());
        }
        (self.firmware_set, self.boot_id) = (firmware, boot_id.map(str::to_owned));
        Ok(())
    }
}

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The goal's figure.
    pub figure: f64,
    /// From its start to its end, with all that belongs to it, in ns; 0 in series of older versions.
    #[serde(default)]
    pub took_ns: u64,
    /// Work of the loads, in units a second.
    pub work: BTreeMap<String, f64>,
    /// Mean power of each part of the machine that counts its energy, in W.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub power: BTreeMap<String, f64>,
    /// From the boot to the start of the meter, where each run boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_ns: Option<i64>,
}

impl Measured {
    /// The figures in which a setting may have a price.
    pub fn costs(&self) -> BTreeMap<Cost, f64> {
        let work = self.work.iter().map(|(load, rate)| (Cost::Work(load.clone()), *rate));
        let power = self.power.iter().map(|(part, watts)| (Cost::Power(part.clone()), *watts));
        let boot = self.boot_ns.map(|ns| (Cost::BootTime {}, ns as f64));
        work.chain(power).chain(boot).collect()
    }
}

/// A figure of a run beside the goal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Of a load.
    #[serde(rename = "load")]
    Work(String),
    /// Of a part of the machine.
    Power(String),
    BootTime {},
}

/// The answer of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    #[serde(flatten)]
    pub result: TuneResult,
    /// Median figure of the runs without any candidate.
    pub before: Option<f64>,
    /// Median figure of the runs with the members and no other candidate.
    pub after: Option<f64>,
    /// Ratio of the costs with each member to those without it, and of all members together.
    pub prices: Vec<Price>,
}

/// The price of a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// `None`: all members.
    pub candidate: Option<usize>,
    #[serde(flatten)]
    pub cost: Cost,
    pub ratio: Estimate,
}

impl rounds::Question for Tuning {
    type Answer = Tuned;
    const FILE: &'static str = "tune.json";
    const VERB: &'static str = "tune";
    const VERSION: u32 = 1;

    fn version(&self) -> u32 {
        self.tune_version
    }
}

pub type Journal = rounds::Journal<Tuning>;

/// The runs of a complete round by their configurations.
pub type Block<'a> = BTreeMap<Configuration, &'a Measured>;

/// The complete rounds.
pub fn blocks(journal: &Journal) -> impl Iterator<Item = Block<'_>> {
    let measured = &journal.question.measured;
    journal.rounds.complete().filter_map(move |attempt| {
        let run = |run: &rounds::VariantRun| {
            Some((Configuration::try_from(run.variant.clone()).ok()?, measured.get(&run.archive)?))
        };
        attempt.runs.iter().map(run).collect()
    })
}

/// Runs that the budget has room for at least: fewer decide nothing.
pub const RUNS_MIN: u32 = 2;

/// Runs that the budget has room for at the mean length of the measured ones. The first run, from which their number was expected,
/// may be far from the mean. `None` where no length is known.
fn room(question: &Tuning) -> Option<u32> {
    let lengths: Vec<u64> = question.measured.values().map(|run| run.took_ns).filter(|ns| *ns > 0).collect();
    let all_ns = lengths.iter().fold(0, |sum: u128, ns| sum + u128::from(*ns));
    let runs = u128::from(question.budget_ns) * lengths.len() as u128 / Some(all_ns).filter(|ns| *ns > 0)?;
    Some(u32::try_from(runs).unwrap_or(u32::MAX).max(RUNS_MIN))
}

/// The state that follows from the complete rounds; `None` before the first run.
pub fn tuner(journal: &Journal) -> Option<Tuner> {
    let mut tuner = Tuner::new(journal.question.question?);
    for block in blocks(journal) {
        let values: Vec<(Configuration, f64)> =
            block.into_iter().map(|(configuration, run)| (configuration, run.figure.ln())).collect();
        tuner.push(&values);
    }
    let room = room(&journal.question);
    Some(match room {
        Some(runs) => tuner.with_room(runs),
        None => tuner,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning() -> Tuning {
        Tuning {
            tune_version: 1,
            target: "board".into(),
            settings: RunSettings::default(),
            goal: Goal::Worst,
            budget_ns: 1,
            candidates: Vec::new(),
            left_out: Vec::new(),
            question: None,
            least: 1.1,
            firmware_set: Configuration::NONE,
            boot_id: None,
            measured: BTreeMap::new(),
        }
    }

    #[test]
    fn other_firmware_settings_take_a_boot() {
        let mut tuning = tuning();
        let smt_off: Configuration = [0].into_iter().collect();
        assert_eq!(tuning.take_boot(Configuration::NONE, Some("a")), Ok(()));
        assert!(tuning.take_boot(smt_off, Some("a")).is_err());
        assert_eq!((tuning.firmware_set, tuning.take_boot(smt_off, Some("b"))), (Configuration::NONE, Ok(())));
        assert_eq!((tuning.firmware_set, tuning.take_boot(smt_off, Some("b"))), (smt_off, Ok(())));
    }

    #[test]
    fn prices_keep_their_form_and_read_that_of_earlier_series() {
        let read = |text: &str| serde_json::from_str::<Price>(text).unwrap();
        let earlier = read(r#"{"candidate":0,"load":"messaging","ratio":{"value":1.0,"interval":null}}"#);
        assert_eq!(earlier.cost, Cost::Work("messaging".into()));
        for cost in [Cost::Power("package-0".into()), Cost::BootTime {}, Cost::Work("fork".into())] {
            let price = Price { cost, ..earlier.clone() };
            assert_eq!(read(&serde_json::to_string(&price).unwrap()), price);
        }
    }
}
