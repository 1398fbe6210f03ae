//! The accounts of chains on a page: the verdict first, then the stage and its cause.

use super::Shown;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::chain::{ChainAccount, ChainInstance};
use words::chain::{culprits, finding, limit, segment, shares, stages, unlinked, verdict};
use words::figures::{counted, microseconds};
use words::shell::quoted;

/// Lines of a short answer, as of every other verb.
const LINES: usize = 12;
/// Stages whose times a short answer shows.
const STAGES_SHOWN: usize = 4;

/// The lines of a short answer, as many as fit.
struct Short<'p> {
    page: &'p mut Page,
    left: usize,
}

impl Short<'_> {
    /// Adds a text if all of it fits, and returns whether it did.
    fn add(&mut self, first: &str, text: &str) -> bool {
        let lines = self.page.lines_of(first, text).len();
        let fits = lines <= self.left;
        if fits {
            self.page.wrapped(first, text);
            self.left -= lines;
        }
        fits
    }
}

/// Lays out all accounts, each of several with its worst cause, the one with most misses first.
pub fn lay_out(accounts: &[ChainAccount], shown: Shown<'_>, page: &mut Page) {
    let (recording, file) = shown.named;
    let name = |path: &std::path::Path| quoted(&path.display().to_string());
    let next = format!("tardy explain {} --chain {} --more", name(recording), name(file));
    let reserved = page.lines_of("next: ", &next).len();
    let mut short = Short { page, left: LINES.saturating_sub(reserved) };
    match accounts {
        [account] => add_one(account, &mut short),
        accounts => add_several(accounts, &mut short),
    }
    if !shown.more {
        return page.wrapped("next: ", &next);
    }
    for account in accounts {
        lay_out_path(account, page);
    }
}

fn add_one(account: &ChainAccount, short: &mut Short<'_>) {
    short.add("", &verdict(account));
    add_worst(account, short);
    if let Some(worst) = account.worst() {
        short.add("ledger: ", &shares(worst));
    }
    if let Some(unlinked) = unlinked(account) {
        short.add("but: ", &unlinked);
    }
    add_limits(account, short);
    if account.findings.len() > 1 {
        short.add("causes: ", &culprits(account));
    }
    if account.worst().is_some() {
        short.add("stages: ", &stages(account, STAGES_SHOWN));
    }
}

fn add_several(accounts: &[ChainAccount], short: &mut Short<'_>) {
    let mut order: Vec<&ChainAccount> = accounts.iter().collect();
    order.sort_by_key(|account| std::cmp::Reverse(account.missed()));
    // The last line may have to count the others.
    short.left = short.left.saturating_sub(1);
    let mut added = 0;
    for account in &order {
        if !short.add("", &verdict(account)) {
            break;
        }
        added += 1;
        add_worst(account, short);
        if account.worst().is_none() {
            // Its limits say why.
            add_limits(account, short);
        }
    }
    short.left += 1;
    if added < order.len() {
        short.add("", &format!("{} more: --json", counted((order.len() - added) as u64, "chain")));
    }
}

fn add_limits(account: &ChainAccount, short: &mut Short<'_>) {
    for text in account.limits.iter().map(limit) {
        short.add("but: ", &text);
    }
}

/// Stage and cause of the worst instance that missed its deadline, or of the worst one.
fn add_worst(account: &ChainAccount, short: &mut Short<'_>) {
    if let Some(worst) = account.findings.iter().max_by_key(|finding| finding.latency_ns) {
        let [place, cause] = finding(worst, account.stages.len());
        short.add("worst: ", &place);
        short.add("cause: ", &cause);
    }
}

/// The critical path of the worst instance, in µs from its stimulus.
fn lay_out_path(account: &ChainAccount, page: &mut Page) {
    let Some(worst) = account.worst() else { return };
    page.blank();
    page.heading(&format!("critical path of the worst instance of {}, µs from the stimulus", account.name.0));
    page.table(&path(worst));
}

fn path(instance: &ChainInstance) -> Table {
    let mut table = Table::new(&[Align::Right, Align::Right, Align::Left, Align::Left]);
    for of in &instance.segments {
        let [whose, what] = segment(of);
        table.row([microseconds(of.start_ns - instance.stimulus_ns), microseconds(of.ns()), whose, what]);
    }
    table
}
