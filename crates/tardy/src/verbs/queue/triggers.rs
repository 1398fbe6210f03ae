//! `tardy lab queue trigger`: plans that are queued by themselves.

use super::{KERNEL_HINT, PlanOptions, QUEUE_VERSION, check};
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::IndexArguments;
use crate::lab::user::this_user;
use crate::options::quantity::time_ns;
use crate::plans::text_of;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use clap::{Args, Subcommand};
use runner::plan::Plan;
use rustix::rand::{GetRandomFlags, getrandom};
use std::path::PathBuf;
use store::queue::plan_kernel::{KERNEL, is_kernel_name, with_kernel};
use store::queue::{Trigger, TriggerRequest};
use words::calendar::utc;
use words::figures::set_duration;

const DAY_NS: i64 = 86_400_000_000_000;
const MINUTE_NS: u64 = 60_000_000_000;
const SECRET_BYTES: usize = 32;
const NAME_BYTES_MAX: usize = 64;

#[derive(Debug, Args)]
pub struct TriggerArguments {
    #[command(subcommand)]
    verb: TriggerVerb,
}

#[derive(Debug, Subcommand)]
enum TriggerVerb {
    /// Set up a trigger
    Add(AddArguments),
    /// List triggers
    List(IndexArguments),
    /// Remove a trigger; its jobs stay
    Remove(RemoveArguments),
}

#[derive(Debug, Args)]
struct AddArguments {
    /// Name of the trigger
    name: String,
    /// A plan file; {kernel} in it stands for the kernel that a job is for
    plan: PathBuf,
    /// Board to run it on; may be repeated
    #[arg(long = "board", value_name = "BOARD", required = true)]
    boards: Vec<String>,
    /// Queue it at this interval
    #[arg(long, value_name = "TIME", value_parser = time_ns)]
    every: Option<u64>,
    /// Time of day of the first one, UTC [default: now]
    #[arg(long, value_name = "HH:MM", requires = "every", value_parser = time_of_day)]
    at: Option<i64>,
    /// Queue it on a signed message to /api/v1/hooks/NAME; prints the secret
    #[arg(long)]
    webhook: bool,
    /// Take only pushes to this branch
    #[arg(long, value_name = "BRANCH", requires = "webhook")]
    branch: Option<String>,
    /// A kernel that `tardy lab queue backfill` may measure, from old to new; may be repeated
    #[arg(long = "kernel", value_name = "KERNEL")]
    kernels: Vec<String>,
    #[command(flatten)]
    options: PlanOptions,
    #[command(flatten)]
    common: IndexArguments,
}

#[derive(Debug, Args)]
struct RemoveArguments {
    /// Name of the trigger
    name: String,
    #[command(flatten)]
    common: IndexArguments,
}

/// Time of day in ns.
fn time_of_day(text: &str) -> Result<i64, String> {
    let number = |text: &str, end: i64| text.parse().ok().filter(|value| (0..end).contains(value));
    let parts = text.split_once(':').and_then(|(hour, minute)| Some((number(hour, 24)?, number(minute, 60)?)));
    let (hour, minute): (i64, i64) = parts.ok_or("write a time of day like 02:30")?;
    Ok((hour * 60 + minute) * MINUTE_NS as i64)
}

pub async fn run(arguments: &TriggerArguments) -> anyhow::Result<Exit> {
    match &arguments.verb {
        TriggerVerb::Add(arguments) => add(arguments).await,
        TriggerVerb::List(arguments) => list(arguments).await,
        TriggerVerb::Remove(arguments) => remove(arguments).await,
    }
}

async fn add(arguments: &AddArguments) -> anyhow::Result<Exit> {
    let text = text_of(&arguments.plan)?;
    let needs_kernel = text.contains(KERNEL);
    refuse_mistakes(arguments, needs_kernel)?;
    check(&arguments.plan, &with_kernel(&text, arguments.kernels.first().map_or("6.1.0", String::as_str)))?;
    let store = arguments.common.store.open().await?;
    let now = store.now_unix_ns().await?;
    let secret = arguments.webhook.then(secret).transpose()?;
    let request = TriggerRequest {
        name: arguments.name.clone(),
        boards: arguments.boards.clone(),
        plan_name: Plan::name_of(&arguments.plan),
        plan: text,
        kernels: arguments.kernels.clone(),
        priority: arguments.options.priority,
        attempts_max: arguments.options.attempts,
        every_ns: arguments.every.map(|every| i64::try_from(every).unwrap_or(i64::MAX)),
        next_unix_ns: arguments.every.map(|_| first(now, arguments.at)),
        secret: secret.clone(),
        branch: arguments.branch.clone(),
    };
    if !store.add_trigger(&request, &this_user()).await? {
        let (name, index) = (&arguments.name, arguments.common.store.words());
        let text = format!("there is a trigger {name}; `tardy lab queue trigger remove {name}{index}` removes it");
        return Err(UsageError(text).into());
    }
    let trigger = store.trigger(&arguments.name).await?.map(|(trigger, _)| trigger);
    if arguments.common.json {
        let trigger = serde_json::to_value(trigger)?;
        json::print(&serde_json::json!({ "queue_version": QUEUE_VERSION, "trigger": trigger, "secret": secret }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    trigger.iter().for_each(|trigger| page.line(&format!("{}: {}", trigger.name, when(trigger))));
    if let Some(secret) = &secret {
        page.line(&format!("secret of /api/v1/hooks/{}: {secret}", arguments.name));
        page.line("It is printed once; give it to the sender.");
    }
    page.print()?;
    Ok(Exit::Measured)
}

fn refuse_mistakes(arguments: &AddArguments, needs_kernel: bool) -> Result<(), UsageError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let name = &arguments.name;
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(plain) {
        let text = format!(
            "`{name}` cannot name a trigger; use up to {NAME_BYTES_MAX} letters, digits, dots, dashes and underscores"
        );
        return Err(UsageError(text));
    }
    if let Some(wrong) = arguments.kernels.iter().find(|kernel| !is_kernel_name(kernel)) {
        return Err(UsageError(format!("`{wrong}` is not a kernel name: {KERNEL_HINT}")));
    }
    if arguments.every.is_some_and(|every| every < MINUTE_NS) {
        return Err(UsageError("--every is at least 1min".into()));
    }
    if needs_kernel && arguments.every.is_some() {
        let text =
            format!("a schedule names no kernel, and the plan contains {KERNEL}; use --webhook, or another plan");
        return Err(UsageError(text));
    }
    if arguments.every.is_none() && !arguments.webhook && !needs_kernel {
        let text =
            format!("nothing would queue it; give --every or --webhook, or write {KERNEL} into the plan for backfill");
        return Err(UsageError(text));
    }
    Ok(())
}

/// The first instant at this time of day that is not over; now without one.
fn first(now_unix_ns: i64, time_of_day_ns: Option<i64>) -> i64 {
    let Some(time) = time_of_day_ns else { return now_unix_ns };
    let today = now_unix_ns.div_euclid(DAY_NS) * DAY_NS + time;
    if today < now_unix_ns { today + DAY_NS } else { today }
}

fn secret() -> anyhow::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    anyhow::ensure!(filled == SECRET_BYTES, "failed to draw a secret: the kernel gave {filled} bytes; try again");
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn list(arguments: &IndexArguments) -> anyhow::Result<Exit> {
    let triggers = arguments.store.open_existing().await?.triggers().await?;
    if arguments.json {
        json::print(&serde_json::json!({ "queue_version": QUEUE_VERSION, "triggers": triggers }))?;
        return Ok(Exit::Measured);
    }
    let mut table = Table::new(&[Align::Left; 5]);
    table.row(["trigger", "plan", "boards", "kernels", "when"]);
    for of in &triggers {
        let kernels = of.kernels.len().to_string();
        table.row([of.name.clone(), of.plan_name.clone(), of.boards.join(", "), kernels, when(of)]);
    }
    let mut page = Page::for_stdout();
    match triggers.as_slice() {
        [] => {
            let index = arguments.store.words();
            page.line(&format!(
                "no trigger; `tardy lab queue trigger add NAME PLAN --board BOARD --every 24h{index}` sets one up"
            ));
        }
        _ => page.records(&table),
    }
    page.print()?;
    Ok(Exit::Measured)
}

async fn remove(arguments: &RemoveArguments) -> anyhow::Result<Exit> {
    let store = arguments.common.store.open_existing().await?;
    if !store.remove_trigger(&arguments.name, &this_user()).await? {
        let index = arguments.common.store.words();
        let text = format!("no trigger {}; `tardy lab queue trigger list{index}` lists them", arguments.name);
        return Err(UsageError(text).into());
    }
    if arguments.common.json {
        json::print(&serde_json::json!({ "queue_version": QUEUE_VERSION, "removed": arguments.name }))?;
    } else {
        let mut page = Page::for_stdout();
        page.line(&format!("removed {}", arguments.name));
        page.print()?;
    }
    Ok(Exit::Measured)
}

fn when(trigger: &Trigger) -> String {
    let schedule = trigger.every_ns.zip(trigger.next_unix_ns);
    let schedule = schedule.map(|(every, next)| format!("every {}, next {}", set_duration(every), utc(next)));
    let webhook = trigger.webhook.then(|| match &trigger.branch {
        Some(branch) => format!("webhook for pushes to {branch}"),
        None => "webhook".to_owned(),
    });
    let all: Vec<String> = schedule.into_iter().chain(webhook).collect();
    if all.is_empty() { "backfill alone".into() } else { all.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_starts_at_the_next_such_time_of_day() {
        let half_past_two = time_of_day("02:30").unwrap();
        assert_eq!(first(DAY_NS, Some(half_past_two)), DAY_NS + half_past_two);
        assert_eq!(first(DAY_NS + half_past_two + 1, Some(half_past_two)), 2 * DAY_NS + half_past_two);
        assert_eq!(first(7, None), 7);
        for wrong in ["24:00", "2", "-1:00", "02:60", "02:3x"] {
            assert!(time_of_day(wrong).is_err(), "{wrong}");
        }
    }
}
