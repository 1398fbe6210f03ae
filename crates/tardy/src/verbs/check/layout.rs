//! The result of a check as text.

use super::applying::Change;
use crate::terminal::page::Page;
use readiness::{Finding, Fix, NotKnown, Readiness, Severity, kernel_arguments};

/// Maximum number of findings of one rule that are shown one by one; `--json` has all.
const SHOWN_MAX: usize = 5;

/// How much the text has.
pub struct Shown {
    /// Reason and fix of notices.
    pub notices: bool,
    /// The fingerprint of each finding, for a file of accepted ones.
    pub fingerprints: bool,
}

pub fn lay_out(readiness: &Readiness, change: Option<&Change>, shown: &Shown, page: &mut Page) {
    page.wrapped("", &subject(readiness));
    page.wrapped("", &count(readiness));
    if let Some(change) = change {
        lay_out_change(change, page);
    }
    let at_length = |finding: &Finding| finding.severity > Severity::Notice || shown.notices;
    let open: Vec<&Finding> = readiness.open().collect();
    for group in grouped(open.iter().copied().filter(|finding| at_length(finding)).collect()) {
        page.blank();
        lay_out_group(&group, shown.fingerprints, page);
    }
    let briefly: Vec<&Finding> = open.iter().copied().filter(|finding| !at_length(finding)).collect();
    if !briefly.is_empty() {
        page.blank();
        page.heading("Notices (--notices shows reason and fix)");
        lay_out_briefly(&briefly, page);
    }
    let accepted: Vec<&Finding> = readiness.findings.iter().filter(|finding| finding.accepted.is_some()).collect();
    if !accepted.is_empty() {
        page.blank();
        page.heading("Accepted");
        for finding in accepted {
            let reason = finding.accepted.as_deref().filter(|reason| !reason.is_empty()).unwrap_or("no reason given");
            page.wrapped("  ", &format!("{}: {} ({reason})", finding.id, finding.what));
        }
    }
    for line in &readiness.accepted_unused {
        page.wrapped("note: ", &format!("the accepted finding `{line}` was not made"));
    }
    lay_out_not_known(&readiness.not_known, page);
    lay_out_ways(readiness, change, shown.notices, page);
}

fn subject(readiness: &Readiness) -> String {
    let on = match readiness.cpus_realtime.as_str() {
        "" => "with unknown CPUs".into(),
        cpus => format!("on {}", named(cpus)),
    };
    let others = match readiness.dedicated {
        true => format!("which it has for itself; the rest is for {}", named(&readiness.cpus_housekeeping)),
        false => "shared with everything else".into(),
    };
    let host = if readiness.hostname.is_empty() { String::new() } else { format!(" on {}", readiness.hostname) };
    format!(
        "Kernel {}{host}, for real-time work of priority {} {on}, {others}.",
        readiness.kernel_release, readiness.priority
    )
}

/// `CPU 1` or `CPUs 1-3`.
fn named(cpus: &str) -> String {
    format!("CPU{} {cpus}", if cpus.contains([',', '-']) { "s" } else { "" })
}

fn count(readiness: &Readiness) -> String {
    let of = |severity: Severity| readiness.open().filter(|finding| finding.severity == severity).count();
    let number = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let accepted = readiness.findings.len() - readiness.open().count();
    let accepted = if accepted == 0 { String::new() } else { format!(", {accepted} accepted") };
    format!(
        "{} severe, {}, {}{accepted}; {} checks, {} of them not known.",
        of(Severity::Severe),
        number(of(Severity::Warning), "warning"),
        number(of(Severity::Notice), "notice"),
        readiness.asked,
        readiness.not_known.len()
    )
}

fn lay_out_change(change: &Change, page: &mut Page) {
    page.blank();
    if change.applied.is_empty() {
        page.wrapped("", "None of these can be changed at run time.");
        return;
    }
    if change.applied.iter().all(|one| one.problem.is_some()) {
        page.heading("Nothing was changed");
    } else {
        page.heading("Changed");
    }
    for one in change.applied.iter().filter(|one| one.problem.is_none()) {
        let before = one.before.as_deref().unwrap_or("?").trim();
        page.wrapped("  ", &format!("{}: {before} -> {}", one.path, one.value));
    }
    for one in &change.applied {
        if let Some(problem) = &one.problem {
            page.wrapped("  not changed: ", &format!("{}: {problem}", one.path));
        }
    }
    if change.applied.iter().all(|one| one.problem.is_some()) {
        return;
    }
    page.wrapped(
        "  ",
        match change.forgotten {
            true => "This machine has gone down and has forgotten it.",
            false => "`tardy target restore` puts all of it back; so does a reboot.",
        },
    );
}

/// Findings of each rule together, in the order of the first finding of each rule.
fn grouped(findings: Vec<&Finding>) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| group[0].id == finding.id && group[0].severity == finding.severity) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

fn lay_out_group(group: &[&Finding], fingerprints: bool, page: &mut Page) {
    let first = group[0];
    page.heading(&format!("{}: {} [{}]", first.severity.words(), first.title, first.id));
    for finding in group.iter().take(SHOWN_MAX) {
        page.wrapped("  ", &finding.what);
    }
    if group.len() > SHOWN_MAX {
        page.line(&format!("  and {} more", group.len() - SHOWN_MAX));
    }
    page.wrapped("  why     ", &first.reason);
    let mut shown: Vec<(&str, String)> = Vec::new();
    for fix in group.iter().flat_map(|finding| &finding.fixes) {
        let line = fix.described();
        if !shown.contains(&line) {
            shown.push(line);
        }
    }
    for (label, line) in shown.iter().take(2 * SHOWN_MAX) {
        page.wrapped(&format!("  {label:<8}"), line);
    }
    if shown.len() > 2 * SHOWN_MAX {
        page.line(&format!("          and {} more; --json has all", shown.len() - 2 * SHOWN_MAX));
    }
    page.wrapped("  source  ", &first.source);
    if fingerprints {
        let all: Vec<&str> = group.iter().take(SHOWN_MAX).map(|finding| finding.fingerprint.as_str()).collect();
        page.wrapped("  accept  ", &all.join(" "));
    }
}

fn lay_out_briefly(findings: &[&Finding], page: &mut Page) {
    let entry = |group: &Vec<&Finding>| {
        let more = if group.len() == 1 { String::new() } else { format!(" (and {} more)", group.len() - 1) };
        (format!("  {}", group[0].id), format!("{}{more}", group[0].what))
    };
    page.entries(&grouped(findings.to_vec()).iter().map(entry).collect::<Vec<_>>());
}

/// Rules with the same reason together.
fn lay_out_not_known(not_known: &[NotKnown], page: &mut Page) {
    if not_known.is_empty() {
        return;
    }
    page.blank();
    page.heading("Not known");
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in not_known {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, ids)) => ids.push(&one.id),
            None => reasons.push((&one.why, vec![&one.id])),
        }
    }
    for (why, ids) in reasons {
        page.wrapped("  ", &format!("{}: {why}", ids.join(", ")));
    }
}

/// The next commands.
fn lay_out_ways(readiness: &Readiness, change: Option<&Change>, notices: bool, page: &mut Page) {
    let words = kernel_arguments(readiness.to_fix(notices));
    page.blank();
    if !words.add.is_empty() {
        page.heading("At the next boot, on the kernel's command line");
        page.wrapped("  ", &words.add.join(" "));
    }
    if !words.remove.is_empty() {
        page.heading("And no longer there");
        page.wrapped("  ", &words.remove.join(" "));
    }
    let writable = readiness.to_fix(notices).any(|finding| matches!(finding.fixes[..], [Fix::Write { .. }, ..]));
    page.blank();
    if change.is_none() && writable {
        page.wrapped(
            "",
            "`tardy check --apply` changes now what can be changed now, and `tardy target restore` puts it back.",
        );
    }
    if readiness.is_ready() {
        page.wrapped("", "Nothing is worse than a notice.");
    }
}
