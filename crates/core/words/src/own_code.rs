//! The program's own functions in words.

use crate::figures::{counted, latency};
use archive::own_code::{CodeName, CodeTime, SampleCounts, SlowCode};

/// A piece of code, for a sentence and for a table.
pub fn code(name: &CodeName) -> String {
    match name {
        // A publication empties names.
        CodeName::Function { name, .. } | CodeName::Generated { name } if name.is_empty() => "a function".into(),
        CodeName::Function { name, .. } | CodeName::Generated { name } => name.clone(),
        CodeName::Unnamed { file } if file.is_empty() => "code without a symbol".into(),
        CodeName::Unnamed { file } => format!("code without a symbol in {}", base_name(file)),
        CodeName::Kernel => "the kernel".into(),
        CodeName::Unknown => "code of unknown origin".into(),
    }
}

/// `update_controllers 3.10 ms, ordinarily 200.0 µs: 2.90 ms of it in std::vector::resize`
pub fn sentence(slow: &SlowCode) -> String {
    let CodeTime { code: outer, ns, usual_ns } = &slow.outer;
    let usually = match usual_ns {
        Some(usual_ns) => format!(", ordinarily {}", latency(*usual_ns)),
        None => " (too few ordinary runs were sampled to compare it)".to_owned(),
    };
    let inside = slow
        .inner
        .as_ref()
        .map_or_else(String::new, |inner| format!(": {} of it in {}", latency(inner.ns), code(&inner.code)));
    format!("{} {}{usually}{inside}", code(outer), latency(*ns))
}

/// The number of samples behind the figures.
pub fn samples(counts: &SampleCounts) -> String {
    let bounds = if counts.begin_late { "; they begin after the cycle did, so its times are lower bounds" } else { "" };
    format!(
        "stack: {} of the late cycle, one per {} of CPU time; before it {} in {}{bounds}",
        counted(u64::from(counts.late), "sample"),
        latency(counts.period_ns),
        counted(u64::from(counts.usual), "sample"),
        counted(u64::from(counts.usual_runs), "run"),
    )
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(name: &str, ns: i64, usual_ns: Option<i64>) -> CodeTime {
        CodeTime { code: CodeName::Function { name: name.into(), file: "/robot".into() }, ns, usual_ns }
    }

    #[test]
    fn the_difference_of_a_late_cycle_is_one_sentence() {
        let samples = SampleCounts { period_ns: 250_000, late: 13, usual: 40, usual_runs: 1, begin_late: false };
        let inner = Some(time("std::vector::resize", 2_900_000, Some(0)));
        let slow = SlowCode { outer: time("update_controllers", 3_100_000, Some(200_000)), inner, samples };
        assert_eq!(
            sentence(&slow),
            "update_controllers 3.10 ms, ordinarily 200.0 µs: 2.90 ms of it in std::vector::resize"
        );
        let alone = SlowCode { outer: time("spin", 3_100_000, None), inner: None, samples };
        assert_eq!(sentence(&alone), "spin 3.10 ms (too few ordinary runs were sampled to compare it)");
        assert_eq!(
            super::samples(&samples),
            "stack: 13 samples of the late cycle, one per 250.0 µs of CPU time; before it 40 samples in 1 run"
        );
    }

    #[test]
    fn code_without_a_name_says_so() {
        assert_eq!(
            code(&CodeName::Unnamed { file: "/usr/lib/libm.so.6".into() }),
            "code without a symbol in libm.so.6"
        );
        assert_eq!(code(&CodeName::Kernel), "the kernel");
    }
}
