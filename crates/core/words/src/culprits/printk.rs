//! Words about printk: the kernel wrote to a console.

use super::{Advice, FindingWords, named};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::Console;

pub const ADVICE: Advice = Advice {
    title: "the kernel wrote to a console",
    confirm: "dmesg has a line of that instant; its bytes times 10 divided by the baud rate is about the time it took",
    fix: "quiet or loglevel=3 on the kernel command line; a faster console or none (console=); stop the program that logs",
};

pub fn words(facts: &Console, share: Share) -> FindingWords {
    let (who, delayed_timer) = match facts {
        Console::Named(facts) => return named::words(facts, share, &ADVICE, "the kernel wrote to a console"),
        Console::AtOnce { who, delayed_timer } => (holders(who), *delayed_timer),
    };
    let did = if delayed_timer { "delayed the timer interrupt" } else { "kept the CPU" };
    let evidence =
        "preemption was still disabled when the interrupt arrived, as it is while the kernel writes a message";
    FindingWords {
        evidence: vec![evidence.into()],
        ..ADVICE.with(format!("the kernel wrote to a console: {who} logged a message and {did} from then on ({share})"))
    }
}
