//! `udp`: from a datagram until its answer.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::role::{self, ROLE, Role, Undivided};
use super::sample_word::SampleWord;
use super::values::{Text, choices};
use super::wire::{self, DELAY, Delay, HOPS, Hops};

choices! {
    /// The stretch that a sample is.
    Sample { RoundTrip = "round-trip", Arrival = "arrival" }
}

method! {
    /// Options of `udp`.
    Udp {
        from: "a thread is about to send a datagram",
        to: "the thread that waits for the answer reads the clock",
        when (role: Role::Answer) {
            from: "the kernel receives a datagram, by its time stamp",
            to: "the answer is sent"
        },
        when (sample: Sample::Arrival) {
            from: "the kernel receives the answer, by its time stamp",
            to: "the thread that waits for the answer reads the clock"
        },
        original: "lpptest, over a network",
        needs: "a kernel with IPv4; role=both: the loop-back interface; otherwise a network to another machine",
        options: {
            role: Role = ROLE,
            address: Text = "role=answer: address and port of this machine to listen on; role=stimulus: the target's address and port",
            sample: Sample = "the whole round trip, or from the kernel's receive time stamp of the answer to the thread",
            hops: Hops = HOPS,
            delay_us: Delay = DELAY,
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Udp {
    fn stimulus(&self) -> Stimulus {
        match self.role() {
            // The time stamp of the kernel starts the sample.
            Role::Answer => Stimulus::Device,
            Role::Both | Role::Stimulus => Stimulus::Thread,
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
        stimulus.address = stimulus.address.take().or_else(|| target.address.clone());
        role::require("address", &target.address, &stimulus.address)
    }
}
