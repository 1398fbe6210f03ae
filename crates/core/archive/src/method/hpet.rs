//! `hpet`: from a periodic interrupt of an HPET timer until the thread that reads the device runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::interrupt::{DEVICE, HZ, Hz, TO};
use super::sample_word::SampleWord;
use super::values::{Text, choices};

choices! {
    /// Where a sample starts.
    Sample { Interrupt = "interrupt", Expiry = "expiry" }
}

method! {
    /// Options of `hpet`.
    Hpet {
        from: "the kernel enters the handler of the HPET's interrupt",
        to: TO,
        when (sample: Sample::Expiry) {
            from: "the HPET raises its interrupt, by its own time stamp",
            to: TO
        },
        original: "RealFeel, with an interrupt of hardware",
        needs: "an HPET that the kernel does not use itself; sample=interrupt: the right to use perf; sample=expiry: hpet_mmap=1",
        options: {
            sample: Sample = "from the kernel's entry of the handler, or from the HPET's own time stamp",
            hz: Hz = HZ,
            device: Text = DEVICE,
        },
    }
}

impl Sampled for Hpet {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Device
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::late("interrupt", "interrupts", "the interrupt was due")
    }
}
