//! Words about firmware-call: the firmware of the board.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "the firmware of the board",
    confirm: "--tracer function_graph around arm_smccc_smc; the events scmi:scmi_xfer_begin and scmi:scmi_xfer_end",
    fix: "stop what polls the firmware: vcgencmd, hwmon sensors, thermal zones, readers of the real-time clock",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel called the board's firmware")
}
