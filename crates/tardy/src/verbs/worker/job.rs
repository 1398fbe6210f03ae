//! One job: measures in a process of its own, renews the lease meanwhile, and adds the archives to the index.

use crate::archives::all_below;
use crate::lab::child::Measurement;
use crate::measuring::signals::Signals;
use crate::plans::round::is_round;
use archive::atomic_file::write_atomically;
use archive::directory::make_directories;
use machines::stop::StopRequests;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::queue::{Claim, Ended, job_directory};
use store::{Store, StoreError};
use words::printable::printable;

const POLL: Duration = Duration::from_millis(100);
/// Interval between attempts to reach a database that is away.
const AGAIN: Duration = Duration::from_secs(1);
/// Renewals of a lease in its time.
const RENEWALS: u32 = 3;

/// How long a worker that was asked to end waits for the index.
const FAREWELL: Duration = Duration::from_secs(5);
pub const NO_ANSWER: &str = "the index does not answer; a job that this worker has is queued again when its lease ends";

/// The means of a worker.
pub struct Working {
    pub store: Store,
    pub targets: BTreeMap<String, String>,
    pub name: String,
    pub lease: Duration,
    pub signals: Signals,
}

/// Why a measurement has no result of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The lease ran out, and another worker may run the job.
    Lost,
    /// The user ended the worker.
    Stopped,
}

impl Working {
    pub fn stopped(&self) -> bool {
        self.signals.requests().count() > 0
    }

    /// Waits, but not after a signal.
    pub async fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.stopped() && Instant::now() < end {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Answer of the index; `None` if it does not answer soon after a signal.
    pub async fn unless_stopped<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        unless_stopped(self.signals.requests(), FAREWELL, answer).await
    }

    /// Renews the lease. `None`: the database did not answer.
    async fn renew(&self, claim: &mut Claim) -> Option<bool> {
        let boards: Vec<String> = self.targets.keys().cloned().collect();
        let renewed = async {
            let now = self.store.now_unix_ns().await?;
            self.store.heartbeat(&self.name, &boards, env!("CARGO_PKG_VERSION"), now).await?;
            self.store.renew(claim, self.lease, now).await
        };
        // An answer after the next renewal is due is of no use.
        let renewed = tokio::time::timeout(self.lease / RENEWALS, renewed);
        self.unless_stopped(renewed).await?.ok()?.ok()
    }
}

async fn unless_stopped<T>(stop: &StopRequests, farewell: Duration, answer: impl Future<Output = T>) -> Option<T> {
    let given_up = async {
        while stop.count() == 0 {
            tokio::time::sleep(POLL).await;
        }
        tokio::time::sleep(farewell).await;
    };
    tokio::select! { answer = answer => Some(answer), () = given_up => None }
}

/// Runs a job and ends it, unless its lease is lost.
pub async fn run_job(working: &Working, mut claim: Claim) {
    let title = printable(&format!("job {}: {} on {}", claim.job.job, claim.job.plan_name, claim.job.board));
    complain!("tardy: {title}");
    let directory = job_directory(working.store.archives(), &claim.job.job);
    let measured = measure(working, &mut claim, &directory).await;
    let start = Instant::now();
    // While the database is away it tries again, until the lease is lost: then the next worker ends the job.
    loop {
        let ending = async {
            let ended = match &measured {
                Ok(Ok(code)) => ended(working, &directory, *code).await,
                Ok(Err(Cut::Lost)) => return Ok(None),
                Ok(Err(Cut::Stopped)) => Ok(Ended::Failed { message: "the worker was stopped".into() }),
                Err(error) => Ok(Ended::Failed { message: error.to_string() }),
            };
            end(working, &claim, ended).await
        };
        let Some(ended) = working.unless_stopped(ending).await else {
            return complain!("tardy: {title}: {NO_ANSWER}");
        };
        match ended {
            Ok(Some(message)) => return complain!("tardy: {title}: {}", printable(&message)),
            Ok(None) => return complain!("tardy: {title}: its lease ran out"),
            Err(error) if start.elapsed() < working.lease => {
                complain!("tardy: {}", printable(&error.to_string()));
                tokio::time::sleep(AGAIN).await;
                working.renew(&mut claim).await;
            }
            Err(error) => return complain!("tardy: {title}: {}", printable(&error.to_string())),
        }
    }
}

/// Ends the job; how, or `None` if its lease was lost.
async fn end(working: &Working, claim: &Claim, ended: Result<Ended, StoreError>) -> Result<Option<String>, StoreError> {
    let ended = ended?;
    let there = working.store.end(claim, &ended, working.store.now_unix_ns().await?).await?;
    let (Ended::Done { message, .. } | Ended::Failed { message }) = ended;
    Ok(there.then_some(message))
}

/// Measures until the plan has ended; the exit code of `tardy run`.
async fn measure(working: &Working, claim: &mut Claim, directory: &Path) -> anyhow::Result<Result<Option<i32>, Cut>> {
    let mut measurement = Measurement::start(&words(working, claim, directory)?)?;
    let every = working.lease / RENEWALS;
    let (mut renewed, mut asked) = (Instant::now(), Instant::now());
    loop {
        if let Some(status) = measurement.ended()? {
            return Ok(Ok(status.code()));
        }
        if working.stopped() {
            // It stores what it has; dropping it waits.
            return Ok(Err(Cut::Stopped));
        }
        if asked.elapsed() >= every {
            asked = Instant::now();
            match working.renew(claim).await {
                Some(true) => renewed = asked,
                Some(false) => return Ok(Err(Cut::Lost)),
                None => {}
            }
        }
        if renewed.elapsed() >= working.lease {
            return Ok(Err(Cut::Lost));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The words of `tardy run`: a new round of the plan, or the rest of one that an earlier attempt left.
fn words(working: &Working, claim: &Claim, directory: &Path) -> anyhow::Result<Vec<String>> {
    let text = |path: &Path| path.display().to_string();
    if is_round(directory) {
        return Ok(["run".into(), "--quiet".into(), "--resume".into(), text(directory)].into());
    }
    let plans = directory.with_extension("plan");
    make_directories(&plans)?;
    // The plan's name is the file's; `label` made it printable, but not a file name.
    let plain = claim.job.plan_name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    let name = if plain && !claim.job.plan_name.is_empty() { claim.job.plan_name.as_str() } else { "plan" };
    let plan: PathBuf = plans.join(format!("{name}.toml"));
    write_atomically(&plan, claim.job.plan.as_bytes())?;
    let target = working.targets.get(&claim.job.board).unwrap_or(&claim.job.board);
    let options = ["--quiet", "--target", target, "--out"].map(str::to_owned);
    Ok([vec!["run".into(), text(&plan)], options.into(), vec![text(directory)]].concat())
}

/// Adds the archives of a round that has ended.
async fn ended(working: &Working, directory: &Path, code: Option<i32>) -> Result<Ended, StoreError> {
    let mut runs = Vec::new();
    for archive in all_below(directory) {
        match working.store.ingest(&archive).await {
            Ok(ingested) => runs.push(ingested.digest),
            Err(error @ (StoreError::Database(_) | StoreError::DiskFull { .. })) => return Err(error),
            Err(error) => complain!("tardy: {}", printable(&error.to_string())),
        }
    }
    let message = match code {
        Some(0) => "measured",
        Some(1) => "a limit is broken",
        Some(4) => "not enough data",
        Some(2) => "`tardy run` refused the plan",
        Some(_) => "it could not be measured",
        None => "`tardy run` was killed",
    };
    let message = message.to_owned();
    Ok(if matches!(code, Some(0 | 1 | 4)) { Ended::Done { runs, message } } else { Ended::Failed { message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered<T>(stop: &StopRequests, answer: impl Future<Output = T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(unless_stopped(stop, Duration::from_millis(10), answer))
    }

    #[test]
    fn a_worker_that_is_asked_to_end_does_not_wait_for_an_index_that_does_not_answer() {
        let stop = StopRequests::default();
        assert_eq!(answered(&stop, std::future::ready(7)), Some(7));
        stop.request();
        assert_eq!(answered(&stop, std::future::ready(7)), Some(7), "one that answers has the last word");
        assert_eq!(answered(&stop, std::future::pending::<i32>()), None);
    }
}
