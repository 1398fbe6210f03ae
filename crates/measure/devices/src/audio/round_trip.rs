//! Impulses through a loop from a card's output to its input, one after the other: from the instant before an impulse is written
//! until the thread has read it.

use super::SILENCE;
use crate::kernel::pcm::{CHANNELS_COUNT, Stream};
use meter::kernel::clock;
use meter::measure::loss_counter::LossCounter;
use meter::measure::waiter::{Arrival, Waiter, WaiterCounts};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A burst as long as this survives the filters of a converter.
const BURST_FRAMES: usize = 8;
const LEVEL: i16 = 0x6000;
/// A signal that comes back through a cable is weaker.
const HEARD: u16 = 0x0c00;

pub struct Impulses {
    playback: Stream,
    capture: Stream,
    is_running: bool,
    /// When the impulse that is on its way was written.
    given_ns: Option<i64>,
    /// The last impulse, or its echo, is still heard.
    is_loud: bool,
    counts: Arc<WaiterCounts>,
    xruns: Arc<LossCounter>,
    over: Arc<AtomicBool>,
}

impl Impulses {
    pub fn new(
        playback: Stream,
        capture: Stream,
        counts: Arc<WaiterCounts>,
        xruns: Arc<LossCounter>,
        over: Arc<AtomicBool>,
    ) -> Self {
        Self { playback, capture, is_running: false, given_ns: None, is_loud: false, counts, xruns, over }
    }

    fn start(&mut self) -> io::Result<()> {
        self.given_ns = None;
        self.playback.start()?;
        self.capture.start()?;
        self.is_running = true;
        Ok(())
    }

    /// Reads what was captured; whether an impulse starts in it.
    fn listen(&mut self) -> io::Result<bool> {
        let frames = self.capture.transfer(usize::MAX)?;
        let samples = &self.capture.frames()[..frames * CHANNELS_COUNT];
        Ok(starts(&mut self.is_loud, is_heard(samples)))
    }

    /// Fills the output up, with an impulse if none is on its way.
    fn play(&mut self) -> io::Result<()> {
        let impulse = self.given_ns.is_none() && !self.is_loud;
        if impulse {
            self.playback.frames()[..BURST_FRAMES * CHANNELS_COUNT].fill(LEVEL);
        }
        let now_ns = clock::monotonic_ns();
        let played = self.playback.transfer(usize::MAX)?;
        if impulse {
            self.playback.frames()[..BURST_FRAMES * CHANNELS_COUNT].fill(0);
            if played >= BURST_FRAMES {
                self.given_ns = Some(now_ns);
            }
        }
        Ok(())
    }

    /// One period of both streams; when an impulse was heard.
    fn period(&mut self) -> io::Result<Option<i64>> {
        if !self.capture.wait(SILENCE) {
            return Err(io::Error::from_raw_os_error(libc::ETIME));
        }
        // Either stream may have stopped.
        self.capture.interrupt_ns()?;
        self.playback.interrupt_ns()?;
        let heard = self.listen()?;
        let seen_ns = clock::monotonic_ns();
        if heard {
            self.given_ns = None;
        }
        self.play()?;
        Ok(heard.then_some(seen_ns))
    }
}

fn is_heard(samples: &[i16]) -> bool {
    samples.iter().any(|sample| sample.unsigned_abs() >= HEARD)
}

/// Whether it is loud now and was not before.
fn starts(was_loud: &mut bool, is_loud: bool) -> bool {
    !std::mem::replace(was_loud, is_loud) && is_loud
}

impl Waiter for Impulses {
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        if self.over.load(Relaxed) {
            return Arrival::Ended { skipped: 0 };
        }
        if !self.is_running && self.start().is_err() {
            clock::sleep_until_ns(clock::monotonic_ns() + SILENCE.as_nanos() as i64);
            return Arrival::NoSignal;
        }
        let given_ns = self.given_ns;
        let heard = self.period();
        let now_ns = clock::monotonic_ns();
        let undisturbed = Arrival::Undisturbed { until_ns: now_ns };
        match (heard, given_ns) {
            (Ok(Some(seen_ns)), Some(given_ns)) => Arrival::Stimulus { given_ns, seen_ns, skipped: 0 },
            (Ok(Some(_)), None) => {
                self.counts.count_stray();
                undisturbed
            }
            (Ok(None), Some(given_ns)) if now_ns - given_ns > SILENCE.as_nanos() as i64 => {
                self.given_ns = None;
                Arrival::NoSignal
            }
            (Ok(None), _) => undisturbed,
            (Err(error), _) => {
                self.is_running = false;
                if error.raw_os_error() == Some(libc::ETIME) {
                    return Arrival::NoSignal;
                }
                self.xruns.add(1);
                undisturbed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_is_heard_through_a_weak_loop_and_noise_is_not() {
        assert!(is_heard(&[0, 3, LEVEL / 4, 0]));
        assert!(is_heard(&[0, -LEVEL / 4]));
        assert!(!is_heard(&[40, -40, 200]));
        assert!(!is_heard(&[]));
    }

    #[test]
    fn an_impulse_over_two_periods_starts_once_and_the_next_one_again() {
        let mut was_loud = false;
        let heard = [true, true, false, true].map(|is_loud| starts(&mut was_loud, is_loud));
        assert_eq!(heard, [true, false, false, true]);
    }
}
