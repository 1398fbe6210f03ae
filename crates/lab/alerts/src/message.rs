//! The text of a message about a change. Names of boards, kernels, loads and causes come from targets: each format gets them as text and
//! nothing else.

use serde::Serialize;
use store::changes::{Change, ChangeReport};
use store::queries::run::RunRow;
use words::address::path_segment;
use words::amounts::{change as relative, rough, time};
use words::calendar::utc;
use words::figures::latency;
use words::printable::printable;

/// Version of the document that webhooks get.
const ALERT_VERSION: u32 = 1;
const RECORD: &str = "To record that it is known (or fixed, or noise):";
const DIFFERENCES_SHOWN: usize = 8;
const TEXT_LETTERS_MAX: usize = 200;

/// A message about a change.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its name: the same in every attempt.
    pub alert: String,
    /// Of the figure that changed most.
    pub report: ChangeReport,
    /// Changes of other figures that the same run showed first, largest first.
    also: Vec<Change>,
    link: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    alert_version: u32,
    alert: &'a str,
    subject: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    #[serde(flatten)]
    report: &'a ChangeReport,
    also: &'a [Change],
}

impl Message {
    /// The message with this name; `link` is the address of the server of the lab.
    pub fn of(alert: &str, mut report: ChangeReport, also: Vec<Change>, link: Option<&str>) -> Self {
        let mut changes = also;
        changes.push(report.change);
        changes.sort_by(|one, other| extent(other).total_cmp(&extent(one)).then_with(|| one.figure.cmp(&other.figure)));
        report.change = changes.remove(0);
        Self { alert: alert.to_owned(), report, also: changes, link: link.map(str::to_owned) }
    }

    /// One line, of printable letters.
    pub fn subject(&self) -> String {
        let figures: Vec<&str> = self.also.iter().map(|change| change.figure.as_str()).collect();
        let also = match figures.split_last() {
            None => String::new(),
            Some((last, [])) => format!("; {last} changed too"),
            Some((last, before)) => format!("; {} and {last} changed too", before.join(", ")),
        };
        shown(&format!("{}: {}{also}", self.report.first.board, moved(&self.report.change)))
    }

    fn changes(&self) -> impl Iterator<Item = &Change> {
        std::iter::once(&self.report.change).chain(&self.also)
    }

    /// The facts of the message, each with its name; texts are as the index has them.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let ChangeReport { change, words, first, last_before } = &self.report;
        let is_worse = change.level_after > change.level_before;
        let [before, after] = if is_worse { ["Last good", "First bad"] } else { ["Last before", "First after"] };
        let run = |run: &RunRow| format!("Linux {}, {}, run {}", run.kernel, utc(run.started_unix_ns), run.id);
        let cause = match (&first.worst_cause, first.latency_max_ns) {
            (Some(cause), Some(largest)) => {
                format!("{cause} (largest latency of that run: {})", latency(largest))
            }
            (Some(cause), None) => cause.clone(),
            (None, _) => "not known: that run has no trace of a late sample".into(),
        };
        let mut facts = vec![("Measured", words.clone())];
        facts.extend(self.changes().map(|change| ("Change", change.sentence.clone())));
        facts.extend(last_before.as_ref().map(|last| (before, run(last))));
        facts.push((after, run(first)));
        facts.push(("Cause", cause));
        for difference in change.differences.iter().take(DIFFERENCES_SHOWN) {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
            facts.push(("Differs", format!("{}: {} -> {}", difference.what, side(&difference.a), side(&difference.b))));
        }
        let more = change.differences.len().saturating_sub(DIFFERENCES_SHOWN);
        if more > 0 {
            facts.push(("Differs", format!("and {more} more")));
        }
        facts
    }

    /// Addresses of pages: of the change, of the comparison of the runs beside it, of the first run after it.
    fn links(&self) -> Vec<(&'static str, String)> {
        let Some(link) = &self.link else { return Vec::new() };
        let ChangeReport { change, first, .. } = &self.report;
        let (before, reached) = (path_segment(&change.before_digest), path_segment(change.reached()));
        let board =
            format!("{link}/boards/{}?scenario={}#changes", path_segment(&first.board), path_segment(&change.scenario));
        vec![
            ("Board", board),
            ("Compare", format!("{link}/compare?a={before}&b={reached}")),
            ("Report", format!("{link}/runs/{}", path_segment(&first.digest))),
        ]
    }

    /// The commands that record that the changes are known.
    fn commands(&self) -> impl Iterator<Item = String> {
        self.changes().map(|change| format!("tardy lab store triage {} known", shown(&change.change)))
    }

    /// As plain text. No line starts with a text of a target.
    pub fn plain(&self) -> String {
        let mut text = format!("{}.\n\n", self.subject());
        for (name, value) in self.facts() {
            text.push_str(&format!("{:13}{}\n", format!("{name}:"), shown(&value)));
        }
        text.push('\n');
        for (name, address) in self.links() {
            text.push_str(&format!("{:13}{address}\n", format!("{name}:")));
        }
        text.push_str(&format!("\n{RECORD}\n"));
        for command in self.commands() {
            text.push_str(&format!("  {command}\n"));
        }
        text
    }

    /// As Markdown of GitHub and GitLab. Everything that a target may have chosen is in code spans, in which nothing is a link, a mention, a
    /// reference, HTML or a command.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", code(&self.subject()));
        for (name, value) in self.facts() {
            text.push_str(&format!("- {name}: {}\n", code(&value)));
        }
        let links: Vec<String> =
            self.links().into_iter().map(|(name, address)| format!("[{name}](<{address}>)")).collect();
        if !links.is_empty() {
            text.push_str(&format!("\n{}\n", links.join(" · ")));
        }
        let commands: Vec<String> = self.commands().map(|command| code(&command)).collect();
        text.push_str(&format!("\n{RECORD} {}\n\n{}\n", commands.join(", "), code(&self.mark())));
        text
    }

    /// The mark by which this message is found again where it was sent.
    pub fn mark(&self) -> String {
        format!("tardy-alert {}", self.alert)
    }

    /// As a JSON document.
    pub fn json(&self) -> String {
        let link = self.links().into_iter().next().map(|(_, address)| address);
        let (subject, message) = (self.subject(), self.plain());
        let document = Document {
            alert_version: ALERT_VERSION,
            alert: &self.alert,
            subject,
            message,
            link,
            report: &self.report,
            also: &self.also,
        };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

/// By what factor a figure changed, as a logarithm.
fn extent(change: &Change) -> f64 {
    let extent = (change.level_after / change.level_before).ln().abs();
    if extent.is_nan() { 0.0 } else { extent }
}

/// The movement of a figure.
fn moved(change: &Change) -> String {
    let figure = &change.figure;
    let amount = |value: f64| if figure.starts_with('p') { time(value) } else { format!("{} an hour", rough(value)) };
    let verb = if change.until_digest.is_some() { "drifted" } else { "went" };
    let ratio = change.level_after / change.level_before;
    let ratio = if ratio.is_finite() && ratio > 0.0 { format!(" ({})", relative(ratio)) } else { String::new() };
    format!("{figure} {verb} from {} to {}{ratio}", amount(change.level_before), amount(change.level_after))
}

/// Printable and not longer than a line may be.
fn shown(text: &str) -> String {
    let safe = printable(text);
    if safe.chars().count() <= TEXT_LETTERS_MAX {
        return safe;
    }
    safe.chars().take(TEXT_LETTERS_MAX).chain(['…']).collect()
}

/// A code span that its text cannot end: its fence is longer than any row of backticks in it.
fn code(text: &str) -> String {
    let text = shown(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let edge = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() { " " } else { "" };
    format!("{fence}{edge}{text}{edge}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_code_span() {
        assert_eq!(code("pi"), "`pi`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`@all`"), "`` `@all` ``");
        assert_eq!(code("a\n\n/close\n"), "`a\\n\\n/close\\n`");
        assert_eq!(code(&"x".repeat(10_000)).chars().count(), TEXT_LETTERS_MAX + 3);
    }
}
