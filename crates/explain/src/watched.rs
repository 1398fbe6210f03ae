//! Cuts the samples of watched threads into phases: their wake-ups as the kernel sees them, and their cycles.

use crate::anchors::{Anchor, Anchors};
use crate::course::{Doing, Leg, course};
use crate::event::What;
use crate::scene::Scene;
use crate::span::{self, Circumstances, Span};
use crate::window::Window;
use archive::explanation::PhaseName;
use archive::watched::WatchedKind;

/// The spans of a sample, and the course of the thread where they are about its work.
pub fn cut(
    kind: WatchedKind,
    anchors: &Anchors,
    scene: &Scene,
    circumstances: Circumstances,
    tid: i32,
    faults_apart_ns: i64,
) -> (Vec<Span>, Vec<Leg>) {
    let Window { due_ns, seen_ns, .. } = scene.window;
    match kind {
        WatchedKind::Timer => timer(anchors, scene, circumstances, tid, faults_apart_ns),
        WatchedKind::Woken => (woken(anchors, scene.window, circumstances), Vec::new()),
        WatchedKind::Cycle => {
            let legs = course(scene, tid, due_ns, seen_ns, circumstances.cpu, faults_apart_ns);
            (legs.iter().map(|leg| of_work(leg, None)).collect(), legs)
        }
    }
}

fn of_work(leg: &Leg, phase: Option<PhaseName>) -> Span {
    let own = match leg.doing {
        Doing::Running | Doing::Faulting => PhaseName::Working,
        Doing::Ready => PhaseName::Preempted,
        Doing::Waiting { .. } | Doing::Fetching => PhaseName::Waiting,
    };
    Span { phase: phase.unwrap_or(own), start_ns: leg.start_ns, end_ns: leg.end_ns, cpu: leg.cpu }
}

/// As any wake-up; what it did until it set its timer too late is told by its course, and slack is cut off.
fn timer(
    anchors: &Anchors,
    scene: &Scene,
    circumstances: Circumstances,
    tid: i32,
    faults_apart_ns: i64,
) -> (Vec<Span>, Vec<Leg>) {
    let mut spans = Vec::new();
    let mut legs = Vec::new();
    let slack_until_ns = scene.arm().and_then(|arm| match arm.what {
        What::HrtimerStart { expires_ns, soft_expires_ns, .. } if soft_expires_ns == scene.window.due_ns => {
            Some(expires_ns)
        }
        _ => None,
    });
    for whole in span::cut(anchors, scene.window, circumstances) {
        match (whole.phase, slack_until_ns) {
            (PhaseName::LateArm, _) => {
                let late = course(scene, tid, whole.start_ns, whole.end_ns, whole.cpu, faults_apart_ns);
                spans.extend(late.iter().map(|leg| of_work(leg, Some(PhaseName::LateArm))));
                legs.extend(late);
            }
            (PhaseName::TimerDelay, Some(until_ns)) if whole.start_ns < until_ns && until_ns < whole.end_ns => {
                spans.push(Span { end_ns: until_ns, ..whole });
                spans.push(Span { start_ns: until_ns, ..whole });
            }
            _ => spans.push(whole),
        }
    }
    (spans, legs)
}

/// From being woken on there is only the way to the CPU.
fn woken(anchors: &Anchors, window: Window, circumstances: Circumstances) -> Vec<Span> {
    let at = |anchor: Option<Anchor>, default: (i64, u32)| anchor.map_or(default, |anchor| (anchor.ts_ns, anchor.cpu));
    let (woken_ns, cpu) = at(anchors.woken, (window.due_ns, circumstances.cpu));
    let woken_ns = woken_ns.clamp(window.due_ns, window.seen_ns);
    let path = Span { phase: PhaseName::WakePath, start_ns: window.due_ns, end_ns: woken_ns, cpu };
    let delay =
        Span { phase: PhaseName::SchedulingDelay, start_ns: woken_ns, end_ns: window.seen_ns, cpu: circumstances.cpu };
    [path, delay].into_iter().filter(|span| span.start_ns < span.end_ns).collect()
}
