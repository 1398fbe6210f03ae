//! One late wake-up drawn with characters: phases on top, below them a row per CPU, the late CPU first, then the important
//! instants. Every letter shows the owner that held the CPU longest in its slice of time; the ledger has the exact
//! figures.

mod glyphs;
mod runs;

use crate::terminal::page::{Page, Paint};
use crate::terminal::screen;
use archive::explanation::{Explanation, Lane, OwnerKind};
use archive::method::SampleWord;
use archive::spike::Spike;
use glyphs::{Glyphs, paint};
use runs::{Run, Slices, runs};
use words::figures::latency;
use words::vocabulary::owner_before_name;

/// Default number of columns.
const COLUMNS_UNKNOWN: usize = 80;
/// A narrower terminal gets a picture only on request.
const COLUMNS_MIN: usize = 72;
/// Maximum width; a wider picture does not help.
const COLUMNS_MAX: usize = 200;
/// Columns in front of the rows.
const LABEL: usize = 8;
/// Marks that get a letter.
const MARKS_MAX: usize = 9;
/// CPUs that are drawn.
const LANES_MAX: usize = 16;

/// How the picture is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    columns: usize,
    utf8: bool,
}

impl Canvas {
    /// For standard output; `None` if it is not a terminal or too narrow, and no picture was requested.
    pub fn for_stdout(asked: bool) -> Option<Self> {
        let width = screen::width();
        if !asked && width.is_none_or(|columns| columns < COLUMNS_MIN) {
            return None;
        }
        let columns = width.unwrap_or(COLUMNS_UNKNOWN).clamp(40, COLUMNS_MAX);
        Some(Self { columns, utf8: screen::is_utf8() })
    }
}

/// Nothing without a trace.
pub fn lay_out(spike: &Spike, explanation: &Explanation, word: SampleWord, canvas: Canvas, page: &mut Page) {
    if explanation.lanes.is_empty() {
        return;
    }
    let glyphs = Glyphs::of(canvas.utf8);
    let latency_ns = explanation.latency_ns.max(1);
    let slices = Slices {
        low_ns: -latency_ns / 10,
        high_ns: latency_ns.saturating_add(latency_ns / 12),
        columns: canvas.columns.saturating_sub(LABEL).max(8),
    };
    page.blank();
    page.line(&edges(explanation, word, &slices, &glyphs));
    let spans = explanation.spans.iter().map(|span| (span.start_ns, span.end_ns, span.name));
    let phases = runs(spans, &slices);
    let drawn = phases.iter().map(|run| (None, glyphs.phase(run.what.map(|name| name.title()), run.columns())));
    page.painted(&labelled("phases", drawn));
    let mut seen: Vec<OwnerKind> = Vec::new();
    for lane in ordered(&explanation.lanes, spike.sample.cpu) {
        let segments = lane.segments.iter().map(|of| (of.start_ns, of.end_ns, (of.kind, of.name.as_str())));
        let runs = runs(segments, &slices);
        seen.extend(runs.iter().filter_map(|run| run.what.map(|(kind, _)| kind)));
        let title = format!("CPU {}{}", lane.cpu, if lane.cpu == spike.sample.cpu { "*" } else { "" });
        let drawn = runs.iter().map(|run: &Run<(OwnerKind, &str)>| match run.what {
            Some((kind, name)) => (Some(paint(kind)), glyphs.owner(kind, name, run.columns())),
            None => (None, " ".repeat(run.columns())),
        });
        page.painted(&labelled(&title, drawn));
    }
    marks(explanation, &slices, &glyphs, page);
    legend(&mut seen, &glyphs, page);
}

fn labelled(label: &str, drawn: impl Iterator<Item = (Option<Paint>, String)>) -> Vec<(Option<Paint>, String)> {
    let label = (None, format!("{label:<LABEL$}"));
    std::iter::once(label).chain(drawn).collect()
}

/// The start and `seen` above their columns.
fn edges(explanation: &Explanation, word: SampleWord, slices: &Slices, glyphs: &Glyphs) -> String {
    let down = glyphs.down;
    let seen = glyphs.plain(&format!("seen +{} {down}", latency(explanation.latency_ns)));
    let due = format!("{down} {}", word.start());
    let (at_due, at_seen) = (slices.column(0), slices.column(explanation.latency_ns.max(1)));
    // The last letter of `seen` stands above its column.
    let start = (at_seen + 1).saturating_sub(seen.chars().count()).max(at_due + due.chars().count() + 1);
    format!("{}{due}{}{seen}", " ".repeat(LABEL + at_due), " ".repeat(start - at_due - due.chars().count()))
}

/// The late CPU first, then its neighbours.
fn ordered(lanes: &[Lane], cpu: u32) -> Vec<&Lane> {
    let mut lanes: Vec<&Lane> = lanes.iter().collect();
    lanes.sort_by_key(|lane| (lane.cpu != cpu, lane.cpu));
    lanes.truncate(LANES_MAX);
    lanes
}

fn marks(explanation: &Explanation, slices: &Slices, glyphs: &Glyphs, page: &mut Page) {
    let inside = explanation.marks.iter().filter(|mark| (0..=explanation.latency_ns).contains(&mark.at_ns));
    let shown: Vec<_> = ('a'..).zip(inside.clone().take(MARKS_MAX)).collect();
    if shown.is_empty() {
        return;
    }
    let mut row = vec![' '; slices.columns];
    for (letter, mark) in &shown {
        let column = slices.column(mark.at_ns);
        // Two at one place: the later one moves on to the next free column.
        if let Some(free) = (column..slices.columns).find(|at| row[*at] == ' ') {
            row[free] = *letter;
        }
    }
    page.line(&format!("{:<LABEL$}{}", "", row.iter().collect::<String>()));
    for (letter, mark) in &shown {
        let at = glyphs.plain(&format!("+{}", latency(mark.at_ns)));
        page.wrapped(&format!("  {letter} {at:>10}  "), &mark.text);
    }
    let left = inside.count() - shown.len();
    if left > 0 {
        page.line(&format!("  and {left} more; --events has all"));
    }
}

fn legend(seen: &mut Vec<OwnerKind>, glyphs: &Glyphs, page: &mut Page) {
    seen.sort_unstable();
    seen.dedup();
    let name = |kind: OwnerKind| owner_before_name(kind).trim_end_matches(':');
    let entries: Vec<String> = seen.iter().map(|kind| format!("{0}{0} {1}", glyphs.fill(*kind), name(*kind))).collect();
    page.wrapped("  ", &glyphs.plain(&entries.join("   ")));
}

#[cfg(test)]
mod tests;
