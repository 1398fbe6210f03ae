//! The scheduler gave ordinary tasks their share although a real-time thread was runnable.

use super::about::{About, Proof, SWITCHED};
use super::passed_over::PassedOver;
use crate::recognise::case::Case;
use crate::recognise::stated::Claim;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the scheduler switches to an ordinary task, or lets one go on, while the real-time thread could run, on a kernel with a fair server (6.12 and later)",
    events: SWITCHED,
    shows: "a less urgent task was chosen; that the server chose it has no event",
    at_most: Confidence::Likely,
    reading: &["Deadline Task Scheduling", "Scheduler debugfs"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let found = PassedOver::find(case)?;
    let (mechanism, confidence) = match found.is_throttling(case) {
        Some(true) => return None,
        Some(false) => ("the fair server", Confidence::Likely),
        // The end of the wait shows which: a new period of throttling, or the fair server's own decision. Here it can have been both.
        None if found.period_began_meanwhile(case) => ("the fair server or real-time throttling", Confidence::Hint),
        None => ("the fair server or real-time throttling", Confidence::Likely),
    };
    let spender = found.spender(case).map(|tid| {
        format!(
            "{} had the CPU before and was still runnable: it left ordinary tasks too little CPU time",
            case.names().task(tid)
        )
    });
    let mut evidence: Vec<String> = spender.into_iter().collect();
    if let Some(environment) = case.input.environment {
        evidence.extend(environment.rt_runtime_us.map(|us| format!("sched_rt_runtime_us is {us}")));
        evidence.extend(environment.fair_server_runtime.iter().take(2).map(|line| format!("fair server: {line}")));
    }
    Some(Claim {
        confidence,
        sentence: format!(
            "the scheduler gave {} the CPU although the measuring thread could run ({}): {mechanism}",
            found.preferred(case),
            case.share(&found.pieces)
        ),
        events: found.asked.into_iter().chain([found.decision]).collect(),
        evidence,
        confirm: "/sys/kernel/debug/sched/fair_server/cpu*/runtime; dmesg says `RT throttling activated` if that was the cause".into(),
        fix: "make the real-time work leave 5 % of the CPU; then echo 0 to the fair server's runtime, or sysctl kernel.sched_rt_runtime_us=-1".into(),
        pieces: found.pieces,
    })
}
