//! Tuning of machines whose candidates have known effects: how often the minimal set is found, how often a useless member
//! is claimed, and the runs that it takes beside one candidate at a time.

use crate::machine::Dice;
use crate::tables::{Table, publish};
use crate::{error_most, repeated, share};
use judge::coin::Coin;
use judge::e_process;
use judge::median::{median, median_error};
use judge::tune::{Configuration, Question, TuneResult, TuneState, Tuner};

const MACHINES: usize = 200;
const CANDIDATES: usize = 20;
const RUNS_MAX: u32 = 1000;
const CONFIDENCE: f64 = 0.95;
const LEAST: f64 = 1.1;

/// A machine on which three candidates matter, the third only beside the first.
struct Invented {
    dice: Dice,
    seed: u64,
    regime: Regime,
    matter: [usize; 3],
    effects: [f64; 3],
    harmful: Option<usize>,
    runs: u32,
    walk: f64,
}

/// Scatter and disturbances of the runs; logarithms of the figure.
#[derive(Clone, Copy)]
struct Regime {
    name: &'static str,
    scatter: f64,
    /// Standard deviation of a step of the random walk between runs.
    walk: f64,
    /// Height of a wave of 60 runs.
    wave: f64,
    /// Share of the runs that are up to eight times as late.
    outliers: f64,
    harmful: bool,
}

const PLAIN: Regime =
    Regime { name: "scatter 10 %", scatter: 0.1, walk: 0.0, wave: 0.0, outliers: 0.0, harmful: false };

const REGIMES: [Regime; 5] = [
    PLAIN,
    Regime { name: "outlier runs 1 in 10", outliers: 0.1, ..PLAIN },
    Regime { name: "drift", walk: 0.03, wave: 0.2, ..PLAIN },
    Regime { name: "all, one harmful", outliers: 0.1, walk: 0.03, wave: 0.2, harmful: true, ..PLAIN },
    Regime { name: "scatter 20 %", scatter: 0.2, ..PLAIN },
];

impl Invented {
    fn new(seed: u64, regime: Regime) -> Self {
        let mut coin = Coin::new(seed);
        let mut order: Vec<usize> = (0..CANDIDATES).collect();
        coin.shuffle(&mut order);
        // 20 to 80 % later without it.
        let mut effect = || 1.2f64.ln() + coin.unit() * (1.8f64 / 1.2).ln();
        Self {
            dice: Dice::new(seed),
            seed,
            regime,
            matter: [order[0], order[1], order[2]],
            effects: [effect(), effect(), effect()],
            harmful: regime.harmful.then_some(order[3]),
            runs: 0,
            walk: 0.0,
        }
    }

    fn figure(&mut self, on: Configuration) -> f64 {
        self.dice.again(self.seed, self.runs);
        let Regime { scatter, walk, wave, outliers, .. } = self.regime;
        self.walk += walk * self.dice.normal();
        let wave = wave * (f64::from(self.runs) * std::f64::consts::TAU / 60.0).sin();
        self.runs += 1;
        let outlier = if self.dice.unit() < outliers { self.dice.unit() * 8f64.ln() } else { 0.0 };
        let [first, second, third] = self.matter.map(|candidate| on.contains(candidate));
        let helps = |acts: bool, at: usize| if acts { -self.effects[at] } else { 0.0 };
        let harm = if self.harmful.is_some_and(|candidate| on.contains(candidate)) { 0.3 } else { 0.0 };
        let effect = helps(first, 0) + helps(second, 1) + helps(first && third, 2) + harm;
        10.0 + effect + scatter * self.dice.normal() + self.walk + wave + outlier
    }
}

fn tuned(machine: &mut Invented) -> TuneResult {
    let mut tuner = Tuner::new(Question {
        candidates: CANDIDATES,
        named: Configuration::NONE,
        least: LEAST,
        confidence: CONFIDENCE,
        runs_max: RUNS_MAX,
        seed: machine.seed,
    });
    let mut coin = Coin::new(!machine.seed);
    while let Some(mut block) = tuner.next() {
        coin.shuffle(&mut block);
        let values: Vec<(Configuration, f64)> = block.into_iter().map(|on| (on, machine.figure(on))).collect();
        tuner.push(&values);
    }
    tuner.result()
}

/// One candidate at a time beside the ones kept so far, in rounds until the evidence shows that it helps or that it does not
/// help by the least effect; again over the rest while one was kept. Returns the kept ones and the number of runs.
fn one_at_a_time(machine: &mut Invented) -> (Configuration, u32) {
    let mut kept = Configuration::NONE;
    let mut coin = Coin::new(machine.seed);
    let mut runs = 0;
    loop {
        let before = kept;
        for candidate in (0..CANDIDATES).filter(|candidate| !before.contains(*candidate)) {
            let mut differences: Vec<f64> = Vec::new();
            loop {
                let both = [kept, kept.with(candidate)];
                let first = coin.below(2);
                let mut values = [0.0; 2];
                values[first] = machine.figure(both[first]);
                values[1 - first] = machine.figure(both[1 - first]);
                runs += 2;
                differences.push(values[0] - values[1]);
                let helps = median(&differences) > 0.0;
                if helps && e_process::p_value(&differences) <= (1.0 - CONFIDENCE) / CANDIDATES as f64 {
                    kept = kept.with(candidate);
                    break;
                }
                if useless(&differences) || differences.len() >= 100 {
                    break;
                }
            }
        }
        if kept == before {
            return (kept, runs);
        }
    }
}

/// The rule of the confirmation: eight rounds or more, and an upper end of the effect below the least one.
fn useless(differences: &[f64]) -> bool {
    differences.len() >= 8 && median(differences) + 1.64 * median_error(differences) < LEAST.ln()
}

/// One machine, tuned both ways.
struct Case {
    right: bool,
    useless: bool,
    decided: bool,
    pair: bool,
    runs: u32,
    right_singly: bool,
    runs_singly: u32,
}

fn case(seed: u64, regime: Regime) -> Case {
    let mut machine = Invented::new(seed, regime);
    let result = tuned(&mut machine);
    let matter: Configuration = machine.matter.into_iter().collect();
    let found: Configuration = result.members.iter().map(|member| member.candidate).collect();
    let mut both = [machine.matter[0], machine.matter[2]];
    both.sort_unstable();
    let mut again = Invented::new(seed, regime);
    let (singly, runs_singly) = one_at_a_time(&mut again);
    Case {
        right: found == matter,
        useless: !found.minus(matter).is_empty(),
        decided: result.state == TuneState::Decided,
        pair: result.pairs.iter().map(|pair| pair.members).collect::<Vec<_>>() == [both],
        runs: result.runs,
        right_singly: singly == matter,
        runs_singly,
    }
}

fn median_runs(runs: impl Iterator<Item = u32>) -> u32 {
    let mut sorted: Vec<u32> = runs.collect();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

#[test]
#[ignore = "minutes; make simulate-tune"]
fn the_right_settings_are_found_at_half_the_cost_of_one_at_a_time() {
    println!("TUNING of {MACHINES} machines a row: {CANDIDATES} candidates, 3 matter, one of them only beside another");
    let percent = |of: &dyn Fn(&Case) -> bool, cases: &[Case]| {
        format!("{:.1}", 100.0 * share(&cases.iter().map(of).collect::<Vec<_>>()))
    };
    let columns = ["right set", "useless member", "pair named", "decided", "runs", "singly: right set", "runs"];
    let mut table = Table::new("20 candidates, 3 matter, one only beside another", &columns.map(str::to_owned));
    for (at, regime) in REGIMES.into_iter().enumerate() {
        let cases = repeated(MACHINES, |number| case((100_000 * (at + 1) + number) as u64, regime));
        let (runs, singly) =
            (median_runs(cases.iter().map(|case| case.runs)), median_runs(cases.iter().map(|case| case.runs_singly)));
        let row = vec![
            percent(&|case| case.right, &cases),
            percent(&|case| case.useless, &cases),
            percent(&|case| case.pair, &cases),
            percent(&|case| case.decided, &cases),
            runs.to_string(),
            percent(&|case| case.right_singly, &cases),
            singly.to_string(),
        ];
        println!("  {:24} {}", regime.name, row.iter().map(|cell| format!("{cell:>16}")).collect::<String>());
        table.row(regime.name, row);
        let shares = |of: &dyn Fn(&Case) -> bool| share(&cases.iter().map(of).collect::<Vec<_>>());
        assert!(shares(&|case| case.useless) <= error_most(1.0 - CONFIDENCE, MACHINES), "{}", regime.name);
        assert!(shares(&|case| case.right) >= 0.95, "{}", regime.name);
        assert!(2 * runs <= singly, "{}: {runs} and {singly} runs", regime.name);
    }
    publish("tuning", &table);
}
