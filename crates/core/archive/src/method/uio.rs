//! `uio`: from the kernel's handler of a device's interrupt until the handler in user space runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::hand_over::{PARTNER, Partner};
use super::sample_word::SampleWord;
use super::values::{Text, choices};

const TO: &str = "the handler in user space reads the clock";

choices! {
    /// The device.
    Kind { Uart = "uart", Edu = "edu", Ivshmem = "ivshmem" }
}

choices! {
    /// Where a sample starts.
    Sample { Handler = "handler", Stimulus = "stimulus" }
}

method! {
    /// Options of `uio`.
    Uio {
        from: "the kernel enters the handler of the device's interrupt",
        to: TO,
        when (sample: Sample::Stimulus) {
            from: "a thread is about to make the device interrupt",
            to: TO
        },
        original: "ULDD",
        needs: "a PCI device that may be used, the module uio_pci_generic or, for kind=ivshmem, vfio_pci and an IOMMU; \
                sample=handler: the right to use perf",
        options: {
            kind: Kind = "a PCI card with a 16550 serial port, in loopback; QEMU's device edu; or, over VFIO and with \
                          message-signalled interrupts, QEMU's ivshmem-doorbell",
            sample: Sample = "from the kernel's handler, or from the instant before the interrupt is raised",
            device: Text = "its PCI address, taken from its driver for the run; by default the first without a driver",
            partner: Partner = PARTNER,
        },
    }
}

impl Sampled for Uio {
    fn stimulus(&self) -> Stimulus {
        Stimulus::Thread
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::late("interrupt", "interrupts", "the interrupt came")
    }
}
