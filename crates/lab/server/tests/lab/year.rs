//! A year of runs that were never measured, with planted changes: a step, a new second mode, a slow drift; and boards with
//! hostile names, without limits, and silent ones.

use std::path::Path;
use synthetic_run::{Latencies, SyntheticRun};

const DAY_NS: i64 = 86_400_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// Draws of each run, and how many wake-ups each stands for.
const DRAWS: u64 = 3000;
const EACH: u64 = 20;
const LIMIT_NS: i64 = 150_000;

/// Where a change is planted, as a share of the year.
pub const STEP_AT: f64 = 0.5;
pub const MODE_AT: f64 = 0.65;

/// A board of the lab.
#[derive(Debug, Clone, Copy)]
pub struct Board {
    pub name: &'static str,
    pub median_ns: f64,
    /// Kernels in order, each from a share of the year on.
    pub kernels: &'static [(f64, &'static str)],
    pub kind: Kind,
    pub loads: &'static [&'static str],
}

/// What is planted in a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Steady,
    /// The median rises by a half with a kernel.
    Step,
    /// One wake-up of two hundred is 25 µs later, with a kernel.
    SecondMode,
    /// The median rises by a half over the year.
    Drift,
    /// Wake-ups exceed the limit in the last tenth of the year.
    Bad,
    /// The last quarter of the year has no runs, and no run has a limit.
    Silent,
}

const LINES: &[(f64, &str)] =
    &[(0.0, "6.1.83-rt28"), (0.2, "6.6.30-rt30"), (STEP_AT, "6.12.8-rt5"), (0.8, "6.12.19-rt11")];
const MAINLINE: &[(f64, &str)] = &[(0.0, "6.12.1"), (0.35, "6.13.4"), (MODE_AT, "6.14.0-rc3"), (0.9, "6.14.2")];
const STABLE: &[(f64, &str)] = &[(0.0, "6.12.8-rt5")];

/// The boards of the year.
pub const BOARDS: &[Board] = &[
    Board { name: "beagleplay", median_ns: 21_000.0, kernels: MAINLINE, kind: Kind::SecondMode, loads: &["messaging"] },
    Board { name: "imx8mp-evk", median_ns: 14_000.0, kernels: LINES, kind: Kind::Bad, loads: &["messaging", "none"] },
    Board { name: "nuc-13", median_ns: 2_600.0, kernels: STABLE, kind: Kind::Drift, loads: &["cache"] },
    Board { name: "old-atom", median_ns: 9_000.0, kernels: STABLE, kind: Kind::Silent, loads: &["none"] },
    Board { name: "pi-4", median_ns: 11_000.0, kernels: LINES, kind: Kind::Step, loads: &["messaging", "none"] },
    Board {
        name: "rock-5b",
        median_ns: 6_400.0,
        kernels: LINES,
        kind: Kind::Steady,
        loads: &["messaging", "cache", "none"],
    },
];

/// Names that a target chose to harm a page.
pub fn hostile() -> Vec<String> {
    vec![
        "<img src=x onerror=document.title='owned'>\"'&amp;".into(),
        "\u{202e}gnirts \u{2066}\u{1b}[31m\u{7}\u{0}".into(),
        format!("zalgo{}", "\u{301}".repeat(10_000)),
        "../../etc/passwd?a=b#c%2f".into(),
    ]
}

/// A generator of numbers that are the same on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, by twelve of them.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Writes the runs of a year that ends at `until_unix_ns`, one every `days` for each board and load. Returns their number.
pub fn write(directory: &Path, until_unix_ns: i64, days: f64) -> usize {
    let runs = (365.0 / days) as usize;
    let mut written = 0;
    for (number, board) in BOARDS.iter().enumerate() {
        for (place, load) in board.loads.iter().enumerate() {
            let mut dice = Dice::new((number * 100 + place + 1) as u64);
            for run in 0..runs {
                let share = run as f64 / runs as f64;
                if board.kind == Kind::Silent && share > 0.75 {
                    break;
                }
                let ago = (365.0 * (1.0 - share) * DAY_NS as f64) as i64;
                let at = until_unix_ns - ago + (place as i64 * 3600 + 7200) * SECOND_NS;
                let name = format!("{}-{load}-{run:04}", board.name);
                of(board, load, share, at, &mut dice).write(&directory.join(name));
                written += 1;
            }
        }
    }
    for (number, name) in hostile().iter().enumerate() {
        let mut dice = Dice::new(9000 + number as u64);
        let board = Board { name: "", median_ns: 5_000.0, kernels: STABLE, kind: Kind::Bad, loads: &["none"] };
        let mut run = of(&board, "none", 0.95, until_unix_ns - 3 * DAY_NS, &mut dice);
        (run.board, run.kernel) = (name.clone(), name.clone());
        run.write(&directory.join(format!("hostile-{number}")));
        written += 1;
    }
    written
}

fn of(board: &Board, load: &str, share: f64, at: i64, dice: &mut Dice) -> SyntheticRun {
    let kernel = board.kernels.iter().rev().find(|(from, _)| *from <= share).map_or("", |(_, kernel)| kernel);
    let loaded = if load == "none" { 0.6 } else { 1.0 };
    let planted = match board.kind {
        Kind::Step if share >= STEP_AT => 1.5,
        Kind::Drift => 1.0 + 0.5 * share,
        _ => 1.0,
    };
    let median = board.median_ns * loaded * planted * (1.0 + 0.02 * dice.normal());
    let mut latencies = Latencies::default();
    let mut add = |ns: f64, count: u64| latencies.add((ns as i64).max(300), count);
    for _ in 0..DRAWS {
        let late = board.kind == Kind::SecondMode && share >= MODE_AT && dice.unit() < 0.005;
        let ns = median * (0.16 * dice.normal()).exp() + if late { 25_000.0 } else { 0.0 };
        add(ns, EACH);
    }
    for _ in 0..12 {
        add(median * (1.2 + 0.9 * dice.unit().powi(2) / (0.08 + dice.unit())).min(6.0), 1);
    }
    let causes = ["irq-off-section", "softirq-burst", "smi"];
    let mut spikes = Vec::new();
    if board.kind == Kind::Bad && share > 0.9 {
        for number in 0..3 {
            let ns = 158_204.0 + 9_000.0 * dice.unit();
            spikes.push((ns as i64, Some(causes[number % 2].to_owned())));
        }
    } else if dice.unit() < 0.2 {
        let ns = median * (4.2 + 2.0 * dice.unit());
        let cause = causes[(dice.unit() * 3.0) as usize % 3];
        spikes.push((ns as i64, (dice.unit() > 0.3).then(|| cause.to_owned())));
    }
    SyntheticRun {
        seconds: 60,
        latencies,
        spikes,
        limit_ns: (board.kind != Kind::Silent).then_some(LIMIT_NS),
        load: (load != "none").then(|| load.to_owned()),
        worst_kept: if share < 0.3 { 500 } else { 1000 },
        ..SyntheticRun::of(board.name, kernel, at)
    }
}
