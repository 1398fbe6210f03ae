//! Words about cfs-quota: the control group used up its CPU quota.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::QuotaUsedUp;

pub const ADVICE: Advice = Advice {
    title: "the control group used up its CPU quota",
    confirm: "nr_throttled and throttled_usec in cpu.stat of its control group rise",
    fix: "echo max > cpu.max of the thread's control group (docker run without --cpus, Kubernetes without a CPU limit), or give the thread a real-time priority",
};

pub fn words(_: &QuotaUsedUp, share: Share) -> FindingWords {
    ADVICE
        .with(format!("the thread's control group had used up its CPU quota and waited for the next period ({share})"))
}
