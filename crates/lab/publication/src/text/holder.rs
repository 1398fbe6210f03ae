//! The holder of a CPU in words: `hackbench-4711`, `irq 24 virtio0-input`, `NET_RX in ksoftirqd/1-22 (net_rx_action)`, `idle state 2`.

use super::Anonymiser;
use crate::figure::is_digits;
use crate::rules::TASKS;
use archive::culprit::Holder;
use archive::trace_event::{Vector, softirq};

/// The prefix of a ledger before the context of a CPU that did not get on.
const STILL: [&str; 5] = [
    "interrupt not delivered to ",
    "stood still in ",
    "not executed by the hypervisor, in ",
    "stack trace in ",
    "no CPU recorded anything, this one was in ",
];
/// The name of a ledger for the smallest owners together.
const OTHERS: &str = "others";
const SOFTIRQS: u32 = 10;

impl Anonymiser<'_> {
    /// The text with each name inside treated as its kind.
    pub(super) fn holder(&mut self, text: &str) -> String {
        if let Some((still, context)) = STILL.iter().find_map(|still| Some((still, text.strip_prefix(still)?))) {
            return format!("{still}{}", self.holder(context));
        }
        if let Some((holder, function)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
            && (is_state(holder)
                || thread(holder).is_some()
                || interrupt(holder).is_some()
                || in_thread(holder).is_some())
        {
            return format!("{} ({})", self.holder(holder), self.function(function));
        }
        if let Some((softirq, context)) = in_thread(text) {
            return format!("{softirq} in {}", self.holder(context));
        }
        match (interrupt(text), thread(text)) {
            _ if is_state(text) => text.into(),
            (Some((number, "")), _) => format!("irq {number}"),
            (Some((number, name)), _) => format!("irq {number} {}", self.device(name)),
            (None, Some((name, tid))) => format!("{}-{tid}", self.task_of(name, tid.parse().ok())),
            (None, None) => self.pseudonym("task", TASKS, text),
        }
    }
}

fn is_softirq(text: &str) -> bool {
    (0..SOFTIRQS).any(|number| softirq(number) == text)
}

/// Neither a thread nor the interrupt of a device.
fn is_state(text: &str) -> bool {
    let state = text.rsplit(' ').next().and_then(|number| number.parse().ok());
    let states =
        [Holder::Untraced, Holder::Nmi { function: None }, Holder::Idle { state: None }, Holder::Idle { state }];
    let is_written = states.iter().any(|state| words::holders::holder(state) == text);
    text == OTHERS || is_written || is_softirq(text) || Vector::from_name(text).is_some()
}

/// `NET_RX` and `ksoftirqd/1-22` of `NET_RX in ksoftirqd/1-22`.
fn in_thread(text: &str) -> Option<(&str, &str)> {
    text.split_once(" in ").filter(|(name, _)| is_softirq(name))
}

/// `24` and `virtio0-input` of `irq 24 virtio0-input`.
fn interrupt(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("irq ")?;
    let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
    is_digits(number).then_some((number, name))
}

/// The name and number of `NAME-TID`.
fn thread(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('-').filter(|(_, tid)| is_digits(tid))
}
