//! Words about own-tool: this tool's own threads.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::OwnTool;

pub const ADVICE: Advice = Advice {
    title: "this tool's own threads",
    confirm: "measure once with --trace off",
    fix: "measure on fewer CPUs (--cpus), so that the tool's other threads have a CPU of their own; take fewer snapshots (--snapshots, --controls)",
};

pub fn words(facts: &OwnTool, share: Share) -> FindingWords {
    let (what, fix) = match facts {
        OwnTool::RecordedStack => {
            ("it recorded a stack trace in the timer interrupt".to_owned(), "measure without --stack")
        }
        OwnTool::Ran(who) => (format!("{} ran", holders(who)), ADVICE.fix),
    };
    FindingWords {
        confirm: "measure once without tracing (--trace off)".into(),
        fix: fix.into(),
        ..ADVICE.with(format!("this tool disturbed its own measurement: {what} ({share})"))
    }
}
