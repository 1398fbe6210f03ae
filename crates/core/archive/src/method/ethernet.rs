//! `ethernet`: from a raw frame until its answer.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::role::{self, ROLE, Role, Undivided};
use super::sample_word::SampleWord;
use super::values::{Flag, Text, choices};
use super::wire::{self, DELAY, Delay, HOPS, Hops};

choices! {
    /// The stretch that a sample is.
    Sample { RoundTrip = "round-trip", Arrival = "arrival", OneWay = "one-way" }
}

method! {
    /// Options of `ethernet`.
    Ethernet {
        from: "a thread is about to send a raw frame",
        to: "the thread that waits for the answer reads the clock",
        when (role: Role::Answer) {
            from: "the kernel receives a frame, by its time stamp",
            to: "the answer is sent"
        },
        when (sample: Sample::Arrival) {
            from: "the kernel receives the answer, by its time stamp",
            to: "the thread that waits for the answer reads the clock"
        },
        when (sample: Sample::OneWay) {
            from: "a thread is about to send a raw frame",
            to: "the thread that receives it reads the clock"
        },
        original: "lpptest, over Ethernet",
        needs: "CAP_NET_RAW, the module af_packet, and a link; without interface= the loop-back interface",
        options: {
            role: Role = ROLE,
            interface: Text = "the network interface; lo by default",
            far: Text = "role=both: the interface at the other end of the wire; by default the same",
            up: Flag = "set the interfaces up for the run, and back afterwards",
            sample: Sample = "the round trip; from the kernel's receive time stamp of the answer to the thread; or, with both ends \
                              here, from the stimulus to the thread that reads it",
            hops: Hops = HOPS,
            delay_us: Delay = DELAY,
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Ethernet {
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
        role::require("interface", &target.interface, &stimulus.interface)
    }
}
