//! The common causes of a run's spikes, on a page.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::causes::{CauseGroup, RunCauses};
use archive::method::SampleWord;
use words::figures::latency;

pub fn lay_out(causes: &RunCauses, word: SampleWord, page: &mut Page) {
    if causes.groups.is_empty() {
        return;
    }
    page.heading(&format!("Causes of the {} {}", word.late, word.many));
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["cause", "spikes", word.worst, "on CPU"]);
    for group in &causes.groups {
        let name = group.name().to_owned();
        table.row([name, group.spikes.len().to_string(), latency(group.latency_ns_max), cpus(group)]);
    }
    page.table(&table);
    for group in causes.groups.iter().filter(|group| group.period.is_some()) {
        page.wrapped("  ", &format!("{}: {}", group.name(), group.rhythm));
    }
    causes.sentences.iter().for_each(|sentence| page.wrapped("  ", sentence));
}

fn cpus(group: &CauseGroup) -> String {
    let each: Vec<String> = group.cpus.iter().map(|of| format!("{} ({}×)", of.cpu, of.count)).collect();
    each.join(", ")
}
