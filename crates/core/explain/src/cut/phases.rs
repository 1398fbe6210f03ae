//! Cuts the stretch from due to seen into phases.
//!
//! The spans partition the stretch for any anchors. Where an anchor is missing and the trace does not show which of
//! several phases a stretch belongs to, it is [`PhaseName::Untraced`].

use crate::cut::anchors::{Anchor, Anchors};
use crate::read::window::Window;
use crate::replay::thread_life::{LifeSpan, LifeState};
use archive::explanation::PhaseName;

/// A phase, with the CPU whose contexts account for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub phase: PhaseName,
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu: u32,
}

/// Known facts besides the anchors.
#[derive(Debug, Clone, Copy)]
pub struct SampleFacts {
    /// CPU on which the thread saw the clock.
    pub cpu: u32,
    /// First instant of that CPU for which the recorder has data.
    pub covered_from_ns: Option<i64>,
    /// The thread saw the clock in the previous cycle: it armed its timer later than that.
    pub previous_seen_ns: Option<i64>,
}

struct Cutter<'l> {
    life: &'l [LifeSpan<'l>],
    spans: Vec<Span>,
    cursor_ns: i64,
    end_ns: i64,
}

impl Cutter<'_> {
    /// Assigns the stretch up to `to_ns` to a phase. Never goes back, and never beyond the end.
    fn cut(&mut self, phase: PhaseName, to_ns: i64, cpu: u32) {
        let end_ns = to_ns.clamp(self.cursor_ns, self.end_ns);
        if end_ns > self.cursor_ns {
            self.spans.push(Span { phase, start_ns: self.cursor_ns, end_ns, cpu });
            self.cursor_ns = end_ns;
        }
    }

    /// The same for a phase that depends on the thread itself: on the CPUs of the thread, or on `cpu` if the trace does
    /// not show them. After the thread got the CPU it may lose it again: then it is delayed once more.
    fn cut_by_life(&mut self, phase: PhaseName, to_ns: i64, cpu: u32) {
        let first = self.life.partition_point(|span| span.end_ns <= self.cursor_ns);
        for span in self.life.get(first..).unwrap_or(&[]) {
            if self.cursor_ns >= to_ns.min(self.end_ns) {
                return;
            }
            let again = phase == PhaseName::ReturnToUser && span.state == LifeState::Runnable;
            let part = if again { PhaseName::SchedulingDelay } else { phase };
            self.cut(part, span.end_ns.min(to_ns), span.cpu);
        }
        self.cut(phase, to_ns, cpu);
    }

    /// The rest, where the switch to the thread was not recorded: it waited for as long as another thread is seen on its CPU. When
    /// it was given the CPU afterwards is unknown.
    fn cut_without_a_switch(&mut self, anchors: &Anchors, window: Window, cpu: u32) {
        if let Some(last) = anchors.last_waiting {
            self.cut_by_life(PhaseName::SchedulingDelay, last.ts_ns, last.cpu);
        }
        self.cut(PhaseName::Untraced, window.seen_ns, anchors.last_waiting.map_or(cpu, |last| last.cpu));
    }
}

/// A phase that depends on the thread itself, on the CPUs where it was.
pub fn by_life(phase: PhaseName, life: &[LifeSpan], (start_ns, end_ns): (i64, i64), cpu: u32) -> Vec<Span> {
    let mut cutter = Cutter { life, spans: Vec::new(), cursor_ns: start_ns, end_ns };
    cutter.cut_by_life(phase, end_ns, cpu);
    cutter.spans
}

/// Ascending, without gap or overlap, from due to seen. `life`: the states of the thread, which show its CPU.
pub fn cut(anchors: &Anchors, window: Window, facts: SampleFacts, life: &[LifeSpan]) -> Vec<Span> {
    let home = facts.cpu;
    let cpu = |anchor: Option<Anchor>| anchor.map_or(home, |anchor| anchor.cpu);
    let mut cutter = Cutter { life, spans: Vec::new(), cursor_ns: window.due_ns, end_ns: window.seen_ns };

    match anchors.armed {
        Some(armed) => cutter.cut_by_life(PhaseName::LateArm, armed.ts_ns, armed.cpu),
        None => {
            if let Some(previous_ns) = facts.previous_seen_ns {
                cutter.cut_by_life(PhaseName::LateArm, previous_ns, home);
            }
            // The arming may be in the part that was not recorded.
            if let Some(covered_ns) = facts.covered_from_ns {
                cutter.cut(PhaseName::Untraced, covered_ns, home);
            }
        }
    }

    let interrupt = anchors.interrupt;
    match (interrupt, anchors.expired, anchors.woken) {
        (interrupt, Some(expired), woken) => {
            if let Some(interrupt) = interrupt {
                cutter.cut(PhaseName::TimerDelay, interrupt.ts_ns, interrupt.cpu);
                cutter.cut(PhaseName::Handler, expired.ts_ns, expired.cpu);
            } else {
                cutter.cut(PhaseName::TimerDelay, expired.ts_ns, expired.cpu);
            }
            if let Some(woken) = woken {
                // The CPU that takes the thread completes a remote wake-up.
                let waking = anchors.waking.unwrap_or(expired);
                cutter.cut(PhaseName::WakePath, waking.ts_ns, expired.cpu);
                cutter.cut(PhaseName::WakePath, woken.ts_ns, woken.cpu);
            }
        }
        (Some(interrupt), None, Some(woken)) => {
            cutter.cut(PhaseName::TimerDelay, interrupt.ts_ns, interrupt.cpu);
            cutter.cut(PhaseName::Handler, woken.ts_ns, interrupt.cpu);
        }
        (None, None, Some(woken)) => cutter.cut(PhaseName::Untraced, woken.ts_ns, woken.cpu),
        (_, None, None) => {}
    }

    match (anchors.woken, anchors.switched) {
        (Some(_), Some(switched)) => {
            cutter.cut_by_life(PhaseName::SchedulingDelay, switched.ts_ns, switched.cpu);
            cutter.cut_by_life(PhaseName::ReturnToUser, window.seen_ns, home);
        }
        (None, Some(switched)) => {
            cutter.cut(PhaseName::Untraced, switched.ts_ns, switched.cpu);
            cutter.cut_by_life(PhaseName::ReturnToUser, window.seen_ns, home);
        }
        (woken, None) => cutter.cut_without_a_switch(anchors, window, cpu(woken)),
    }
    cutter.spans
}

/// The same for a wake-up that starts with an action of another thread: from that instant until the thread was woken,
/// which is work of the other thread on its own CPU, and from there as for any wake-up.
pub fn cut_from_stimulus(anchors: &Anchors, window: Window, facts: SampleFacts, life: &[LifeSpan]) -> Vec<Span> {
    let home = facts.cpu;
    let mut cutter = Cutter { life, spans: Vec::new(), cursor_ns: window.due_ns, end_ns: window.seen_ns };
    let Some(woken) = anchors.woken else {
        // It was not asleep: it was still busy with the previous stimulus, or the trace has a gap.
        if let Some(previous_ns) = facts.previous_seen_ns {
            cutter.cut_by_life(PhaseName::LateArm, previous_ns, home);
        }
        cutter.cut(PhaseName::Untraced, window.seen_ns, home);
        return cutter.spans;
    };
    let waking = anchors.waking.unwrap_or(woken);
    cutter.cut(PhaseName::WakePath, waking.ts_ns, waking.cpu);
    cutter.cut(PhaseName::WakePath, woken.ts_ns, woken.cpu);
    match anchors.switched {
        Some(switched) => {
            cutter.cut_by_life(PhaseName::SchedulingDelay, switched.ts_ns, switched.cpu);
            cutter.cut_by_life(PhaseName::ReturnToUser, window.seen_ns, home);
        }
        None => cutter.cut_without_a_switch(anchors, window, woken.cpu),
    }
    cutter.spans
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { due_ns: 1000, seen_ns: 2000, start_ns: 0, end_ns: 3000, lookback_ns: 0 };
    const HOME: SampleFacts = SampleFacts { cpu: 1, covered_from_ns: Some(0), previous_seen_ns: None };

    fn at(ts_ns: i64) -> Option<Anchor> {
        Some(Anchor { ts_ns, cpu: 1 })
    }

    fn lengths(anchors: &Anchors, facts: SampleFacts) -> Vec<(PhaseName, i64)> {
        let spans = cut(anchors, WINDOW, facts, &[]);
        let mut cursor_ns = WINDOW.due_ns;
        for span in &spans {
            assert_eq!(span.start_ns, cursor_ns);
            cursor_ns = span.end_ns;
        }
        assert_eq!(cursor_ns, WINDOW.seen_ns);
        spans.iter().map(|span| (span.phase, span.end_ns - span.start_ns)).collect()
    }

    #[test]
    fn without_the_switch_the_wait_ends_with_the_last_record_of_another_thread() {
        use PhaseName::*;
        let anchors = Anchors { expired: at(1200), woken: at(1250), last_waiting: at(1700), ..Anchors::default() };
        assert_eq!(
            lengths(&anchors, HOME),
            [(TimerDelay, 200), (WakePath, 50), (SchedulingDelay, 450), (Untraced, 300)]
        );
    }

    #[test]
    fn all_anchors_give_all_phases() {
        use PhaseName::*;
        let anchors = Anchors {
            armed: at(1100),
            interrupt: at(1300),
            expired: at(1350),
            waking: at(1360),
            woken: at(1400),
            switched: at(1700),
            last_waiting: None,
        };
        let expected = [
            (LateArm, 100),
            (TimerDelay, 200),
            (Handler, 50),
            (WakePath, 10),
            (WakePath, 40),
            (SchedulingDelay, 300),
            (ReturnToUser, 300),
        ];
        assert_eq!(lengths(&anchors, HOME), expected);
    }

    #[test]
    fn a_stretch_between_distant_anchors_belongs_to_no_phase() {
        use PhaseName::*;
        let switched = Anchors { switched: at(1500), ..Anchors::default() };
        assert_eq!(lengths(&switched, HOME), [(Untraced, 500), (ReturnToUser, 500)]);
        assert_eq!(lengths(&Anchors::default(), HOME), [(Untraced, 1000)]);
        let woken = Anchors { expired: at(1200), woken: at(1250), ..Anchors::default() };
        assert_eq!(lengths(&woken, HOME), [(TimerDelay, 200), (WakePath, 50), (Untraced, 750)]);
    }

    #[test]
    fn without_the_arming_the_cycle_before_shows_how_late_it_was_at_least() {
        use PhaseName::*;
        let anchors = Anchors { expired: at(1800), woken: at(1800), switched: at(1900), ..Anchors::default() };
        let late = SampleFacts { previous_seen_ns: Some(1500), ..HOME };
        assert_eq!(
            lengths(&anchors, late),
            [(LateArm, 500), (TimerDelay, 300), (SchedulingDelay, 100), (ReturnToUser, 100)]
        );
        let uncovered = SampleFacts { covered_from_ns: Some(1600), ..HOME };
        assert_eq!(lengths(&anchors, uncovered)[0], (Untraced, 600));
    }

    #[test]
    fn a_thread_that_loses_the_cpu_again_is_delayed_again_on_the_cpu_it_waits_for() {
        use PhaseName::*;
        let span = |start_ns, end_ns, cpu, state| LifeSpan { start_ns, end_ns, cpu, state, began: None, ended: None };
        let life = [
            span(0, 1100, 1, LifeState::Asleep { blocked: false }),
            span(1100, 1150, 1, LifeState::Runnable),
            span(1150, 1200, 2, LifeState::Runnable),
            span(1200, 1300, 2, LifeState::Running),
            span(1300, 1900, 2, LifeState::Runnable),
            span(1900, 2500, 3, LifeState::Running),
        ];
        let anchor = |ts_ns, cpu| Some(Anchor { ts_ns, cpu });
        let anchors = Anchors {
            expired: anchor(1100, 1),
            woken: anchor(1100, 1),
            switched: anchor(1200, 2),
            ..Anchors::default()
        };
        let found: Vec<_> = cut(&anchors, WINDOW, HOME, &life)
            .iter()
            .map(|span| (span.phase, span.end_ns - span.start_ns, span.cpu))
            .collect();
        let expected = [
            (TimerDelay, 100, 1),
            (SchedulingDelay, 50, 1),
            (SchedulingDelay, 50, 2),
            (ReturnToUser, 100, 2),
            (SchedulingDelay, 600, 2),
            (ReturnToUser, 100, 3),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn from_a_stimulus_on_there_is_no_timer() {
        use PhaseName::*;
        let elsewhere = |ts_ns| Some(Anchor { ts_ns, cpu: 0 });
        let anchors = Anchors { waking: elsewhere(1100), woken: at(1150), switched: at(1700), ..Anchors::default() };
        let found: Vec<_> = cut_from_stimulus(&anchors, WINDOW, HOME, &[])
            .iter()
            .map(|span| (span.phase, span.end_ns - span.start_ns, span.cpu))
            .collect();
        assert_eq!(found, [(WakePath, 100, 0), (WakePath, 50, 1), (SchedulingDelay, 550, 1), (ReturnToUser, 300, 1)]);
        let busy = SampleFacts { previous_seen_ns: Some(1400), ..HOME };
        let found: Vec<_> = cut_from_stimulus(&Anchors::default(), WINDOW, busy, &[])
            .iter()
            .map(|span| (span.phase, span.end_ns - span.start_ns))
            .collect();
        assert_eq!(found, [(LateArm, 400), (Untraced, 600)]);
    }

    #[test]
    fn anchors_out_of_order_and_out_of_range_change_nothing_about_the_sum() {
        let anchors = Anchors {
            armed: at(i64::MAX),
            interrupt: at(i64::MIN),
            expired: at(1),
            waking: at(99999),
            woken: at(-5),
            switched: at(1001),
            last_waiting: None,
        };
        lengths(&anchors, HOME);
    }
}
