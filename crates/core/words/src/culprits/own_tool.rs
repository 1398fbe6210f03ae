//! Words about own-tool: this tool's own threads.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "this tool's own threads",
    confirm: "measure once with --trace off",
    fix: "measure on fewer CPUs (--cpus), so that the tool's other threads have a CPU of their own; take fewer snapshots (--snapshots, --controls)",
};
