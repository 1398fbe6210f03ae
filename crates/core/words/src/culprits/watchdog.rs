//! Words about watchdog: the lockup watchdog.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::LockupWatchdog;

pub const ADVICE: Advice = Advice {
    title: "the lockup watchdog",
    confirm: "every 4 s (2/5 of kernel.watchdog_thresh); /proc/sys/kernel/watchdog_cpumask says where",
    fix: "nowatchdog on the kernel command line, sysctl kernel.watchdog=0, or a kernel.watchdog_cpumask without this CPU",
};

pub fn words(facts: &LockupWatchdog, share: Share) -> FindingWords {
    let what = match facts {
        LockupWatchdog::Stop => "the lockup watchdog stopped this CPU for its check",
        LockupWatchdog::Timer => "the timer of the lockup watchdog ran first",
    };
    ADVICE.with(format!("{what} ({share})"))
}
