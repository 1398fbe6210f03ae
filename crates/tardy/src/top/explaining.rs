//! The thread that explains the worst wake-up of each thread, one after the other.

use super::threads::Explained;
use crate::guarding::known::KnownRun;
use crate::measuring::NICE_OF_EXPLAINING;
use crate::terminal::explained;
use crate::terminal::page::Page;
use account::{Account, ExplanationSource};
use archive::reader::Run;
use archive::spike::Spike;
use report::account::culprit;
use rustix::process::setpriority_process;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Columns of an account: as many as a small terminal has.
const COLUMNS: usize = 80;
/// A user who waits for the last explanation can end it in this time.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Lines of an account that are kept.
const LINES_MAX: usize = 2000;

/// The running thread; it ends when this is dropped.
pub struct Explaining {
    /// By thread: a worse spike takes the place of one that waits.
    waiting: BTreeMap<i32, Spike>,
    /// Whether it explains one now.
    works: bool,
    work: SyncSender<Run>,
    done: Receiver<Option<Explained>>,
    pub tid: i32,
}

impl Explaining {
    /// # Errors
    /// If the system cannot create another thread.
    pub fn start() -> std::io::Result<Self> {
        let ((work, to_do), (found, done)) = (sync_channel::<Run>(1), sync_channel(1));
        let (ready, tid) = sync_channel(1);
        thread::Builder::new().name("tardy:explain".into()).spawn(move || {
            let _ = setpriority_process(None, NICE_OF_EXPLAINING);
            let _ = ready.send(rustix::thread::gettid().as_raw_nonzero().get());
            for run in to_do {
                if found.send(explained(run)).is_err() {
                    return;
                }
            }
        })?;
        let tid = tid.recv().unwrap_or_default();
        Ok(Self { waiting: BTreeMap::new(), works: false, work, done, tid })
    }

    /// Has a spike explained, in place of a smaller one of its thread.
    pub fn add(&mut self, spike: Spike) {
        self.waiting.insert(spike.tid, spike);
    }

    /// An explanation that is done; hands over the next spike.
    pub fn look(&mut self, known: &KnownRun) -> Option<Explained> {
        let mut done = None;
        if self.works
            && let Ok(one) = self.done.try_recv()
        {
            self.works = false;
            done = one;
        }
        self.hand_over(known);
        done
    }

    /// Waits for the next explanation; `None` after the last one, and once `is_over` says so.
    pub fn next(&mut self, known: &KnownRun, is_over: impl Fn() -> bool) -> Option<Explained> {
        while !is_over() {
            self.hand_over(known);
            if !self.works {
                return None;
            }
            match self.done.recv_timeout(LOOK_EVERY) {
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return None,
                Ok(one) => {
                    self.works = false;
                    if one.is_some() {
                        return one;
                    }
                }
            }
        }
        None
    }

    fn hand_over(&mut self, known: &KnownRun) {
        if self.works {
            return;
        }
        let worst = self.waiting.values().max_by_key(|spike| spike.sample.latency_ns).map(|spike| spike.tid);
        if let Some(spike) = worst.and_then(|tid| self.waiting.remove(&tid)) {
            self.works = self.work.try_send(known.with(spike)).is_ok();
        }
    }
}

/// The explanation of the one spike of a run.
fn explained(run: Run) -> Option<Explained> {
    let spike = run.spikes.first().cloned()?;
    let account = Account::of(run, ExplanationSource::Traces);
    let cause = culprit(account.explanation_of(spike.number));
    let mut page = Page::new(false).with_columns(COLUMNS);
    explained::account::lay_out(&spike, &account, None, &mut page);
    let account = page.text().lines().take(LINES_MAX).map(str::to_owned).collect();
    Some(Explained { tid: spike.tid, spike: spike.number, cause, account })
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sample::Sample;
    use archive::settings::RunSettings;
    use archive::spike::SpikeReason;
    use std::path::Path;

    fn spike(number: u32, tid: i32, latency_ns: i64) -> Spike {
        let sample = Sample { cpu: 0, cycle: 1, due_ns: 1, latency_ns };
        Spike::new(number, 0, tid, sample, SpikeReason::NewMaximum)
    }

    #[test]
    fn the_worst_comes_first_and_one_of_each_thread() {
        let known = KnownRun::of(Path::new("absent"), RunSettings::default());
        let mut explaining = Explaining::start().unwrap();
        explaining.add(spike(1, 7, 500));
        explaining.add(spike(2, 8, 900));
        explaining.add(spike(3, 7, 600));
        let mut numbers = Vec::new();
        while let Some(explained) = explaining.next(&known, || false) {
            assert!(explained.account.iter().any(|line| line.contains(&format!("Spike {}", explained.spike))));
            assert!(explained.cause.contains("no trace"), "{}", explained.cause);
            numbers.push(explained.spike);
        }
        assert_eq!(numbers, [2, 3]);
    }
}
