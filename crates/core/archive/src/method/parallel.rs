//! `parallel`: from a strobe on a parallel port until the interrupt that answers it.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::role::{self, Role, Undivided, WIRED_ROLE, WiredRole};
use super::sample_word::SampleWord;
use super::values::{Number, Text};
use super::wire::{self, DELAY, Delay, HOPS, Hops};

method! {
    /// Options of `parallel`.
    Parallel {
        from: "the thread has read an interrupt",
        to: "the strobe is given",
        when (role: WiredRole::Stimulus) {
            from: "a thread is about to give a strobe",
            to: "the thread that waits for the interrupt reads the clock"
        },
        original: "lpptest",
        needs: "a parallel port with an interrupt (/dev/parport0), the modules parport_pc and ppdev, and what is wired to it",
        options: {
            role: WiredRole = WIRED_ROLE,
            port: Text = "the port; /dev/parport0 by default",
            echo_us: Number<0, 1_000_000, 0> = "role=answer: interrupts that come this long after a strobe are its echo, as on QEMU's port",
            hops: Hops = HOPS,
            delay_us: Delay = DELAY,
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Parallel {
    fn stimulus(&self) -> Stimulus {
        match self.role() {
            // One thread reads and answers, and no time stamp shows when the stimulus came.
            WiredRole::Answer if self.hops() == 0 => Stimulus::Busy,
            WiredRole::Answer | WiredRole::Stimulus => Stimulus::Thread,
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
