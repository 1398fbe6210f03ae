//! The machine, as far as a recording describes it.

use archive::environment::Environment;
use ftrace::trace_dat::PagedTrace;

/// The hostname that stands for none.
pub const UNNAMED: &str = "(none)";

/// From `Linux board 6.1.0-rt arm64`, with or without the version of the kernel before the architecture.
pub fn of(file: &PagedTrace<'_>) -> Environment {
    let words: Vec<&str> = file.metadata.uname.trim_end_matches('\0').split_whitespace().collect();
    let [_, hostname, release, rest @ ..] = words.as_slice() else { return Environment::default() };
    let version = rest.split_last().map(|(_, version)| version.join(" ")).unwrap_or_default();
    // The release may say anything; the version of the kernel says what was built.
    let preempt_rt = version.contains("PREEMPT_RT").then_some(true);
    Environment {
        hostname: if *hostname == UNNAMED { String::new() } else { (*hostname).to_owned() },
        kernel_release: (*release).to_owned(),
        architecture: rest.last().map(|word| (*word).to_owned()).unwrap_or_default(),
        preempt_rt: preempt_rt.or_else(|| (!version.is_empty()).then_some(false)),
        preemption: preempt_rt.map(|_| "preempt_rt".to_owned()),
        kernel_version: version,
        ..Environment::default()
    }
}
