//! The tools of the server: a file and a line each.

use super::tool::Entry;

/// Declares the modules of the tools, and the list of all.
macro_rules! tools {
    ($($module:ident::$tool:ident,)*) => {
        $(mod $module;)*

        /// Every tool.
        const TOOLS: &[Entry] = &[$(Entry::of::<$module::$tool>(),)*];
    };
}

tools! {
    list_runs::ListRuns,
    run_causes::RunCauses,
    explain_spike::ExplainSpike,
    evidence::ShowEvidence,
    explain_file::ExplainFile,
    judge_run::JudgeRun,
    compare_runs::CompareRuns,
    list_methods::ListMethods,
    list_loads::ListLoads,
    measure::Measure,
}

/// The tools that a client may call.
pub fn tools(may_measure: bool) -> impl Iterator<Item = &'static Entry> {
    TOOLS.iter().filter(move |tool| may_measure || !tool.measures)
}
