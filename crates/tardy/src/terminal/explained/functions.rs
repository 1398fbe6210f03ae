//! The functions of a trace on a page: the function of each owner with its callers, and the longest stretches that
//! could not be interrupted or preempted.

use crate::terminal::page::Page;
use archive::functions::{ChainSource, FunctionAccount, HeldInFunction, HeldLock, MaskedStretch};
use words::figures::{latency, microseconds};

pub fn lay_out(account: &FunctionAccount, page: &mut Page) {
    let masked = [("interrupts off", &account.irqs_off), ("preemption off", &account.preempt_off)];
    if account.held.is_empty() && masked.iter().all(|(_, stretch)| stretch.is_none()) && account.lock.is_none() {
        return;
    }
    page.blank();
    page.line("  functions");
    for held in &account.held {
        page.wrapped("    ", &in_function(held));
    }
    for (what, stretch) in masked {
        if let Some(stretch) = stretch {
            page.wrapped("    ", &format!("{what} longest: {}", of_stretch(stretch)));
        }
    }
    if let Some(lock) = &account.lock {
        page.wrapped("    ", &of_lock(lock));
    }
}

fn of_lock(lock: &HeldLock) -> String {
    let released = match lock.releaser.as_str() {
        "" => "held at the end of the record".to_owned(),
        releaser => format!("given back by {releaser} ({} µs)", microseconds(lock.end_ns)),
    };
    format!(
        "lock held longest: {} of the lateness, by {}, taken by {} with {} ({} µs), {released}",
        latency(lock.late_ns),
        lock.thread,
        lock.taker,
        lock.by,
        microseconds(lock.start_ns)
    )
}

fn in_function(held: &HeldInFunction) -> String {
    let (owner, chain) = (format!("{}, {}", held.name, latency(held.owner_ns)), held.chain.join(" < "));
    match (held.ns, held.source) {
        (Some(ns), _) if held.last_entered => {
            format!("{owner}: no function was entered for {} after {chain}", latency(ns))
        }
        (Some(ns), ChainSource::Entries | ChainSource::Graph) => format!("{owner}: {} of it in {chain}", latency(ns)),
        _ => format!("{owner}: a stack trace shows it in {chain}"),
    }
}

fn of_stretch(stretch: &MaskedStretch) -> String {
    format!(
        "{} ({} at most) by {}, from {} ({} µs) to {} ({} µs)",
        latency(stretch.ns()),
        latency(stretch.ns_max),
        stretch.thread,
        stretch.first,
        microseconds(stretch.start_ns),
        stretch.last,
        microseconds(stretch.end_ns)
    )
}
