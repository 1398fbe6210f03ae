//! The output lines that scripts parse.

use super::figures::{Figures, Line};
use super::request::PolicyName;
use super::tally::Streamed;
use std::fmt::Write;

/// The `T:` line of a thread.
pub fn thread_line(out: &mut String, line: &Line, nanoseconds: bool) {
    let Line { thread, tid, priority, interval_us, cycles, min, act, avg, max, smis } = line;
    let width = if nanoseconds { 8 } else { 5 };
    let _ = write!(
        out,
        "T:{thread:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} Min:{min:7} Act:{act:width$} \
         Avg:{avg:width$} Max:{max:8}"
    );
    if let Some(smis) = smis {
        let _ = write!(out, " SMI:{smis:8}");
    }
    out.push('\n');
}

/// Head of the live screen.
pub fn screen_head(out: &mut String, policy: PolicyName, load_average: &str) {
    let _ = write!(out, "policy: {}: loadavg: {load_average}          \n\n", policy_words(policy));
}

fn policy_words(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Fifo => "fifo",
        PolicyName::Rr => "rr",
        PolicyName::Other => "other/other",
        PolicyName::Batch => "batch/batch",
        PolicyName::Idle => "idle/idle",
    }
}

/// One sample of `-v`.
pub fn sample_line(out: &mut String, thread: u32, sample: Streamed, smi: bool) {
    let _ = write!(out, "{thread:8}:{:8}:{:8}", sample.cycle, sample.value);
    if smi {
        let _ = write!(out, "{:8}", sample.smi);
    }
    out.push('\n');
}

/// The list of spikes: the first `nodes` of all threads together, then their number. Empty if there were none.
pub fn spikes(out: &mut String, figures: &[Figures], nodes: usize) {
    let count: u64 = figures.iter().map(|figures| figures.spike_count).sum();
    if count == 0 {
        return;
    }
    let mut all: Vec<(i64, i64, u32)> = figures
        .iter()
        .flat_map(|figures| figures.spikes.iter().map(|(at_us, value)| (*at_us, *value, figures.line.thread)))
        .collect();
    all.sort_unstable();
    out.push('\n');
    for (at_us, value, thread) in all.iter().take(nodes) {
        let _ = writeln!(out, "T:{thread:2} Spike:{value:8}: TS: {at_us:12}");
    }
    let _ = write!(out, "spikes = {count}\n\n");
}

/// The output of `-b` at the end; `broke` is the ID of the thread that exceeded the limit, and its value.
pub fn break_lines(out: &mut String, figures: &[Figures], broke: Option<(i32, i64)>) {
    out.push_str("# Thread Ids:");
    for figures in figures {
        let _ = write!(out, " {:05}", figures.line.tid);
    }
    out.push('\n');
    if let Some((tid, value)) = broke {
        let _ = write!(out, "# Break thread: {tid}\n# Break value: {value}\n");
    }
}

/// The output for SIGUSR1 and SIGUSR2.
pub fn status(lines: &[Line], nanoseconds: bool) -> String {
    const RULE: &str = "#---------------------------\n";
    let mut out = format!("{RULE}# cyclictest current status:\n");
    for line in lines {
        thread_line(&mut out, line, nanoseconds);
    }
    out.push_str(RULE);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line {
        thread: 0,
        tid: 17643,
        priority: 80,
        interval_us: 1000,
        cycles: 2000,
        min: 4,
        act: 11,
        avg: 11,
        max: 846,
        smis: None,
    };

    fn line(line: &Line, nanoseconds: bool) -> String {
        let mut out = String::new();
        thread_line(&mut out, line, nanoseconds);
        out
    }

    #[test]
    fn thread_lines_are_those_of_rt_tests() {
        assert_eq!(
            line(&LINE, false),
            "T: 0 (17643) P:80 I:1000 C:   2000 Min:      4 Act:   11 Avg:   11 Max:     846\n"
        );
        let nanoseconds =
            Line { tid: 20600, priority: 0, cycles: 10, min: 64_457, act: 66_411, avg: 74_230, max: 129_377, ..LINE };
        assert_eq!(
            line(&nanoseconds, true),
            "T: 0 (20600) P: 0 I:1000 C:     10 Min:  64457 Act:   66411 Avg:   74230 Max:  129377\n"
        );
        assert!(line(&Line { smis: Some(3), ..LINE }, false).ends_with("Max:     846 SMI:       3\n"));
    }

    #[test]
    fn samples_and_screens_are_those_of_rt_tests() {
        let mut out = String::new();
        sample_line(&mut out, 0, Streamed { cycle: 7, value: 44, smi: 0 }, false);
        assert_eq!(out, "       0:       7:      44\n");
        out.clear();
        screen_head(&mut out, PolicyName::Fifo, "4.23 6.78 6.48 8/310 30320");
        assert_eq!(out, "policy: fifo: loadavg: 4.23 6.78 6.48 8/310 30320          \n\n");
    }
}
