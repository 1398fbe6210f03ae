//! Any text as user input for the judge: limits, criteria, checklists, accepted findings.
#![no_main]

use judge::criteria::Criteria;
use claims::limit::{Limit, Rate};
use libfuzzer_sys::fuzz_target;
use readiness::{Accepted, Checklist};
use tardy_fuzz::within_budget;

fuzz_target!(|text: &str| {
    within_budget(text.len(), || {
        let lines = text.lines().count();
        let time_ns = |text: &str| text.trim_end_matches("ns").parse().map_err(|_| "no time".to_owned());
        let allow = Rate::parse("1/h").expect("a rate");
        said(Rate::parse(text));
        said(Limit::parse(text, &allow, time_ns));
        said(Criteria::parse(text));
        let refused = [Checklist::parse(text).err().map(|it| it.0), Accepted::parse(text).err().map(|it| it.0)];
        for line in refused.into_iter().flatten() {
            assert!((1..=lines).contains(&line), "a line that is not there: {line}");
        }
    });
});

/// Every error has a message.
fn said<T, E: std::fmt::Display>(parsed: Result<T, E>) {
    if let Err(error) = parsed {
        assert!(!error.to_string().is_empty());
    }
}
