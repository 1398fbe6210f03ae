//! The thread of an interrupt that is at least as urgent as the measuring thread.

use super::about::{About, Proof};
use super::other_rt_task::interferes;
use crate::read::priority::priority_words;
use crate::recognise::case::{Case, Claim};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a thread called irq/N-NAME with at least our priority has the CPU while the thread could run",
    confirm: "`ps -eLo tid,rtprio,comm | grep irq/` lists the threads of interrupts; /proc/irq/N/smp_affinity_list says where they may run",
    fix: "give threads of interrupts priorities of their own (chrt -p -f 40 TID): ours above those we do not need, below the one we wait for; or move the interrupt to another CPU",
    reading: &["SMP IRQ affinity", "Real-time preemption"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let serves = |tid: i32| case.names().comm(tid).starts_with("irq/");
    let pieces = case.claim(|piece| interferes(case, piece).is_some_and(serves))?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let tid = case.pieces[*longest].answer.context().tid()?;
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!(
            "an interrupt thread ran first: {} at {}; the thread has {} ({})",
            case.culprits(&pieces),
            priority_words(case.names().prio(tid)),
            priority_words(case.tool_threads.own_prio),
            case.share(&pieces)
        ),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: format!("chrt -p {tid}; /proc/interrupts counts what it serves"),
        fix: ABOUT.fix.into(),
        pieces,
    })
}
