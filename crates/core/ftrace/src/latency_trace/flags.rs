//! The column of state letters, which has four, five or seven places depending on the kernel.

/// The state of the CPU at one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// Interrupts: `d` off, `D` off with bottom halves off, `b` bottom halves off, `.` on, `X` unknown.
    pub interrupts: char,
    /// Whether a reschedule is pending: `N`, `n`, `p`, `L`, `l` and others; `.` for no.
    pub resched: char,
    /// The same for lazy preemption of PREEMPT_RT; `None` on kernels without that place.
    pub resched_lazy: Option<char>,
    /// Context: `h` interrupt, `s` softirq, `H` interrupt within a softirq, `z`, `Z` NMI, `.` thread.
    pub context: char,
    /// Preemption-off depth; 15 also means more.
    pub preempt_depth: u8,
    pub preempt_lazy_depth: Option<u8>,
    /// Migration-off depth; `None` on kernels without that place.
    pub migrate_depth: Option<u8>,
}

/// No kernel prints more.
const PLACES_MAX: usize = 7;

impl Flags {
    /// Parses four letters (before Linux 5.11), five, or the seven of older PREEMPT_RT kernels.
    pub fn parse(letters: &str) -> Option<Flags> {
        let (mut places, mut count) = ([' '; PLACES_MAX], 0);
        for letter in letters.chars() {
            *places.get_mut(count)? = letter;
            count += 1;
        }
        match places[..count] {
            [interrupts, resched, context, preempt] => {
                Flags::of(interrupts, resched, None, context, preempt, None, None)
            }
            [interrupts, resched, context, preempt, migrate] => {
                Flags::of(interrupts, resched, None, context, preempt, None, Some(migrate))
            }
            [interrupts, resched, lazy, context, preempt, preempt_lazy, migrate] => {
                Flags::of(interrupts, resched, Some(lazy), context, preempt, Some(preempt_lazy), Some(migrate))
            }
            _ => None,
        }
    }

    fn of(
        interrupts: char,
        resched: char,
        resched_lazy: Option<char>,
        context: char,
        preempt: char,
        preempt_lazy: Option<char>,
        migrate: Option<char>,
    ) -> Option<Flags> {
        let known = "dDbX.?".contains(interrupts) && "hHsSzZ.".contains(context);
        let optional = |place: Option<char>| match place {
            None => Some(None),
            Some(letter) => depth(letter).map(Some),
        };
        known.then_some(Flags {
            interrupts,
            resched,
            resched_lazy,
            context,
            preempt_depth: depth(preempt)?,
            preempt_lazy_depth: optional(preempt_lazy)?,
            migrate_depth: optional(migrate)?,
        })
    }

    pub fn interrupts_off(&self) -> bool {
        matches!(self.interrupts, 'd' | 'D')
    }

    /// Interrupts and preemption are enabled, and no interrupt is being handled.
    pub fn preemptible(&self) -> bool {
        !self.interrupts_off() && self.context == '.' && self.preempt_depth == 0
    }
}

fn depth(letter: char) -> Option<u8> {
    match letter {
        '.' => Some(0),
        digit => digit.to_digit(16).map(|depth| depth as u8),
    }
}
