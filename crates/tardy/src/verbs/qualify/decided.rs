//! Judges a run while it is measured, so that it ends once it shows that the limit is broken.

use crate::options::limits::ClaimArguments;
use account::{Account, ExplanationSource};
use claims::limit::{Limit, Requirement};
use judge::machine::DoubtKind;
use judge::verdict::Verdict;
use runner::event::Event;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first judgement. Each later one waits twice as long as the one before: reading a long run takes longer.
const FIRST: Duration = Duration::from_secs(10);

pub struct Decided {
    archive: PathBuf,
    limit: Limit,
    confidence: f64,
    accepted: Vec<DoubtKind>,
    began: Instant,
    next: Duration,
}

impl Decided {
    pub fn of(archive: &Path, limit: &Limit, claim: &ClaimArguments) -> Self {
        Self {
            archive: archive.to_owned(),
            limit: limit.clone(),
            confidence: claim.confidence(),
            accepted: claim.accepted(),
            began: Instant::now(),
            next: FIRST,
        }
    }

    /// Whether the run so far shows that the limit is broken.
    pub fn shows_no(&mut self, event: &Event) -> bool {
        if !self.is_exceeded_in(event) || self.began.elapsed() < self.next {
            return false;
        }
        self.next *= 2;
        // A run that cannot be read yet decides nothing.
        let Ok(account) = Account::open(&self.archive, ExplanationSource::Stored) else { return false };
        let judgements = account.judge(std::slice::from_ref(&self.limit), self.confidence, &self.accepted);
        judgements.iter().any(|judgement| judgement.verdict == Verdict::Fail)
    }

    fn is_exceeded_in(&self, event: &Event) -> bool {
        let Requirement::Latency { latest_ns } = self.limit.requirement else { return false };
        match event {
            Event::Progress { threads, .. } => threads.iter().any(|thread| thread.latency_ns_max > latest_ns),
            _ => false,
        }
    }
}
