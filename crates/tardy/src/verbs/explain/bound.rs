//! `tardy explain --bound`: the known parts of the analytical bound of the scheduling latency, and the missing ones.

mod answer;

use crate::exit::UsageError;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use account::{Account, Delays};
use answer::{Answer, OfCpu};
use words::figures::latency;

/// Value of `--bound` without values.
pub const NO_VALUES: &str = "";
const FORMULA: &str = "L = max(D_ST, D_POID) + D_PAIE + D_PSD + I_NMI(L) + I_IRQ(L)";

/// Name and meaning.
const VARIABLES: [(&str, &str); 4] = [
    ("D_ST", "interrupts off before a switch until preemption is on again"),
    ("D_POID", "preemption or interrupts off, and not to schedule"),
    ("D_PAIE", "both on although the scheduler is about to be called"),
    ("D_PSD", "preemption off to schedule"),
];

/// Reads `dst=45883,poid=56194,paie=5167,psd=48092`.
pub fn delays(text: &str) -> Result<Option<Delays>, UsageError> {
    if text == NO_VALUES {
        return Ok(None);
    }
    let mut values = [None; 4];
    for part in text.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let at = ["dst", "poid", "paie", "psd"].iter().position(|known| *known == name.trim());
        let value: Option<i64> = value.trim().parse().ok().filter(|ns| (0..=1_000_000_000).contains(ns));
        match at.zip(value) {
            Some((at, value)) => values[at] = Some(value),
            None => return Err(UsageError(format!("--bound takes dst=NS,poid=NS,paie=NS,psd=NS, not `{part}`"))),
        }
    }
    let [Some(scheduler_tail_ns), Some(masked_ns), Some(enabled_ns), Some(scheduling_ns)] = values else {
        return Err(UsageError(
            "--bound needs all four of dst, poid, paie and psd: a bound needs every one of them".into(),
        ));
    };
    Ok(Some(Delays { scheduler_tail_ns, masked_ns, enabled_ns, scheduling_ns }))
}

/// Prints it.
pub fn show(account: &Account, delays: Option<Delays>, as_json: bool) -> anyhow::Result<()> {
    let answer = Answer::of(account, delays, if delays.is_some() { SOUND } else { MISSING });
    if as_json {
        return json::print(&answer);
    }
    let mut page = Page::for_stdout();
    alarm_of_clock(answer.virtual_time, account.summary().emulated, &mut page);
    lay_out(&answer, &mut page);
    Ok(page.print()?)
}

fn lay_out(answer: &Answer, page: &mut Page) {
    page.heading("Bound of the scheduling latency");
    page.wrapped("  ", &format!("{FORMULA} (de Oliveira and others, ECRTS 2020, theorem 8)"));
    page.blank();
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right]);
    let known = answer.delays.map(|of| [of.dst_ns, of.poid_ns, of.paie_ns, of.psd_ns]);
    for (at, (name, meaning)) in VARIABLES.iter().enumerate() {
        let value = known.map_or("missing".into(), |known| latency(known[at]));
        table.row([format!("  {name}"), (*meaning).to_owned(), value]);
    }
    page.table(&table);
    if answer.preempt_rt == Some(false) {
        page.wrapped("  but ", "the theorem applies to PREEMPT_RT kernels only; this is not one");
    }
    for of_cpu in &answer.cpus {
        page.blank();
        lay_out_cpu(of_cpu, answer, page);
    }
    if answer.cpus.is_empty() {
        page.blank();
        page.wrapped("  ", "No interrupts are known: no late sample of this run has a trace.");
    }
    page.blank();
    page.wrapped("", answer.note);
}

fn lay_out_cpu(of_cpu: &OfCpu, answer: &Answer, page: &mut Page) {
    let sources = match of_cpu.sources.as_slice() {
        [] => "no interrupts seen around its late samples".into(),
        sources => format!("interrupts seen around its late samples: {}", sources.join(", ")),
    };
    page.wrapped(&format!("  CPU {}: ", of_cpu.cpu), &sources);
    let within = of_cpu.interference.iter();
    let each: Vec<String> =
        within.map(|within| format!("{} in {}", latency(within.taken_ns), latency(within.window_ns))).collect();
    if !each.is_empty() {
        page.wrapped("    I_NMI + I_IRQ ", &each.join(", "));
    }
    let Some(delays) = answer.delays else { return };
    match of_cpu.bound_ns {
        Some(ns) => page.wrapped(
            "    L = ",
            &format!("{} ({} without interrupts)", latency(ns), latency(delays.interference_free_ns)),
        ),
        None => page.wrapped("    ", "no L: with this many interrupts the equation has no solution below 100 ms"),
    }
    if of_cpu.longer_than_recorded {
        let recorded = latency(of_cpu.recorded_ns);
        page.wrapped(
            "    but ",
            &format!("no stretch longer than {recorded} was recorded: longer windows may hold more"),
        );
    }
}

const MISSING: &str = "No bound: the four delays are not in this run. They need every masking of preemption and interrupts \
    over the whole run, with its reason and without the interrupts in it. The kernel's events preemptirq:* \
    (CONFIG_PREEMPTIRQ_TRACEPOINTS, off in Debian's kernels) come without the reason, and fill about 800 MB per second and CPU according to the \
    paper; the tracers irqsoff, preemptoff and preemptirqsoff (CONFIG_IRQSOFF_TRACER, CONFIG_PREEMPT_TRACER) keep maxima \
    that hold interrupts, too. The paper's own tracer measures them (rtsl, patches for 5.6-rt). With its maxima, in ns: \
    --bound=dst=NS,poid=NS,paie=NS,psd=NS";

const SOUND: &str = "It is a bound for the thread of the highest priority only, and only as far as the longest delays and the \
    busiest interrupts were seen. Interrupts come from the snapshots, by the paper's sliding window. The way from the timer \
    to the wake-up, sleep states, firmware and the return to user space are not in it.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_complete_or_refused() {
        let given = delays("poid=22510,dst=19312,paie=0,psd=19702").unwrap().unwrap();
        assert_eq!(given.interference_free_ns(), 42_212);
        assert_eq!(delays(NO_VALUES).unwrap(), None);
        for wrong in ["poid=1", "poid=1,dst=1,paie=1,psd=x", "poid=1,dst=1,paie=1,psd=-1", "a", ","] {
            assert!(delays(wrong).is_err(), "{wrong}");
        }
    }
}
