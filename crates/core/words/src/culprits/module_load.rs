//! Words about module-load: a module or device was set up.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "a module or device was set up",
    confirm: "dmesg and `udevadm monitor` show what was loaded or plugged in at that instant",
    fix: "load every module and plug every device before real-time work begins; sysctl kernel.modules_disabled=1 afterwards",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel set up a module or a new device")
}
