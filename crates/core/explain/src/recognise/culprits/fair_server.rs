//! The scheduler gave ordinary tasks their share although a real-time thread was runnable.

use super::about::{About, Proof, SWITCHED, Unrecorded};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::passed_over::PassedOver;
use archive::culprit::{FairShare, ForeignText};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the scheduler switches to an ordinary task, or lets one keep running, while the real-time thread could run, on a kernel with a fair server (6.12 and later)",
    events: SWITCHED,
    shows: "a less urgent task was chosen; that the server chose it has no event",
    reading: &["Deadline Task Scheduling", "Scheduler debugfs"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[Unrecorded::Timers, Unrecorded::LostEvents],
};

/// One runtime of the fair server is like the others.
const RUNTIMES_MAX: usize = 2;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, FairShare>> {
    let found = PassedOver::find(case)?;
    let (may_be_throttling, confidence) = match found.is_throttling(case) {
        Some(true) => return None,
        Some(false) => (false, Confidence::Likely),
        // The end of the wait shows which: a new period of throttling, or the fair server's own decision. Here it can have been both.
        None if found.period_began_meanwhile(case) => (true, Confidence::Hint),
        None => (true, Confidence::Likely),
    };
    let environment = case.input.environment;
    let runtimes = environment.map_or(&[][..], |environment| &environment.fair_server_runtime);
    let facts = FairShare {
        preferred: found.preferred(case)?,
        may_be_throttling,
        spender: found.spender(case).map(|tid| case.names().task_name(tid)),
        rt_runtime_us: environment.and_then(|environment| environment.rt_runtime_us),
        server_runtimes: runtimes.iter().take(RUNTIMES_MAX).map(|line| ForeignText::from(line.as_str())).collect(),
    };
    let events = found.asked.into_iter().chain([found.decision]).collect();
    Some(Claim { events, ..Claim::new(found.pieces, confidence, facts) })
}
