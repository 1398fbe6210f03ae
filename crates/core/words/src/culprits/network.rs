//! Words about network: network card.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "network card",
    confirm: "napi:napi_poll names the device; `ethtool -S DEVICE` and /proc/net/softnet_stat count",
    fix: "move the interrupts of the card (smp_affinity_list, ethtool -L) and RPS/XPS masks to another CPU; ethtool -C for fewer interrupts, or none at all (rx-usecs 0) where the card carries the real-time traffic; threaded NAPI with a priority of its own",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the network needed the CPU")
}
