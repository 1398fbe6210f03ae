//! Any text as a plan or a load.
#![no_main]

use archive::settings::LoadRequest;
use libfuzzer_sys::fuzz_target;
use runner::plan::Plan;
use tardy_fuzz::within_budget;

fuzz_target!(|text: &str| {
    within_budget(text.len(), || {
        let lines = text.matches('\n').count() + 1;
        let (plan, problems) = Plan::read("fuzzed", text, tardy::fuzzing::keys());
        assert!(plan.is_some() || !problems.is_empty(), "what is no plan has a reason");
        assert!(
            problems.iter().all(|problem| problem.line.is_none_or(|line| line <= lines)),
            "a problem behind the end"
        );
        if let Ok(load) = LoadRequest::parse(text) {
            assert_eq!(LoadRequest::parse(&load.text()).as_ref(), Ok(&load), "a load is what its text says");
        }
    });
});
