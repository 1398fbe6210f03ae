//! When to capture ordinary samples, so that an explanation can distinguish what always runs from the cause of a late
//! wake-up.

use super::source::{ControlPace, Span};

/// The controls of a session.
#[derive(Debug, Clone, Copy)]
pub struct Controls {
    pace: ControlPace,
    span: Span,
    wanted: u32,
    taken: u32,
    next_ns: i64,
}

impl Controls {
    pub fn new(wanted: u32, pace: ControlPace, span: Span) -> Self {
        let first_ns = match pace {
            ControlPace::Spread { .. } => 0,
            ControlPace::Early { first_ns, .. } => span.count_from_ns.saturating_add(first_ns),
        };
        let mut controls = Self { pace, span, wanted, taken: 0, next_ns: first_ns };
        if matches!(pace, ControlPace::Spread { .. }) {
            controls.next_ns = controls.next_after(i64::MIN);
        }
        controls
    }

    /// Requests the next control sample if it is due.
    pub fn request_when_due(&mut self, now_ns: i64, request: impl FnOnce() -> bool) {
        if self.taken < self.wanted && now_ns >= self.next_ns {
            self.taken += u32::from(request());
            self.next_ns = self.next_after(now_ns);
        }
    }

    fn next_after(&self, now_ns: i64) -> i64 {
        let Span { count_from_ns, end_ns, .. } = self.span;
        match self.pace {
            ControlPace::Early { every_ns, .. } => now_ns.saturating_add(every_ns),
            ControlPace::Spread { without_end_ns } if end_ns == i64::MAX => now_ns.max(count_from_ns) + without_end_ns,
            ControlPace::Spread { .. } => {
                let part_ns = (end_ns - count_from_ns) / (2 * i64::from(self.wanted.max(1)));
                count_from_ns + part_ns * (2 * i64::from(self.taken) + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { start_ns: 0, count_from_ns: 100, end_ns: 700 };

    fn requested(mut controls: Controls, step_ns: usize, able_from_ns: i64) -> Vec<i64> {
        let mut requested = Vec::new();
        for now_ns in (0..1000).step_by(step_ns) {
            controls.request_when_due(now_ns, || {
                let able = now_ns >= able_from_ns;
                if able {
                    requested.push(now_ns);
                }
                able
            });
        }
        requested
    }

    #[test]
    fn controls_lie_in_the_middle_of_equal_parts() {
        let spread = ControlPace::Spread { without_end_ns: 300 };
        assert_eq!(requested(Controls::new(3, spread, SPAN), 10, 0), [200, 400, 600]);
        assert!(requested(Controls::new(0, spread, SPAN), 10, 0).is_empty());
    }

    #[test]
    fn controls_of_a_session_without_an_end_are_evenly_apart() {
        let spread = ControlPace::Spread { without_end_ns: 300 };
        let endless = Span { end_ns: i64::MAX, ..SPAN };
        assert_eq!(requested(Controls::new(2, spread, endless), 10, 0), [400, 700]);
    }

    #[test]
    fn early_controls_are_retried_until_one_can_be_taken() {
        let early = ControlPace::Early { first_ns: 50, every_ns: 100 };
        assert_eq!(requested(Controls::new(2, early, SPAN), 10, 300), [350, 450]);
    }
}
