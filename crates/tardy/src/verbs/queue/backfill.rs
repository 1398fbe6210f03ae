//! `tardy lab queue backfill`: what lies between the last good and the first bad kernel of a board.

use super::{KERNEL_HINT, PlanOptions, check, show};
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::user::this_user;
use crate::plans::text_of;
use clap::Args;
use runner::plan::Plan;
use std::path::PathBuf;
use store::Store;
use store::queue::backfill::Suspects;
use store::queue::plan_kernel::{KERNEL, is_kernel_name, with_kernel};
use store::queue::{JobRequest, Trigger};

#[derive(Debug, Args)]
pub struct BackfillArguments {
    /// Board to measure
    board: String,
    /// Kernels from old to new, as boards report them [default: the trigger's kernels]
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// A plan file with {kernel} where the name of a kernel stands [default: the trigger's plan]
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// One load of the board, by the key that `tardy lab store list --json` prints [default: each that is bad]
    #[arg(long, value_name = "KEY", conflicts_with = "change")]
    scenario: Option<String>,
    /// Around this change, as `tardy lab store changes` prints it, instead of between good and bad
    #[arg(long, value_name = "CHANGE")]
    change: Option<String>,
    #[command(flatten)]
    options: PlanOptions,
    #[command(flatten)]
    common: IndexArguments,
}

pub async fn backfill(arguments: &BackfillArguments) -> anyhow::Result<Exit> {
    if let Some(wrong) = arguments.kernels.iter().find(|kernel| !is_kernel_name(kernel)) {
        return Err(UsageError(format!("`{wrong}` is not a kernel name: {KERNEL_HINT}")).into());
    }
    let store = arguments.common.store.open_existing().await?;
    let triggers = store.triggers().await?;
    let trigger = triggers.into_iter().find(|trigger| trigger.can_backfill(&arguments.board));
    let (plan, text) = plan(arguments, trigger.as_ref())?;
    let kernels = match (&trigger, arguments.kernels.as_slice()) {
        (_, [_, ..]) => &arguments.kernels,
        (Some(trigger), []) => &trigger.kernels,
        (None, []) => return Err(no_trigger(arguments, "kernels").into()),
    };
    let suspects = suspects(&store, arguments, kernels).await?;
    let mut requests = Vec::new();
    for (kernel, suspects) in suspects.iter().flat_map(|of| of.kernels.iter().map(move |kernel| (kernel, of))) {
        let text = with_kernel(&text, kernel);
        check(std::path::Path::new(&plan), &text)?;
        requests.push(JobRequest {
            board: suspects.board.clone(),
            plan_name: plan.clone(),
            plan: text,
            kernel: Some(kernel.clone()),
            because: suspects.because(),
            priority: arguments.options.priority,
            attempts_max: arguments.options.attempts,
        });
    }
    let jobs = store.queue_missing(&requests, &this_user()).await?;
    match (requests.len(), jobs.len()) {
        (0, _) => complain!("tardy: none of {} kernels lies between a good and a bad run of that board", kernels.len()),
        (_, 0) => complain!("tardy: all of them wait or run already"),
        _ => {}
    }
    show(&jobs, &arguments.common)?;
    Ok(if jobs.is_empty() { Exit::LimitExceeded } else { Exit::Measured })
}

/// Name and text of the plan.
fn plan(arguments: &BackfillArguments, trigger: Option<&Trigger>) -> Result<(String, String), UsageError> {
    match (&arguments.plan, trigger) {
        (Some(path), _) => {
            let text = text_of(path)?;
            if !text.contains(KERNEL) {
                let path = path.display();
                return Err(UsageError(format!("{path} has no {KERNEL}; write it where the name of a kernel stands")));
            }
            Ok((Plan::name_of(path), text))
        }
        (None, Some(trigger)) => Ok((trigger.plan_name.clone(), trigger.plan.clone())),
        (None, None) => Err(no_trigger(arguments, "--plan")),
    }
}

fn no_trigger(arguments: &BackfillArguments, missing: &str) -> UsageError {
    let (board, index) = (&arguments.board, arguments.common.store.words());
    UsageError(format!(
        "no trigger has a plan with {KERNEL} for {board}; give {missing}, or set one up: \
         `tardy lab queue trigger add NAME PLAN --board {board}{index}`"
    ))
}

/// The kernels to measure: around a change, or of each load that is bad.
async fn suspects(store: &Store, arguments: &BackfillArguments, kernels: &[String]) -> anyhow::Result<Vec<Suspects>> {
    if let Some(change) = &arguments.change {
        let found = store.suspects_of_change(change, kernels).await?;
        let index = arguments.common.store.words();
        let text = || UsageError(format!("no change {change}; `tardy lab store changes{index}` lists them"));
        return Ok(vec![found.ok_or_else(text)?]);
    }
    let scenarios = match &arguments.scenario {
        Some(key) => vec![key.clone()],
        None => store.scenarios(&arguments.board).await?.into_iter().map(|of| of.scenario).collect(),
    };
    let mut all = Vec::new();
    for scenario in scenarios {
        all.extend(store.suspects(&scenario, kernels).await?.filter(|suspects| suspects.board == arguments.board));
    }
    Ok(all)
}
