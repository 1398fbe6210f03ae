//! The verbs of `tardy`: a file or folder and a line each. No verb depends on another.

use crate::verb::Entry;

/// Declares the modules of the verbs, and the list of all.
macro_rules! verbs {
    ($($(#[$condition:meta])* $module:ident::$arguments:ident,)*) => {
        $($(#[$condition])* mod $module;)*

        /// Every verb.
        pub const VERBS: &[Entry] = &[$($(#[$condition])* Entry::of::<$module::$arguments>(),)*];
    };
}

verbs! {
    check::CheckArguments,
    run::RunVerb,
    qualify::QualifyArguments,
    watch::WatchArguments,
    guard::GuardArguments,
    top::TopArguments,
    explain::ExplainArguments,
    audit::AuditArguments,
    report::ReportArguments,
    list::ListArguments,
    judge::JudgeArguments,
    compare::CompareArguments,
    experiment::ExperimentArguments,
    history::HistoryArguments,
    target::TargetArguments,
    import::ImportArguments,
    export::ExportArguments,

    tracing_cost::TracingCostArguments,
    bisect::BisectArguments,

    loads::LoadsArguments,
    methods::MethodsArguments,
    verb_list::VerbListArguments,

    collect::CollectArguments,
    restore::RestoreArguments,
    setup::SetupArguments,
    tune::TuneArguments,

    record::RecordArguments,
    replay::ReplayArguments,
    repeat::RepeatArguments,
    baseline::BaselineArguments,

    #[cfg(feature = "lab")]
    desk::DeskArguments,
    #[cfg(feature = "lab")]
    serve::ServeArguments,
    #[cfg(feature = "lab")]
    store::StoreArguments,
    plan::PlanArguments,
    #[cfg(feature = "lab")]
    queue::QueueArguments,
    #[cfg(feature = "lab")]
    worker::WorkerArguments,
    #[cfg(feature = "lab")]
    publish::PublishArguments,
    #[cfg(feature = "lab")]
    check_publication::CheckPublicationArguments,

    mcp::McpArguments,

    cyclictest::CyclictestArguments,
    completions::CompletionsArguments,
    man::ManArguments,
}
