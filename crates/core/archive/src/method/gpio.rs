//! `gpio`: from an edge on a GPIO line until its answer.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::role::{self, Role, Undivided, WIRED_ROLE, WiredRole};
use super::sample_word::SampleWord;
use super::values::{Number, Text, choices};
use super::wire::{self, DELAY, Delay, HOPS, Hops};

choices! {
    /// The edges that are a stimulus.
    Edge { Both = "both", Falling = "falling", Rising = "rising" }
}

choices! {
    /// The stretch that a sample is.
    Sample { RoundTrip = "round-trip", Arrival = "arrival" }
}

/// The number of a line.
pub type Line = Number<0, 4095, 0>;

method! {
    /// Options of `gpio`.
    Gpio {
        from: "the kernel sees an edge on a line",
        to: "the answering line has changed",
        when (role: WiredRole::Stimulus, sample: Sample::Arrival) {
            from: "the kernel sees the edge that answers",
            to: "the thread that waits for the edge reads the clock"
        },
        when (role: WiredRole::Stimulus) {
            from: "a thread is about to change a line",
            to: "the thread that waits for the edge reads the clock"
        },
        original: "lpptest and LRTBF, by GPIO",
        needs: "a GPIO character device (/dev/gpiochip0), two lines and what is wired to them",
        options: {
            role: WiredRole = WIRED_ROLE,
            chip: Text = "the device; /dev/gpiochip0 by default",
            r#in: Line = "line where edges come in",
            out: Line = "line that changes with each stimulus or answer",
            edge: Edge = "role=answer: the edges that are a stimulus; with one direction the answer is a rising edge, which the \
                          opposite edge takes back",
            sample: Sample = "role=stimulus: the round trip, or from the kernel's time stamp of the answer to the thread",
            hops: Hops = HOPS,
            delay_us: Delay = DELAY,
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Gpio {
    fn stimulus(&self) -> Stimulus {
        match self.role() {
            // The time stamp of the kernel starts the sample.
            WiredRole::Answer => Stimulus::Device,
            WiredRole::Stimulus => Stimulus::Thread,
        }
    }

    fn sample_word(&self) -> SampleWord {
        wire::sample(self.role().into())
    }

    fn end(&self) -> Option<Role> {
        Some(self.role().into())
    }

    fn divide(target: &mut Self, stimulus: &mut Self) -> Result<(), Undivided> {
        role::assign(&mut target.role, &mut stimulus.role, WiredRole::Answer, WiredRole::Stimulus)
    }
}
