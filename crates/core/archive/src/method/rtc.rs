//! `rtc`: from a periodic interrupt of a real-time clock until the thread that reads the device runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::interrupt::{DEVICE, HZ, Hz, TO};
use super::sample_word::SampleWord;
use super::values::{Text, choices};

choices! {
    /// Where a sample starts.
    Sample { Expectation = "expectation", Interrupt = "interrupt" }
}

method! {
    /// Options of `rtc`.
    Rtc {
        from: "instant at which a periodic interrupt of the real-time clock is due",
        to: TO,
        when (sample: Sample::Interrupt) {
            from: "the kernel enters the handler of the real-time clock's interrupt",
            to: TO
        },
        original: "RealFeel; sample=interrupt: RealFeel-ETRI",
        needs: "a real-time clock with a periodic interrupt; sample=interrupt: CONFIG_KPROBE_EVENTS and the right to use perf",
        options: {
            sample: Sample = "from the instant at which the interrupt is due, or from the kernel's entry of its handler",
            hz: Hz = HZ,
            device: Text = DEVICE,
        },
    }
}

impl Sampled for Rtc {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Device
    }

    fn sample_word(&self) -> SampleWord {
        let begun = match self.sample() {
            Sample::Expectation => "the interrupt was due",
            Sample::Interrupt => "the interrupt came",
        };
        SampleWord::late("interrupt", "interrupts", begun)
    }
}
