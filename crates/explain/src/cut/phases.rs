//! Cuts the stretch from due to seen into phases.
//!
//! The spans partition the stretch whatever the anchors say. Where an anchor is missing and the trace cannot tell which of
//! several phases a stretch belongs to, it is [`PhaseName::Untraced`].

use crate::cut::anchors::{Anchor, Anchors};
use crate::read::window::Window;
use archive::explanation::PhaseName;

/// A phase on the CPU whose contexts account for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub phase: PhaseName,
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu: u32,
}

/// What is known beside the anchors.
#[derive(Debug, Clone, Copy)]
pub struct SampleFacts {
    /// CPU on which the thread saw the clock.
    pub cpu: u32,
    /// First instant of that CPU the recorder has data for.
    pub covered_from_ns: Option<i64>,
    /// The thread saw the clock in the cycle before: it armed its timer later than that.
    pub previous_seen_ns: Option<i64>,
}

struct Cutter {
    spans: Vec<Span>,
    cursor_ns: i64,
    end_ns: i64,
}

impl Cutter {
    /// Gives the stretch up to `to_ns` to a phase. Never goes back, never beyond the end.
    fn cut(&mut self, phase: PhaseName, to_ns: i64, cpu: u32) {
        let end_ns = to_ns.clamp(self.cursor_ns, self.end_ns);
        if end_ns > self.cursor_ns {
            self.spans.push(Span { phase, start_ns: self.cursor_ns, end_ns, cpu });
            self.cursor_ns = end_ns;
        }
    }
}

/// Ascending, without gap or overlap, from due to seen.
pub fn cut(anchors: &Anchors, window: Window, facts: SampleFacts) -> Vec<Span> {
    let home = facts.cpu;
    let cpu = |anchor: Option<Anchor>| anchor.map_or(home, |anchor| anchor.cpu);
    let mut cutter = Cutter { spans: Vec::new(), cursor_ns: window.due_ns, end_ns: window.seen_ns };

    match anchors.armed {
        Some(armed) => cutter.cut(PhaseName::LateArm, armed.ts_ns, armed.cpu),
        None => {
            if let Some(previous_ns) = facts.previous_seen_ns {
                cutter.cut(PhaseName::LateArm, previous_ns, home);
            }
            // The arming may lie in the part nobody recorded.
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
                // A remote wake-up is finished by the CPU that takes the thread.
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
            cutter.cut(PhaseName::SchedulingDelay, switched.ts_ns, switched.cpu);
            cutter.cut(PhaseName::ReturnToUser, window.seen_ns, home);
        }
        (None, Some(switched)) => {
            cutter.cut(PhaseName::Untraced, switched.ts_ns, switched.cpu);
            cutter.cut(PhaseName::ReturnToUser, window.seen_ns, home);
        }
        (woken, None) => cutter.cut(PhaseName::Untraced, window.seen_ns, cpu(woken)),
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
        let spans = cut(anchors, WINDOW, facts);
        let mut cursor_ns = WINDOW.due_ns;
        for span in &spans {
            assert_eq!(span.start_ns, cursor_ns);
            cursor_ns = span.end_ns;
        }
        assert_eq!(cursor_ns, WINDOW.seen_ns);
        spans.iter().map(|span| (span.phase, span.end_ns - span.start_ns)).collect()
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
    fn without_the_arming_the_cycle_before_tells_how_late_it_was_at_least() {
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
    fn anchors_out_of_order_and_out_of_range_change_nothing_about_the_sum() {
        let anchors = Anchors {
            armed: at(i64::MAX),
            interrupt: at(i64::MIN),
            expired: at(1),
            waking: at(99999),
            woken: at(-5),
            switched: at(1001),
        };
        lengths(&anchors, HOME);
    }
}
