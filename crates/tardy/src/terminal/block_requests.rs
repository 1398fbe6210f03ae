//! Where the time of block requests went, on a page.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::storage::{StorageAccount, StorageRequest};
use report::block_requests::{causes, headline, permille, remarks};
use words::figures::{latency, microseconds};

const SHOWN: usize = 3;
const COLUMNS: [Align; 5] = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];

/// The table of phases and the largest requests; nothing if none were recorded.
pub fn lay_out(account: Option<&StorageAccount>, page: &mut Page) {
    let Some(account) = account else { return };
    page.blank();
    page.wrapped("", &headline(account));
    if !account.phases.is_empty() {
        let whole_ns = account.phases.iter().fold(0_i64, |sum, one| sum.saturating_add(one.sum_ns));
        let mut table = Table::new(&COLUMNS);
        table.row(["phase", "p50", "p99", "max µs", "of all"]);
        for one in &account.phases {
            table.row([
                one.phase.title().to_owned(),
                microseconds(one.median_ns),
                microseconds(one.p99_ns),
                microseconds(one.max_ns),
                permille(one.sum_ns, whole_ns),
            ]);
        }
        page.headed_table(&table);
    }
    remarks(account).iter().for_each(|remark| page.wrapped("  ", remark));
    if !account.worst.is_empty() {
        page.line("Longest requests");
    }
    account.worst.iter().take(SHOWN).for_each(|request| page.wrapped("  ", &words(request)));
}

/// One request: its latency, its phases, and what is proven about it.
fn words(request: &StorageRequest) -> String {
    let phases: Vec<String> =
        request.phases.iter().map(|(phase, ns)| format!("{} {}", phase.title(), latency(*ns))).collect();
    let causes = causes(request);
    let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join("; ")) };
    format!("{} = {}{causes}", latency(request.latency_ns), phases.join(" + "))
}
