//! Recognises by name: threads, interrupts, and functions run by work items, timers and requests of other CPUs.

use super::foreign_interrupt::is_foreign;
use super::in_kernel::Signs;
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim, held};

use crate::replay::context::Context;
use archive::culprit::NamedHolders;
use archive::explanation::{Confidence, OwnerKind};

/// Names that belong to a culprit. A `*` matches anything.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// Threads.
    pub threads: &'static [&'static str],
    /// Functions.
    pub functions: &'static [&'static str],
    /// Interrupts, and the threads that handle them (`irq/24-NAME`).
    pub interrupts: &'static [&'static str],
}

pub const NOTHING: Named = Named { threads: &[], functions: &[], interrupts: &[] };

impl Named {
    fn is_thread(&self, comm: &str) -> bool {
        let served = comm.strip_prefix("irq/").and_then(|rest| rest.split_once('-')).map(|(_, device)| device);
        fits_any(self.threads, comm) || served.is_some_and(|device| fits_any(self.interrupts, device))
    }

    fn is_function(&self, case: &Case, context: Context) -> bool {
        let name = context.function().and_then(|address| case.names().function_known(address));
        name.is_some_and(|name| fits_any(self.functions, name))
    }

    fn is_interrupt(&self, case: &Case, irq: i32) -> bool {
        let name = case.names().irq(irq);
        let device = name.splitn(3, ' ').nth(2);
        device.is_some_and(|device| fits_any(self.interrupts, device))
    }

    /// Whether one of them held the piece: an interrupt or a softirq at any time, a task while the thread was runnable.
    pub fn holds(&self, case: &Case, piece: &Piece) -> bool {
        let Some(context) = held(piece) else { return false };
        match context {
            Context::Task { tid, .. } => {
                case.kept_off(piece)
                    && matches!(case.kind(piece), OwnerKind::Task | OwnerKind::RtTask)
                    && (self.is_function(case, context) || self.is_thread(case.names().comm(tid)))
            }
            Context::Softirq { .. } => self.is_function(case, context),
            Context::Irq { irq, .. } => {
                is_foreign(case, piece) && (self.is_function(case, context) || self.is_interrupt(case, irq))
            }
            Context::Vector { .. } => is_foreign(case, piece) && self.is_function(case, context),
            _ => false,
        }
    }

    /// The claim of a culprit that is recognised by names alone.
    pub fn look<'c>(&self, case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
        let pieces = case.claim(|piece| self.holds(case, piece))?;
        Some(claim(case, pieces))
    }

    /// The same for functions that another CPU requested. A task that runs one without an interrupt requested it itself: the kernel
    /// calls it on the CPU of the request, too.
    pub fn look_at_requests<'c>(&self, case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
        let requested = |piece: &Piece| !matches!(held(piece), Some(Context::Task { .. }));
        let pieces = case.claim(|piece| requested(piece) && self.holds(case, piece))?;
        Some(claim(case, pieces))
    }
}

/// A claim on pieces that are enclosed by events.
pub fn claim<'c>(case: &Case<'c>, pieces: Vec<usize>) -> Claim<'c, NamedHolders> {
    let is_thread = pieces.iter().any(|&index| matches!(held(&case.pieces[index]), Some(Context::Task { .. })));
    let asked = pieces.iter().flat_map(|&index| case.events_inside(&case.pieces[index]));
    let asked: Vec<_> = asked.filter(|event| event.needs_resched() && event.preempt_off()).take(2).copied().collect();
    let was_asked = case.own_is_ordinary() || Signs::of(case, &pieces).asked.is_some();
    let bracketed = !is_thread || given_the_cpu(case) && was_asked && case.is_seen_throughout(&pieces);
    let confidence = match bracketed {
        true => Confidence::Certain,
        // The name shows what it was, but not what had the CPU.
        false if is_thread && case.lacks_a_tick(&pieces) => Confidence::Hint,
        false => Confidence::Likely,
    };
    let facts = NamedHolders { who: case.holders(&pieces), is_thread, asked_with_preemption_off: !asked.is_empty() };
    let events = asked.into_iter().chain(asked_by(case, &pieces)).collect();
    Claim { events, ..Claim::new(pieces, confidence, facts) }
}

/// The event in which another CPU requested the function on this one.
fn asked_by<'c>(case: &Case<'c>, pieces: &[usize]) -> Option<Event<'c>> {
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns()).map(|&index| &case.pieces[index])?;
    let Some(context @ Context::Vector { .. }) = held(longest) else { return None };
    let function = case.names().function_known(context.function()?)?;
    let before = case.trace.cpus.iter().filter(|activity| activity.cpu != longest.cpu);
    let before = before.flat_map(|activity| activity.events_between(i64::MIN, longest.start_ns));
    let asks = |event: &&Event| {
        let text = case.names().text(event.cpu, event.ts_ns).unwrap_or("");
        event.what == EventKind::Other
            && (text.starts_with("ipi_send_") || text.starts_with("csd_queue_"))
            && text.contains(function)
    };
    before.filter(asks).max_by_key(|event| event.ts_ns).copied()
}

/// Whether the trace shows the switch that ended the wait for the CPU.
fn given_the_cpu(case: &Case) -> bool {
    let own = case.tool_threads.own_tid;
    case.event(|event| matches!(event.what, EventKind::Switch { next, .. } if next == own)).is_some()
}

fn fits_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((beginning, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(beginning) else { return false };
    rest.is_empty() || name.char_indices().any(|(at, _)| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_beginnings_ends_and_middles() {
        assert!(fits("kswapd*", "kswapd0") && !fits("kswapd*", "my-kswapd0"));
        assert!(fits("*.spi", "3f204000.spi") && !fits("*.spi", "spi0"));
        assert!(fits("virtio*-req*", "virtio0-req.1") && !fits("virtio*-req*", "virtio0-input.0"));
        assert!(fits("*console_write*", "serial8250_console_write") && fits("ksmd", "ksmd") && !fits("ksmd", "ksmd2"));
    }

    #[test]
    fn a_thread_that_serves_an_interrupt_is_called_after_its_device() {
        let usb = Named { interrupts: &["xhci*"], ..NOTHING };
        assert!(usb.is_thread("irq/30-xhci_hcd") && !usb.is_thread("xhci_hcd") && !usb.is_thread("irq/30-nvme0q1"));
    }
}
