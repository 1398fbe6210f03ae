//! The scheduler gave an ordinary task its turn although a real-time thread could run.

use crate::case::{Case, Claim, held};
use crate::event::What;
use crate::holder::Holder;
use archive::explanation::{Confidence, OwnerKind, PhaseName};
use archive::watched::WatchedKind;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    if case.household.own_prio.is_none_or(|prio| prio >= 100) {
        return None;
    }
    let own = case.household.own_tid;
    let work_of_a_cycle = case.input.spike.watched == Some(WatchedKind::Cycle);
    let could_run_ns = match case.anchors.woken {
        _ if work_of_a_cycle => case.scene.window.due_ns,
        woken => woken?.ts_ns,
    };
    let switched = case.anchors.switched;
    let chosen = case.event(|event| match event.what {
        What::Switch { prev, prev_state, next, next_prio, .. } => {
            let ours_could_run = (!work_of_a_cycle && switched.is_none_or(|switched| event.ts_ns < switched.ts_ns))
                || (prev == own && prev_state & 0xff == 0);
            event.cpu == case.cpu() && event.ts_ns > could_run_ns && next != own && next_prio >= 100 && ours_could_run
        }
        _ => false,
    })?;
    let pieces = case.claim(|piece| {
        (case.kept_off(piece) || piece.phase == PhaseName::ReturnToUser)
            && piece.start_ns >= chosen.ts_ns
            && (case.kind(piece) == OwnerKind::Task || held(piece).is_some_and(Holder::is_idle))
    })?;
    let mut evidence = Vec::new();
    if let Some(environment) = case.input.environment {
        evidence.extend(environment.rt_runtime_us.map(|us| format!("sched_rt_runtime_us is {us}")));
        evidence.extend(environment.fair_server_runtime.iter().take(2).map(|line| format!("fair server: {line}")));
    }
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!(
            "the scheduler gave {} the CPU although the measuring thread could run ({}): fair server or real-time throttling",
            case.culprits(&pieces),
            case.share(&pieces)
        ),
        events: vec![chosen],
        evidence,
        confirm: "dmesg says `RT throttling activated` on kernels before 6.12; /sys/kernel/debug/sched/fair_server/cpu*/runtime on later ones".into(),
        fix: "make the real-time work leave 5 % of the CPU; then echo 0 to the fair server's runtime, or sysctl kernel.sched_rt_runtime_us=-1".into(),
        pieces,
    })
}
