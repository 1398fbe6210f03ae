//! Any text as what people write for the judge: limits, criteria, checklists, findings that are known.
#![no_main]

use judge::criteria::Criteria;
use judge::limit::{Limit, Rate};
use readiness::{Accepted, Checklist};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let lines = text.lines().count();
    let said = |why: String| assert!(!why.is_empty());
    let time_ns = |text: &str| text.trim_end_matches("ns").parse().map_err(|_| "no time".to_owned());
    let allow = Rate::parse("1/h").expect("a rate");
    Rate::parse(text).map(drop).unwrap_or_else(said);
    Limit::parse(text, &allow, time_ns).map(drop).unwrap_or_else(said);
    Criteria::parse(text).map(drop).unwrap_or_else(said);
    for refused in [Checklist::parse(text).err(), Accepted::parse(text).err()].into_iter().flatten() {
        assert!((1..=lines).contains(&refused.0), "a line that is not there: {refused:?}");
    }
});
