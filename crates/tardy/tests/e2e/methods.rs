//! Every method in machines with its devices: enough samples, none lost without being counted, and medians like those of
//! the reference. `make e2e-methods` runs these and prints a line for each.
//!
//! An emulated machine is as slow as its host is busy. So a timer is measured in the same machine immediately before. Where its
//! wake-up takes longer than in the reference, the other medians may, too, and where it takes shorter, they may be shorter.

mod devices;
mod execution_map;
mod responses;
mod roles;
mod rtc_endings;
mod stimulus_board;
mod vfio;

use crate::lab::{Lab, assert_ledgers_add_up};
use archive::loss::LossKind;
use archive::reader::Run;
use archive::spike::SpikeReason;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Child;

/// How many times longer than the reference a median may be.
const LONGER: f64 = 2.0;
/// How many times shorter it may be: what the reference's programs did between stimulus and clock is not known, and what is shorter
/// than this is another path.
const SHORTER: f64 = 5.0;
/// Median of a timer's wake-up in the machine of the reference.
const TIMER_US: f64 = 83.0;
const SAMPLES_LEAST: u64 = 1000;

/// A method in a machine.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The value of `--method`.
    pub method: &'static str,
    pub kernel: &'static str,
    /// Median of the reference, which was measured in a machine with one CPU.
    pub median_us: f64,
    /// Distance of two stimuli, or about that of two samples where they are no period.
    pub period_us: u64,
    pub is_periodic: bool,
    /// Words for `tardy target add` beside the kernel: the devices (`--qemu-arg`) and the modules (`--load-module`) of the
    /// machine. `{lab}` in one is the directory of the test.
    pub machine: &'static [&'static str],
    /// Words for `tardy run` beside method and duration.
    pub run: &'static [&'static str],
    /// Starts what a device of the machine needs beside it, in the directory of the test.
    pub beside: Option<fn(&Path) -> Child>,
}

/// A program that does not outlive its test.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Default for Case {
    fn default() -> Self {
        Self {
            method: "timer",
            kernel: "debian:6.1-rt",
            median_us: 0.0,
            period_us: 1000,
            is_periodic: true,
            machine: &[],
            run: &[],
            beside: None,
        }
    }
}

/// Time for [`SAMPLES_LEAST`] samples, and as many again.
fn seconds(case: &Case) -> u64 {
    (2 * SAMPLES_LEAST * case.period_us).div_ceil(1_000_000).max(3)
}

fn losses(run: &Run, kind: LossKind) -> u64 {
    run.losses.iter().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum()
}

/// A directory with the machine of a case.
fn lab(case: &Case) -> Lab {
    Lab::of_words(|directory| {
        let own = case.machine.iter().map(|word| word.replace("{lab}", &directory.display().to_string()));
        ["--kernel", case.kernel, "--accel", "tcg", "--cpus", "1"].into_iter().map(String::from).chain(own).collect()
    })
}

fn median_us(run: &Run) -> f64 {
    let median = run.threads.values().find_map(|thread| thread.histogram.quantile_ns(0.5));
    median.map_or(f64::NAN, |ns| ns as f64 / 1000.0)
}

/// How many times slower a machine is than that of the reference; below 1, if it is faster.
fn slowness(lab: &Lab) -> f64 {
    let (run, _) = lab.measured_in_front("run", &["--method", "timer", "--duration", "2s"]);
    std::fs::remove_dir_all(lab.path("run")).unwrap();
    median_us(&run) / TIMER_US
}

/// Range of the median of a case, on a machine that is N times slower than that of the reference.
fn expected_us(case: &Case, slowness: f64) -> RangeInclusive<f64> {
    case.median_us / SHORTER * slowness.min(1.0)..=case.median_us * LONGER * slowness.max(1.0)
}

/// Boots the machine of a case, measures in it, prints a line and returns what is wrong.
fn failures(case: &Case) -> Vec<String> {
    let lab = lab(case);
    let _beside = case.beside.map(|start| Beside(start(&lab.path(""))));
    let slowness = if case.method == "timer" { 1.0 } else { slowness(&lab) };
    let expected_us = expected_us(case, slowness);
    let duration = format!("{}s", seconds(case));
    let words = [&["--method", case.method, "--duration", &duration][..], case.run].concat();
    let (run, _) = lab.measured_in_front("run", &words);
    let explanations = assert_ledgers_add_up(&run);

    let totals = || run.threads.values().map(|thread| &thread.totals);
    let (samples, missed) = totals().fold((0, 0), |(all, lost), of| (all + of.cycles, lost + of.missed_periods));
    let (silent, stray) = (losses(&run, LossKind::Answers), losses(&run, LossKind::StrayAnswers));
    let planned = seconds(case) * 1_000_000 / case.period_us * run.threads.len() as u64;
    let median_us = median_us(&run);
    let late = || run.spikes.iter().filter(|spike| spike.reason != SpikeReason::Control);
    let explained = late()
        .filter(|spike| explanations.iter().any(|one| one.spike == spike.number && !one.phases.is_empty()))
        .count();
    println!(
        "{:<28} {:<13} {samples:>7} {median_us:>9.1} {:>9.1} {slowness:>6.2} {:>7.0}..{:<6.0} {missed:>6} {silent:>6} {stray:>5} {explained:>4} of {}",
        case.method,
        case.kernel,
        case.median_us,
        expected_us.start(),
        expected_us.end(),
        late().count(),
    );
    let mut wrong = Vec::new();
    let mut fails = |holds: bool, text: String| {
        if !holds {
            wrong.push(format!("{} on {}: {text}", case.method, case.kernel));
        }
    };
    fails(samples >= SAMPLES_LEAST, format!("{samples} samples"));
    let counted = samples + missed + silent + losses(&run, LossKind::TimeStamps);
    fails(
        !case.is_periodic || counted * 100 >= planned * 98,
        format!("{counted} of {planned} stimuli are accounted for"),
    );
    fails(expected_us.contains(&median_us), format!("the median is {median_us:.1} us"));
    fails(explained > 0, "no late sample is explained".into());
    wrong
}

/// Measures every case, then fails with all that is wrong.
pub fn measure(cases: &[Case]) {
    println!(
        "\n{:<28} {:<13} {:>7} {:>9} {:>9} {:>6} {:>15} {:>6} {:>6} {:>5} explained",
        "method", "kernel", "samples", "median us", "reference", "slower", "expected", "missed", "silent", "stray"
    );
    let wrong: Vec<String> = cases.iter().flat_map(failures).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
