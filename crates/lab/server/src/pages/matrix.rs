//! Every board in one line: a cell for each load, or for each kernel line.

use super::conditions::load;
use super::links::board_address;
use maud::{Markup, html};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use store::Standing;
use store::queries::fleet::{Fleet, board_standing};
use store::queries::kernels::OnKernel;
use store::queries::silence::SilentBoard;
use words::calendar::date;
use words::culprits::named;
use words::figures::{counted, latency};

/// Columns of a screen; the page of a board has the rest.
const COLUMNS_MAX: usize = 10;

/// The quantity of the columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    #[default]
    Load,
    Kernel,
}

/// Data of the lines and cells.
pub struct Boards<'a> {
    pub fleet: &'a Fleet,
    pub silent: &'a [SilentBoard],
    /// Empty unless boards are shown beside kernels.
    pub kernels: &'a [OnKernel],
    pub by: By,
    pub days: u32,
}

/// A board under a load or on a kernel line: the worst of what it stands for. Its state and its figure are of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Cell {
    standing: Standing,
    latency_max_ns: Option<i64>,
    worst_cause: Option<String>,
    scenario: String,
    kernel: String,
    started_unix_ns: i64,
}

/// A line of cells.
struct Line<'a> {
    board: &'a str,
    standing: Standing,
    silent: bool,
    cells: BTreeMap<&'a str, Cell>,
}

/// The page with these choices.
pub fn address(days: u32, by: By) -> String {
    let by = if by == By::Kernel { "&by=kernel" } else { "" };
    format!("/?days={days}{by}")
}

pub fn section(view: &Boards<'_>) -> Markup {
    let columns = match view.by {
        By::Load => loads(view.fleet),
        By::Kernel => kernel_lines(view.kernels),
    };
    let shown = &columns[..columns.len().min(COLUMNS_MAX)];
    html! {
        section.boards aria-labelledby="boards-title" {
            h2 #boards-title { "Boards" }
            nav.choices aria-label="Columns" {
                ul { @for (by, name) in [(By::Load, "by load"), (By::Kernel, "by kernel")] {
                    li { a href={ (address(view.days, by)) "#boards-title" } aria-current=[(by == view.by).then_some("true")] { (name) } }
                } }
            }
            div.scroll {
                table.matrix {
                    caption.unseen { "Boards, bad ones first, with the state and the largest latency of the newest run that shows it, for each " @if view.by == By::Load { "load" } @else { "kernel line" } }
                    thead { tr { th scope="col" { "Board" } @for column in shown { th scope="col" { bdi { (load(column)) } } } } }
                    tbody { @for line in lines(view) { (row(&line, shown)) } }
                }
            }
            @if columns.len() > shown.len() {
                p.note { (counted((columns.len() - shown.len()) as u64, "more column")) ": " a href="/fleet" { "Fleet" } " has every load, the page of a board every kernel." }
            }
        }
    }
}

fn row(line: &Line<'_>, columns: &[&str]) -> Markup {
    html! {
        tr data-board=(line.board) data-state=(line.standing.word()) {
            th scope="row" {
                a href=(board_address(line.board)) { bdi { (line.board) } }
                @if line.silent { span.state data-state="silent" { "silent" } }
            }
            @for column in columns { @match line.cells.get(column) { Some(of) => (cell(of, line.board)), None => td {} } }
        }
    }
}

/// The state is in the mark before the figure, too: not in the colour alone.
fn cell(of: &Cell, board: &str) -> Markup {
    let cause = of.worst_cause.as_deref().filter(|_| of.standing == Standing::Bad);
    let run = format!("run of {} on {}", date(of.started_unix_ns), of.kernel);
    let title = cause.map_or_else(|| run.clone(), |cause| format!("{}; {run}", named(cause)));
    html! {
        td {
            a.state data-state=(of.standing.word()) href={ (board_address(board)) "?scenario=" (of.scenario) } title=(title) {
                span.unseen { (of.standing.word()) ", " }
                @match of.latency_max_ns { Some(ns) => (latency(ns)), None => "no figure" }
                @if let Some(cause) = cause { " " bdi { (cause) } }
            }
        }
    }
}

fn lines<'a>(view: &'a Boards<'_>) -> Vec<Line<'a>> {
    let silent: BTreeSet<&str> = view.silent.iter().map(|one| one.board.as_str()).collect();
    let mut cells = match view.by {
        By::Load => by_load(view.fleet),
        By::Kernel => by_kernel(view.kernels),
    };
    let line = |rows: &'a [store::queries::fleet::FleetRow]| {
        let board = rows.first().map_or("", |row| row.newest.board.as_str());
        let cells = cells.remove(board).unwrap_or_default();
        Line { board, standing: board_standing(rows), silent: silent.contains(board), cells }
    };
    let mut lines: Vec<Line<'a>> = view.fleet.boards().map(line).collect();
    lines.sort_by_key(|line| Reverse(line.standing == Standing::Bad));
    lines
}

/// Cells by board and column.
type Cells<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Cell>>;

fn by_load(fleet: &Fleet) -> Cells<'_> {
    let mut cells = Cells::new();
    for row in &fleet.rows {
        let run = row.shown();
        let of = Cell {
            standing: row.standing,
            latency_max_ns: run.latency_max_ns,
            worst_cause: run.worst_cause,
            scenario: row.scenario.clone(),
            kernel: run.kernel,
            started_unix_ns: run.started_unix_ns,
        };
        cells.entry(&row.newest.board).or_default().entry(&row.newest.load).or_default().add(of);
    }
    cells
}

/// The newest kernel of each line that shows a state decides, as the newest such run of a load does.
fn by_kernel(kernels: &[OnKernel]) -> Cells<'_> {
    let mut newest: BTreeMap<(&str, &str), &OnKernel> = BTreeMap::new();
    kernels.iter().for_each(|of| {
        let decided = newest.entry((&of.scenario, &of.kernel_line)).or_insert(of);
        if of.standing != Standing::Undecided || decided.standing == Standing::Undecided {
            *decided = of;
        }
    });
    let mut cells = Cells::new();
    for of in newest.into_values() {
        let cell = Cell {
            standing: of.standing,
            latency_max_ns: of.latency_max_ns,
            worst_cause: of.worst_cause.clone(),
            scenario: of.scenario.clone(),
            kernel: of.kernel.clone(),
            started_unix_ns: of.started_unix_ns,
        };
        cells.entry(&of.board).or_default().entry(&of.kernel_line).or_default().add(cell);
    }
    cells
}

impl Cell {
    /// Shows the worse of both, and of two alike the later one. Its cause is that of its latency.
    fn add(&mut self, other: Self) {
        let badness = |cell: &Self| (cell.standing, cell.latency_max_ns);
        if self.scenario.is_empty() || badness(&other) > badness(self) {
            *self = other;
        }
    }
}

/// Loads; first the ones that most boards have.
fn loads(fleet: &Fleet) -> Vec<&str> {
    let mut boards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &fleet.rows {
        boards.entry(&row.newest.load).or_default().insert(&row.newest.board);
    }
    let mut loads: Vec<(&str, usize)> = boards.into_iter().map(|(load, boards)| (load, boards.len())).collect();
    loads.sort_by_key(|(_, boards)| Reverse(*boards));
    loads.into_iter().map(|(load, _)| load).collect()
}

/// Kernel lines, the one that was measured last first.
fn kernel_lines(kernels: &[OnKernel]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    kernels.iter().rev().map(|of| of.kernel_line.as_str()).filter(|line| seen.insert(*line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_the_worst_load_with_its_own_latency() {
        let cell = |standing, ns: i64, scenario: &str| Cell {
            standing,
            latency_max_ns: Some(ns),
            scenario: scenario.into(),
            ..Cell::default()
        };
        let mut shown = Cell::default();
        shown.add(cell(Standing::Good, 90, "a"));
        shown.add(cell(Standing::Bad, 70, "b"));
        shown.add(cell(Standing::Undecided, 10, "c"));
        assert_eq!((shown.standing, shown.latency_max_ns, shown.scenario.as_str()), (Standing::Bad, Some(70), "b"));
    }

    #[test]
    fn the_newest_kernel_of_a_line_decides() {
        let on = |kernel: &str, standing| OnKernel {
            board: "pi".into(),
            load: "none".into(),
            scenario: "s".into(),
            kernel: kernel.into(),
            kernel_line: "6.12".into(),
            standing,
            latency_max_ns: Some(1),
            worst_cause: None,
            started_unix_ns: 0,
        };
        let kernels = [on("6.12.1", Standing::Bad), on("6.12.2", Standing::Good)];
        assert_eq!(by_kernel(&kernels)["pi"]["6.12"].standing, Standing::Good);
        let kernels = [on("6.12.1", Standing::Bad), on("6.12.2", Standing::Undecided)];
        let shown = &by_kernel(&kernels)["pi"]["6.12"];
        assert_eq!(
            (shown.standing, shown.kernel.as_str()),
            (Standing::Bad, "6.12.1"),
            "an undecided run decides nothing"
        );
    }
}
