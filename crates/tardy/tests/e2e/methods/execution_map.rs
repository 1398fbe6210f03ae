//! The execution map of threads that a file describes, beside the kernel's trace of the same machine.

use super::{Case, lab};

const FILE: &str = include_str!("../../programs/threads.toml");

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn described_threads_see_what_the_trace_shows() {
    for kernel in ["debian:6.1-rt", "debian:6.1"] {
        let lab = lab(&Case { kernel, ..Case::default() });
        std::fs::write(lab.path("threads.toml"), FILE).unwrap();
        let words = ["--method", "map:file=threads.toml,gap_ns=100000", "--every-sample", "--duration", "10s"];
        let (run, _) = lab.measured_in_front("run", &words);
        assert_eq!(run.threads.len(), 3);
        let ended = lab.tardy(&["export", "run", "--format", "map-svg", "-o", "-"]).output().unwrap();
        let picture = String::from_utf8(ended.stdout).unwrap();
        let words = picture.split_once("late samples; ").and_then(|(_, words)| words.split_once(" of "));
        let (within, rest) = words.unwrap_or_else(|| panic!("{kernel}: no preemption in a trace: {picture}"));
        let all = rest.split(' ').next().unwrap();
        println!("map of described threads on {kernel}: {within} of {all} preemptions in the trace are in a gap");
        let number = |text: &str| text.parse::<u64>().unwrap();
        // A preemption that the end of the run cuts is in no gap.
        assert!(number(all) > 0 && number(within) * 10 >= number(all) * 9, "{kernel}: {within} of {all}");
    }
}
