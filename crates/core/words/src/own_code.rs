//! The program's own functions in words.

use crate::figures::{counted, latency};
use archive::own_code::{CodeName, CodeTime, CodeWait, SampleCounts, SlowCode, is_c_library};

/// A piece of code, for a sentence and for a table.
pub fn code(name: &CodeName) -> String {
    match name {
        // A publication empties names.
        CodeName::Function { name, .. } | CodeName::Generated { name } if name.is_empty() => "a function".into(),
        CodeName::Function { name, .. } | CodeName::Generated { name } => name.clone(),
        CodeName::Unnamed { file } if file.is_empty() => "code without a symbol".into(),
        CodeName::Unnamed { file } => format!("code without a symbol in {}", base_name(file)),
        CodeName::Kernel => "the kernel".into(),
        CodeName::KernelFunction { name } => format!("{name} [kernel]"),
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

/// Functions of the program in a sentence about a sleep.
const CALLERS_SAID: usize = 3;

/// `it was off the CPU for 3.10 ms in pthread_mutex_lock < update_map < cycle`
pub fn longest_wait(wait: &CodeWait) -> String {
    let times = if wait.count > 1 { format!(", {} times", wait.count) } else { String::new() };
    format!("it was off the CPU for {} in {}{times}", latency(wait.ns), callers(wait))
}

/// The functions of the program that led to a sleep, innermost first. Of the C library the one that the program called:
/// `pthread_mutex_lock < update_map < cycle`.
pub fn callers(wait: &CodeWait) -> String {
    let own: Vec<&CodeName> = wait.frames.iter().filter(|frame| !frame.is_kernel()).collect();
    let inside = own.iter().take_while(|frame| file(frame).is_some() && file(frame) == file(own[0])).count();
    let is_library = own.first().and_then(|frame| file(frame)).is_some_and(is_c_library) && inside < own.len();
    let entry = is_library.then(|| entry(&code(own[inside - 1])));
    let program = own[if is_library { inside } else { 0 }..].iter().map(|frame| code(frame));
    let names: Vec<String> = entry.into_iter().chain(program).take(CALLERS_SAID).collect();
    if names.is_empty() { "the kernel".into() } else { names.join(" < ") }
}

fn file(name: &CodeName) -> Option<&str> {
    match name {
        CodeName::Function { file, .. } | CodeName::Unnamed { file } => Some(file),
        _ => None,
    }
}

/// The name by which programs call a function of the C library: `___pthread_mutex_lock`, `__GI___libc_read`.
fn entry(name: &str) -> String {
    let known = name.trim_start_matches("__GI_").trim_start_matches('_');
    known.strip_prefix("libc_").unwrap_or(known).to_owned()
}

/// The whole stack of a sleep: `stack of the sleep: futex_wait [kernel] < pthread_mutex_lock < ...`
pub fn wait_stack(wait: &CodeWait) -> String {
    let frames: Vec<String> = wait.frames.iter().map(code).collect();
    format!("stack of the sleep: {}", frames.join(" < "))
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
    fn a_sleep_is_said_with_the_functions_of_the_program() {
        let function = |file: &str, name: &str| CodeName::Function { name: name.into(), file: file.into() };
        let kernel = |name: &str| CodeName::KernelFunction { name: name.into() };
        let frames = vec![
            kernel("schedule"),
            kernel("futex_wait"),
            function("libc.so.6", "__GI___lll_lock_wait"),
            function("libc.so.6", "___pthread_mutex_lock"),
            function("robot", "update_map"),
            function("robot", "cycle"),
            function("robot", "main"),
        ];
        let wait = CodeWait { frames, count: 1, ns: 3_100_000 };
        assert_eq!(longest_wait(&wait), "it was off the CPU for 3.10 ms in pthread_mutex_lock < update_map < cycle");
        assert_eq!(
            wait_stack(&wait),
            "stack of the sleep: schedule [kernel] < futex_wait [kernel] < __GI___lll_lock_wait < ___pthread_mutex_lock < \
             update_map < cycle < main"
        );
        let read = vec![function("libc.so.6", "__GI___libc_read"), function("robot", "read_sensor")];
        assert_eq!(callers(&CodeWait { frames: read, ..wait.clone() }), "read < read_sensor");
        let own =
            vec![function("librobot.so", "_acquire"), function("librobot.so", "_step"), function("robot", "main")];
        assert_eq!(callers(&CodeWait { frames: own, ..wait.clone() }), "_acquire < _step < main");
        let linked = vec![function("robot", "futex_wait"), function("robot", "update_map")];
        assert_eq!(callers(&CodeWait { frames: linked, ..wait.clone() }), "futex_wait < update_map");
        let hidden = CodeWait { frames: vec![CodeName::Kernel], count: 2, ..wait };
        assert_eq!(longest_wait(&hidden), "it was off the CPU for 3.10 ms in the kernel, 2 times");
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
