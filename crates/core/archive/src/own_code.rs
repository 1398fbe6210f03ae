//! The program's own functions in which a watched thread spent a late cycle, compared with the cycles before it.

use serde::{Deserialize, Serialize};

/// A piece of code by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CodeName {
    Function {
        name: String,
        /// The executable or library.
        file: String,
    },
    /// Code of a file without a symbol for it.
    Unnamed {
        file: String,
    },
    /// The program generated it at run time and listed it by this name.
    Generated {
        name: String,
    },
    /// Code of the kernel without a name.
    Kernel,
    KernelFunction {
        name: String,
    },
    /// No mapping and no list has the address.
    Unknown,
}

impl CodeName {
    pub fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel | Self::KernelFunction { .. })
    }
}

/// Whether a file is a library of C or C++, or the loader: the caller of its function says more.
pub fn is_c_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["libc.", "libc-", "libc++", "libstdc++", "libpthread", "ld-"].iter().any(|start| name.starts_with(start))
}

/// Time in a piece of code, from samples of the stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeTime {
    pub code: CodeName,
    /// In the late cycle.
    pub ns: i64,
    /// In as many ordinary runs before it; `None` if too few were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_ns: Option<i64>,
}

impl CodeTime {
    /// Time beyond the usual; all of it where the usual is unknown.
    pub fn excess_ns(&self) -> i64 {
        self.usual_ns.map_or(self.ns, |usual_ns| self.ns.saturating_sub(usual_ns))
    }
}

/// Where the additional time of a late cycle was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowCode {
    /// The outermost function of which an ordinary run is not a part, including the functions that it called.
    pub outer: CodeTime,
    /// A function called by it that took most of its additional time, including the functions that this one called. Absent if it is
    /// `outer` itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<CodeTime>,
    pub samples: SampleCounts,
}

/// How many samples of the stack the times come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleCounts {
    /// Time on the CPU between two samples: no figure is more exact.
    pub period_ns: i64,
    /// In the late cycle.
    pub late: u32,
    /// Before it.
    pub usual: u32,
    /// Ordinary runs, from one sleep of the thread to the next, in which these were taken.
    pub usual_runs: u32,
    /// The samples begin after the late cycle did: its times are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begin_late: bool,
}

/// A place of the program in which the thread slept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeWait {
    /// Innermost first, functions of the kernel included; the outermost of many are left out.
    pub frames: Vec<CodeName>,
    /// Number of sleeps with this stack.
    pub count: u32,
    /// From giving up the CPU until it got the CPU again, of all of these: the sleep, and the wait for the CPU after it.
    pub ns: i64,
}

/// The functions of a late cycle of a watched thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnCode {
    /// Time of the thread on the CPU, from the beginning of the late cycle until it was over. The functions share it.
    pub ran_ns: i64,
    pub samples: SampleCounts,
    /// Where it slept in the late cycle, longest first; the shortest of many are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<CodeWait>,
    /// Time in each function without the functions that it called, largest first; the smallest are left out.
    pub functions: Vec<CodeTime>,
    /// Absent if the cycle took no longer than ordinary ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowCode>,
    /// Of the frames of `stacks`.
    pub names: Vec<CodeName>,
    /// The most frequent stacks, each once.
    pub stacks: Vec<CodeStack>,
}

/// Samples with the same stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeStack {
    /// Numbers in `names`, outermost first.
    pub frames: Vec<u32>,
    /// Samples of the late cycle.
    pub late: u32,
    /// Samples before it.
    pub usual: u32,
}
