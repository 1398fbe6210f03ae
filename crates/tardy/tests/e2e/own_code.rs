//! `tardy watch --stacks` in an arm64 machine: its own registers, unwind tables and frame pointers.

use crate::lab::{KERNEL, Lab};
use archive::own_code::CodeName;
use archive::reader::Run;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPILER: &str = "aarch64-linux-gnu-gcc";
const LATE: &str = "8";

fn compiled(lab: &Lab, name: &str, frame_pointers: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/late_functions.c");
    let binary = lab.path(name);
    let compiled =
        Command::new(COMPILER).args(["-O2", "-static", frame_pointers, "-o"]).arg(&binary).arg(source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{COMPILER} is needed: apt install gcc-aarch64-linux-gnu");
    binary
}

/// The planted function of each late cycle that was captured, and the one that was named.
fn named(lab: &Lab, program: &Path, depth: &str) -> Vec<(String, Option<String>)> {
    let program = program.display().to_string();
    let out = format!("run-{depth}-{}", program.rsplit('/').next().unwrap());
    let watch = ["watch", "--target", "vm", "--all-threads", "--stacks", "--cycle-limit", "20ms", "--snapshots", "60"];
    let words = [&watch[..], &["--out", &out, "--", &program, depth, LATE, "/proc/self/fd/1", "10"]].concat();
    let ended = lab.tardy(&words).output().unwrap();
    let said = [&ended.stdout[..], &ended.stderr].map(String::from_utf8_lossy).concat();
    assert!(matches!(ended.status.code(), Some(0 | 124)), "{said}");
    let run = Run::open(lab.path(&out)).unwrap();
    let explanations = run.explanations().unwrap();
    let truth = said.lines().filter_map(|line| {
        let (instant, name) = line.split_once(' ').filter(|(_, name)| name.starts_with("slow_"))?;
        let instant: i64 = instant.parse().ok()?;
        let within = |spike: &&archive::spike::Spike| (spike.sample.due_ns..spike.sample.seen_ns()).contains(&instant);
        let spike = run.spikes.iter().filter(within).min_by_key(|spike| spike.sample.latency_ns)?;
        let explanation = explanations.iter().find(|explanation| explanation.spike == spike.number)?;
        let slow = explanation.own_code.as_ref().and_then(|own| own.slow.as_ref());
        let blamed = slow.map(|slow| &slow.inner.as_ref().unwrap_or(&slow.outer).code);
        let blamed =
            blamed.and_then(|code| if let CodeName::Function { name, .. } = code { Some(name.clone()) } else { None });
        Some((name.to_owned(), blamed))
    });
    truth.collect()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_planted_slow_function_is_named_in_an_arm64_machine() {
    let lab = Lab::with(KERNEL, &["--arch", "arm64"]);
    for pointers in ["-fno-omit-frame-pointer", "-fomit-frame-pointer"] {
        let program = compiled(&lab, &format!("c{pointers}"), pointers);
        for depth in ["1", "20"] {
            let all = named(&lab, &program, depth);
            let right = all.iter().filter(|(planted, blamed)| blamed.as_ref() == Some(planted)).count();
            assert!(right >= 4 && right * 5 >= all.len() * 4, "{pointers}, depth {depth}: {all:?}");
        }
    }
}
