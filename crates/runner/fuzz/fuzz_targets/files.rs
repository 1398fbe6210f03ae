//! Any text as what people write: plans, targets, loads.
#![no_main]

use archive::settings::LoadRequest;
use libfuzzer_sys::fuzz_target;
use runner::plan::Plan;
use runner::target::{board, labgrid};

fuzz_target!(|text: &str| {
    let lines = text.matches('\n').count() + 1;
    let (plan, problems) = Plan::read("fuzzed", text);
    assert!(plan.is_some() || !problems.is_empty(), "what is no plan has a reason");
    assert!(problems.iter().all(|problem| problem.line.is_none_or(|line| line <= lines)), "a problem behind the end");
    for refused in [board::file::Board::parse(text).err(), labgrid::file::LabgridPlace::parse(text).err()] {
        assert!(refused.is_none_or(|why| !why.is_empty()));
    }
    if let Ok(load) = LoadRequest::parse(text) {
        assert_eq!(LoadRequest::parse(&load.text()).as_ref(), Ok(&load), "a load is what its text says");
    }
});
