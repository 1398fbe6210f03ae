//! `serial`: from a byte on a serial line until its answer.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::role::{self, ROLE, Role, Undivided};
use super::sample_word::SampleWord;
use super::values::{Number, Text};
use super::wire::{self, DELAY, Delay, HOPS, Hops};

method! {
    /// Options of `serial`.
    Serial {
        from: "a thread is about to write a byte to a serial line",
        to: "the thread that waits for the answer reads the clock",
        when (role: Role::Answer) {
            from: "a thread has read a byte from the serial line",
            to: "the answer is written"
        },
        original: "the Woerner test",
        needs: "role=both: pseudo-terminals (/dev/ptmx); otherwise a serial port with another machine behind it",
        options: {
            role: Role = ROLE,
            port: Text = "serial port of role=stimulus and role=answer, or the Unix socket of a virtual machine's port",
            baud: Number<50, 4_000_000, 115_200> = "speed of the serial port",
            hops: Hops = HOPS,
            delay_us: Delay = DELAY,
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Serial {
    fn stimulus(&self) -> Stimulus {
        match self.role() {
            // One thread reads and answers, and no time stamp shows when the stimulus came.
            Role::Answer if self.hops() == 0 => Stimulus::Busy,
            Role::Both | Role::Stimulus | Role::Answer => Stimulus::Thread,
        }
    }

    fn sample_word(&self) -> SampleWord {
        wire::sample(self.role())
    }

    fn end(&self) -> Option<Role> {
        Some(self.role())
    }

    fn divide(target: &mut Self, stimulus: &mut Self) -> Result<(), Undivided> {
        role::assign(&mut target.role, &mut stimulus.role, Role::Answer, Role::Stimulus)?;
        stimulus.baud = stimulus.baud.or(target.baud);
        Ok(())
    }
}
