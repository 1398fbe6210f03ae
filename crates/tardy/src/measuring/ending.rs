//! What every verb that makes one run does with it at last: explain, store the explanations beside it, sum up.

use super::arguments::Showing;
use crate::archives::explaining::explain_run;
use crate::exit::Exit;
use crate::measuring::signals::Signals;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::progress::Progress;
use crate::terminal::summary::summary_page;
use archive::manifest::RunState;
use archive::message::Ending;
use archive::reader::Run;
use archive::summary::RunSummary;
use report::account::problems;
use runner::run::{RunError, RunOutcome};
use words::printable::printable;

/// Explains and shows what a run left, and says how the command ends.
///
/// # Errors
/// When there is no archive, or nothing can be printed.
pub fn conclude(
    outcome: Result<RunOutcome, RunError>,
    signals: &Signals,
    progress: &mut Progress,
    showing: Showing,
) -> anyhow::Result<Exit> {
    signals.measuring_is_over();
    let outcome = outcome.inspect_err(|_| progress.clear())?;
    let run = Run::open(&outcome.directory)?;
    let explanations = explain_run(&run, &mut |done, total| progress.explaining(done, total));
    progress.clear();
    if let Err(error) = run.save_explanations(&explanations) {
        complain!("tardy: {}", printable(&error.to_string()));
    }
    let summary = RunSummary::of(&run, &explanations);
    // A run that was stopped and is sound has nothing broken about it; the summary says that it is short.
    let broken = outcome.problem.as_ref().filter(|_| outcome.state != RunState::Interrupted || !summary.valid);
    show(showing, &summary, broken.is_some())?;
    // A meter that cannot measure says why by a problem, which was shown as it came.
    let shown = matches!(run.ending, Some((Ending::Failed, _))) && progress.showed_invalid();
    if let Some(broken) = broken.filter(|_| !shown) {
        complain!("tardy: {}", printable(&broken.text));
    }
    Ok(exit_of(&summary))
}

/// Prints the result; what went wrong goes to standard error where no summary says it. `failure_shown`: how the
/// run failed is shown elsewhere.
fn show(showing: Showing, summary: &RunSummary, failure_shown: bool) -> anyhow::Result<()> {
    let mut complaints = Vec::new();
    if showing.json {
        json::print(summary)?;
        complaints = problems(summary);
    } else if showing.quiet {
        let mut page = Page::for_stdout();
        page.line(&summary.archive);
        page.print()?;
        complaints = problems(summary);
    } else {
        summary_page(summary, failure_shown, Page::for_stdout()).print()?;
    }
    for complaint in complaints {
        complain!("tardy: {}", printable(&complaint));
    }
    Ok(())
}

/// The code a run ends the command with.
pub fn exit_of(summary: &RunSummary) -> Exit {
    if !summary.valid {
        Exit::NotMeasured
    } else if summary.cpus.iter().any(|cpu| cpu.over_limit > 0) {
        Exit::LimitExceeded
    } else {
        Exit::Measured
    }
}
