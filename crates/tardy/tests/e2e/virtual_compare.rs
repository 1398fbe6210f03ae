//! Two systems in virtual time are distinguished to the nanosecond, reproducibly, and the variant that introduced a
//! section without preemption is found. Injected sections of known length are the ground truth: `kernels/inject`.
//!
//! A hundred machines boot here, two at a time, each on its own CPU.

use super::lab::{KERNEL, Lab, text};
use archive::samples_file;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Instant;

pub const PARAMETERS: &str = "/sys/module/tardy_inject/parameters";
const LENGTH_US: i64 = 400;
const SEEDS: u32 = 16;
/// Variants of the bisection, including its two ends.
const VARIANTS: usize = 10;
/// Machines at a time.
const HANDS: usize = 2;

/// A lab whose target loads the module that injects sections.
fn injecting() -> Lab {
    let lab = Lab::with(KERNEL, &["--virtual-time"]);
    let module = build(&lab);
    let module = module.to_str().unwrap();
    let words =
        ["target", "add", "vm", "--kernel", KERNEL, "--virtual-time", "--here", "--force", "--load-module", module];
    let added = lab.tardy(&words).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    lab
}

/// Builds the module for the kernel of the lab's target.
pub fn build(lab: &Lab) -> PathBuf {
    let file = text(&lab.path("targets/vm.toml"));
    let package = file.lines().find_map(|line| line.strip_prefix("package = \"linux-image-")).unwrap();
    let (release, version) = package.trim_end_matches('"').split_once('=').unwrap();
    let script = repository_path("kernels/inject/build");
    let built = Command::new(script).args([release, version]).arg(lab.path("module")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    lab.path("module/tardy_inject.ko")
}

/// Options of a run with sections of `length_us` every 10 ms.
fn section(length_us: i64) -> String {
    format!(
        "--set {PARAMETERS}/section=preempt_off --set {PARAMETERS}/period_us=10000 --set {PARAMETERS}/length_us={length_us}"
    )
}

/// CPUs that this process may run on.
fn allowed_cpus() -> Vec<usize> {
    let status = text(Path::new("/proc/self/status"));
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<usize>().unwrap()..=last.parse::<usize>().unwrap()
    };
    list.split(',').flat_map(span).collect()
}

/// Runs `tardy` and its emulator on one of the CPUs: parallel runs do not share a CPU if there are enough.
fn tardy_on(lab: &Lab, hand: usize, words: &[&str]) -> Output {
    let cpus = allowed_cpus();
    let tardy = lab.tardy(words);
    let mut command = Command::new("taskset");
    command.args(["-c", &cpus[hand % cpus.len()].to_string()]).arg(tardy.get_program()).args(tardy.get_args());
    command.current_dir(tardy.get_current_dir().unwrap()).output().unwrap()
}

fn succeeds_on(lab: &Lab, hand: usize, words: &[&str]) -> String {
    let ended = tardy_on(lab, hand, words);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{words:?}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    said
}

fn succeeds(lab: &Lab, words: &[&str]) -> String {
    succeeds_on(lab, 0, words)
}

fn compared(lab: &Lab, a: &str, b: &str) -> Value {
    serde_json::from_str(&succeeds(lab, &["compare", a, b, "--json"])).unwrap()
}

#[test]
#[ignore = "boots virtual machines: make e2e-compare"]
fn the_idle_path_is_reported_to_the_nanosecond_and_the_same_twice() {
    let lab = Lab::with(KERNEL, &["--virtual-time"]);
    for (name, parameter) in [("psi", "psi=0"), ("mit", "mitigations=off")] {
        let words = ["target", "add", name, "--kernel", KERNEL, "--virtual-time", "--here", "--append", parameter];
        succeeds(&lab, &words);
    }
    let run = |target: &str, out: &str| {
        succeeds(&lab, &["run", "--target", target, "--duration", "500ms", "--out", out, "--quiet"]);
    };
    run("vm", "base");
    for target in ["psi", "mit"] {
        let shift = |out: &str| {
            run(target, out);
            let document = compared(&lab, "base", out);
            let said = document["idle"]["sentences"][0].as_str().unwrap().to_owned();
            assert!(said.starts_with("wake-up path -"), "{said}");
            document["idle"]["figures"][0]["shift"]["median_ns"].as_i64().unwrap()
        };
        let (first, second) = (shift(&format!("{target}-1")), shift(&format!("{target}-2")));
        assert_eq!(first, second, "{target}");
        let again = compared(&lab, &format!("{target}-1"), &format!("{target}-2"));
        assert_eq!((&again["idle"]["same_system"], &again["idle"]["identical"]), (&true.into(), &1.into()), "{target}");
        eprintln!("{target}: wake-up path {first:+} ns of virtual time, twice");
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e-compare"]
fn an_injected_section_is_found_with_its_size_and_its_function() {
    let (lab, begun) = (injecting(), Instant::now());
    let (lab, seeds) = (&lab, SEEDS.to_string());
    let load = ["--duration", "300ms", "--load", "dentry"];
    let measure = |hand: usize, options: &str, out: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        let words = ["run", "--target", "vm", "--seeds", &seeds, "--out", out, "--quiet"];
        succeeds_on(lab, hand, &[&words[..], &load, &options].concat());
        for seed in 1..=SEEDS {
            let run = format!("{out}/seed-{seed:04}");
            succeeds_on(lab, hand, &["virtual", "record", &run, "--worst", "1", "--controls", "0", "--quiet"]);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| measure(0, "", "a"));
        scope.spawn(|| measure(1, &section(LENGTH_US), "b"));
    });
    eprintln!("2 systems, {SEEDS} seeds each, measured and recorded in {} s", begun.elapsed().as_secs());
    let document = compared(lab, "a", "b");
    let max =
        &document["loaded"]["figures"].as_array().unwrap().iter().find(|one| one["name"] == "max").unwrap()["shift"];
    eprintln!("maximum longer by {max}");
    let causes = document["loaded"]["causes"].as_array().unwrap();
    let found = causes.iter().max_by_key(|cause| cause["longer_ns"].as_i64()).unwrap();
    eprintln!("{}", found["sentence"]);
    let near = |ns: i64| (ns - 1000 * LENGTH_US).abs() <= 100 * LENGTH_US;
    assert!(near(found["longer_ns"].as_i64().unwrap()), "{found}");
    assert!(found["sentence"].as_str().unwrap().contains("tardy_inject"), "{found}");
    assert_eq!((found["seeds_a"].as_u64(), found["longer_in"].as_u64()), (Some(0), Some(u64::from(SEEDS))), "{found}");
    assert_eq!(compared(lab, "a", "b"), document, "the same archives give the same answer");
    assert!(samples_file::bytes(&lab.path("b/seed-0001"), 0).is_ok());
}

#[test]
#[ignore = "boots virtual machines: make e2e-compare"]
fn bisect_finds_the_variant_that_brought_it_each_time() {
    let (lab, begun) = (injecting(), Instant::now());
    let lab = &lab;
    let search = |hand: usize, attempt: usize, first_bad: usize| {
        let variant = |at: usize| match at {
            // Variants also differ in other ways.
            at if at < first_bad => format!("{} --worst-kept {}", section(20), 100 + at),
            at => format!("{} --worst-kept {}", section(LENGTH_US), 100 + at),
        };
        let names: String = (0..VARIANTS).map(|at| variant(at) + "\n").collect();
        let (list, out) = (format!("list-{attempt}"), format!("bisect-{attempt}"));
        std::fs::write(lab.path(&list), names).unwrap();
        let words = [
            "experiment",
            "bisect",
            "--list",
            &list,
            "--limit",
            "latency < 100us",
            "--seeds",
            "1",
            "--out",
            &out,
            "--json",
            "--",
        ];
        let said = succeeds_on(lab, hand, &[&words[..], &["--target", "vm", "--duration", "300ms"]].concat());
        let document: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(document["first_bad"].as_str(), Some(variant(first_bad).as_str()), "attempt {attempt}: {said}");
        let steps = document["steps"].as_array().unwrap().len();
        eprintln!("attempt {attempt}: number {first_bad} of 0..{} found in {steps} steps", VARIANTS - 1);
        assert!(steps <= 6, "{said}");
    };
    // The ends are known, so any of the others or the last can be the first bad one.
    let attempts: Vec<(usize, usize)> = (1..).zip((1..VARIANTS).chain([4])).collect();
    thread::scope(|scope| {
        for (hand, mine) in attempts.chunks(attempts.len().div_ceil(HANDS)).enumerate() {
            scope.spawn(move || mine.iter().for_each(|&(attempt, first_bad)| search(hand, attempt, first_bad)));
        }
    });
    eprintln!("{} searches in {} s", attempts.len(), begun.elapsed().as_secs());
}
