//! What a message about a change says. Names of boards, kernels, loads and causes come from targets: each format gets them as text and
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
const DIFFERENCES_SHOWN: usize = 8;
const TEXT_LETTERS_MAX: usize = 200;

/// A message about a change.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its name: the same in every attempt.
    pub alert: String,
    pub report: ChangeReport,
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
}

impl Message {
    /// The message with this name; `link` is the address of the server of the lab.
    pub fn of(alert: &str, report: ChangeReport, link: Option<&str>) -> Self {
        Self { alert: alert.to_owned(), report, link: link.map(str::to_owned) }
    }

    /// One line, of printable letters.
    pub fn subject(&self) -> String {
        let Change { figure, .. } = &self.report.change;
        shown(&format!("{}: {figure} {}", self.report.first.board, self.moved()))
    }

    fn moved(&self) -> String {
        let change = &self.report.change;
        let amount =
            |value: f64| if change.figure.starts_with('p') { time(value) } else { format!("{} an hour", rough(value)) };
        let verb = if change.until_digest.is_some() { "drifted" } else { "went" };
        let ratio = change.level_after / change.level_before;
        let ratio = if ratio.is_finite() && ratio > 0.0 { format!(" ({})", relative(ratio)) } else { String::new() };
        format!("{verb} from {} to {}{ratio}", amount(change.level_before), amount(change.level_after))
    }

    /// What there is to say, each with its name; texts are as the index has them.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let ChangeReport { change, words, first, last_before } = &self.report;
        let is_worse = change.level_after > change.level_before;
        let [before, after] = if is_worse { ["Last good", "First bad"] } else { ["Last before", "First after"] };
        let run = |run: &RunRow| format!("Linux {}, run {} of {}", run.kernel, run.id, utc(run.started_unix_ns));
        let cause = match (&first.worst_cause, first.latency_max_ns) {
            (Some(cause), Some(largest)) => {
                format!("{cause}, of the largest latency of that run, {}", latency(largest))
            }
            (Some(cause), None) => cause.clone(),
            (None, _) => "none known: no late wake-up of that run has a trace".into(),
        };
        let mut facts = vec![("Measured", words.clone())];
        facts.extend(last_before.as_ref().map(|last| (before, run(last))));
        facts.push((after, run(first)));
        facts.push(("Cause", cause));
        for difference in change.differences.iter().take(DIFFERENCES_SHOWN) {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
            facts.push((
                "Changed too",
                format!("{}: {} -> {}", difference.what, side(&difference.a), side(&difference.b)),
            ));
        }
        let more = change.differences.len().saturating_sub(DIFFERENCES_SHOWN);
        if more > 0 {
            facts.push(("Changed too", format!("and {more} more")));
        }
        facts.push(("Statistics", change.sentence.clone()));
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

    fn command(&self) -> String {
        format!("tardy store triage {} known", shown(&self.report.change.change))
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
        text.push_str(&format!("\nTo record what it is: {}\n", self.command()));
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
        text.push_str(&format!("\nTo record what it is: {}\n\n{}\n", code(&self.command()), code(&self.mark())));
        text
    }

    /// What finds this message again where it was sent.
    pub fn mark(&self) -> String {
        format!("tardy-alert {}", self.alert)
    }

    /// As a JSON document.
    pub fn json(&self) -> String {
        let link = self.links().into_iter().next().map(|(_, address)| address);
        let (subject, message) = (self.subject(), self.plain());
        let document =
            Document { alert_version: ALERT_VERSION, alert: &self.alert, subject, message, link, report: &self.report };
        serde_json::to_string(&document).unwrap_or_default()
    }
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
