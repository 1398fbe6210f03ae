//! A single disturbance, and its instants.

use crate::cadence::Cadence;
use crate::terms::Terms;
use std::io;

/// A stretch of CLOCK_MONOTONIC in which a CPU was delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub begin_ns: i64,
    pub end_ns: i64,
    /// Time of it in which the injector had the CPU, where it looked: others may have had the rest.
    pub held_ns: Option<i64>,
    /// Time of it in which single steps took far longer than usual, beyond what is usual.
    pub unsure_ns: i64,
}

/// Less delays nothing enough to be noticed.
const NOTICEABLE_NS: i64 = 50_000;

impl Stretch {
    /// The longer ones of the stretches in which a thread had the CPU. Moments between two switches are none.
    pub fn noticeable(held: &[(i64, i64)]) -> Vec<Self> {
        let stretches = held.iter().map(|&(begin_ns, end_ns)| Self::new(begin_ns, end_ns));
        stretches.filter(|one| one.end_ns - one.begin_ns >= NOTICEABLE_NS).collect()
    }

    /// One of which others had a part.
    pub fn shared(begin_ns: i64, end_ns: i64, others_ns: i64) -> Self {
        Self { held_ns: Some(end_ns - begin_ns - others_ns), ..Self::new(begin_ns, end_ns) }
    }

    pub fn new(begin_ns: i64, end_ns: i64) -> Self {
        Self { begin_ns, end_ns, held_ns: None, unsure_ns: 0 }
    }
}

/// Delays a CPU once, from a thread beside the measured one.
pub type Beside = Box<dyn FnMut() -> io::Result<Vec<Stretch>>>;
/// Delays a loop once, from inside of its cycle.
pub type InLoop = Box<dyn FnMut(&mut Cadence) -> io::Result<Vec<Stretch>>>;

/// How an injector is prepared, on the thread that it delays from.
#[derive(Clone, Copy)]
pub enum SetUp {
    Beside(fn(&Terms) -> io::Result<Beside>),
    InLoop(fn(&Terms) -> io::Result<InLoop>),
}

/// Injects until it is ended.
pub fn repeat(mut terms: Terms, set_up: SetUp) -> io::Result<()> {
    match set_up {
        SetUp::Beside(set_up) => {
            let mut once = set_up(&terms)?;
            loop {
                terms.pause();
                // Written down afterwards: writing takes time of the CPU, too.
                let stretches = once()?;
                terms.note(&stretches)?;
            }
        }
        SetUp::InLoop(set_up) => {
            let mut cadence = Cadence::start(&terms)?;
            let mut once = set_up(&terms)?;
            loop {
                cadence.pass(terms.next_pause_ns());
                let stretches = once(&mut cadence)?;
                cadence.next();
                terms.note(&stretches)?;
            }
        }
    }
}
