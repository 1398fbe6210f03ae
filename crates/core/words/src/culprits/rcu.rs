//! Words about rcu: RCU.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "RCU",
    confirm: "the events softirq_entry with vec=9 and rcu:rcu_batch_start; /proc/softirqs counts them for each CPU",
    fix: "rcu_nocbs= for this CPU (and rcu_nocb_poll), taskset the rcuo* threads to others, rcutree.kthread_prio below the late thread's, rcupdate.rcu_normal=1 against expedited grace periods",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "RCU ran")
}
