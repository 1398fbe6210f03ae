//! The tracers that Debian's kernels lack, on the kernel that `kernels/custom/build` makes: `make e2e-custom-kernel`.

use crate::lab::{Lab, text};
use crate::tracers::FUNCTIONS;
use archive::reader::Run;
use std::fs;

/// Environment variable with the kernel; without it these tests are skipped.
const KERNEL: &str = "TARDY_CUSTOM_KERNEL";

/// Each maximum is kept with both ends, the text that the kernel printed, and its longest part, and is shown to the
/// user.
fn keeps_the_longest_stretches(tracer: &str) {
    let kernel = std::env::var(KERNEL).unwrap_or_default();
    prerequisites::require!(Prepared("a kernel with every tracer (make e2e-custom-kernel)", !kernel.is_empty()));
    let lab = Lab::with(&kernel, &[]);
    let words = ["--duration", "4s", "--load", "dentry", "--tracer", tracer, "--functions", FUNCTIONS];
    let (run, said) = lab.measured("run", &words);
    assert_eq!(run.effective.as_ref().unwrap().tracer.as_deref(), Some(tracer));
    let left: Vec<_> = run.problems.iter().filter(|problem| problem.text.contains("not put back")).collect();
    assert!(left.is_empty(), "{left:?}");

    assert!(!run.latency_traces.is_empty(), "{said}");
    let growing = run.latency_traces.windows(2).all(|pair| pair[0].latency_ns <= pair[1].latency_ns);
    // The kernel compares nanoseconds and prints microseconds.
    assert!(growing, "none is shorter than the one before: {:?}", run.latency_traces);
    assert_kept(&lab, &run, tracer);

    let longest = run.latency_traces.last().unwrap();
    let ends = [longest.started_at.as_deref().unwrap(), longest.ended_at.as_deref().unwrap()];
    let function = &longest.longest_function.as_ref().expect("it follows functions").name;
    let explained = lab.tardy(&["explain", "run"]).output().unwrap();
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(lab.tardy(&["report", "run"]).output().unwrap().status.success());
    let report = text(&lab.path("run/report.html"));
    for (place, shown) in [("the summary", &said), ("explain", &explained), ("the report", &report)] {
        assert!(shown.contains(tracer), "{tracer} is not in {place}: {shown}");
        for function in [ends[0], ends[1], function] {
            let name = function.split('+').next().unwrap();
            assert!(shown.contains(name), "{name} is not in {place}: {shown}");
        }
    }
}

fn assert_kept(lab: &Lab, run: &Run, tracer: &str) {
    for (at, trace) in run.latency_traces.iter().enumerate() {
        assert_eq!((trace.number as usize, trace.tracer.as_str()), (at + 1, tracer));
        assert!(trace.latency_ns > 0 && trace.entries > 0 && trace.cpu.is_some() && trace.task.is_some(), "{trace:?}");
        assert!(trace.started_at.is_some() && trace.ended_at.is_some(), "{trace:?}");
        let printed = text(&lab.path(&format!("run/tracer/{:04}.txt", trace.number)));
        assert!(printed.starts_with(&format!("# tracer: {tracer}\n")), "{printed}");
        // The value that the kernel wrote, before any conversion.
        let ns = printed.split_once("# latency: ").and_then(|(_, rest)| rest.split_once(" us")).unwrap().0;
        assert_eq!(ns.parse::<i64>().unwrap() * 1000, trace.latency_ns, "{printed}");
        for end in [&trace.started_at, &trace.ended_at] {
            let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&format!("ed at: {}", end.as_ref().unwrap())), "{end:?}: {printed}");
        }
    }
    let files = fs::read_dir(lab.path("run/tracer")).unwrap().count();
    assert_eq!(files, run.latency_traces.len(), "a text for each and none besides");
}

#[test]
#[ignore = "builds a kernel and boots it: make e2e-custom-kernel"]
fn the_longest_stretches_with_interrupts_off_are_kept_and_shown() {
    keeps_the_longest_stretches("irqsoff");
}

#[test]
#[ignore = "builds a kernel and boots it: make e2e-custom-kernel"]
fn the_longest_stretches_with_preemption_off_are_kept_and_shown() {
    keeps_the_longest_stretches("preemptoff");
}

#[test]
#[ignore = "builds a kernel and boots it: make e2e-custom-kernel"]
fn the_longest_stretches_with_either_off_are_kept_and_shown() {
    keeps_the_longest_stretches("preemptirqsoff");
}
