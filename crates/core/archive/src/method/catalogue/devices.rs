//! Methods whose stimulus is a device: the interrupt of a clock, a card, a sound card.

use crate::method::options::{DEVICE, HZ, PARTNER};
use crate::method::{Method, MethodDefinition, MethodOption, OtherPath, Stimulus, Values};

pub const RTC: MethodDefinition = MethodDefinition {
    method: Method::Rtc,
    name: "rtc",
    from: "instant at which a periodic interrupt of the real-time clock is due",
    to: "the thread that reads the device reads the clock",
    others: &[OtherPath {
        options: &[("sample", "interrupt")],
        from: "the kernel enters the handler of the real-time clock's interrupt",
        to: "the thread that reads the device reads the clock",
    }],
    original: "RealFeel; sample=interrupt: RealFeel-ETRI",
    stimulus: Stimulus::Device,
    needs: "a real-time clock with a periodic interrupt; sample=interrupt: CONFIG_KPROBE_EVENTS and the right to use perf",
    options: &[
        MethodOption {
            key: "sample",
            values: Values::OneOf(&["expectation", "interrupt"]),
            what: "from the instant at which the interrupt is due, or from the kernel's entry of its handler",
        },
        HZ,
        DEVICE,
    ],
};

pub const HPET: MethodDefinition = MethodDefinition {
    method: Method::Hpet,
    name: "hpet",
    from: "the kernel enters the handler of the HPET's interrupt",
    to: "the thread that reads the device reads the clock",
    others: &[OtherPath {
        options: &[("sample", "expiry")],
        from: "the HPET raises its interrupt, by its own time stamp",
        to: "the thread that reads the device reads the clock",
    }],
    original: "RealFeel, with an interrupt of hardware",
    stimulus: Stimulus::Device,
    needs: "an HPET that the kernel does not use itself; sample=interrupt: the right to use perf; sample=expiry: hpet_mmap=1",
    options: &[
        MethodOption {
            key: "sample",
            values: Values::OneOf(&["interrupt", "expiry"]),
            what: "from the kernel's entry of the handler, or from the HPET's own time stamp",
        },
        HZ,
        DEVICE,
    ],
};

pub const UIO: MethodDefinition = MethodDefinition {
    method: Method::Uio,
    name: "uio",
    from: "the kernel enters the handler of the device's interrupt",
    to: "the handler in user space reads the clock",
    others: &[OtherPath {
        options: &[("sample", "stimulus")],
        from: "a thread is about to make the device interrupt",
        to: "the handler in user space reads the clock",
    }],
    original: "ULDD",
    stimulus: Stimulus::Thread,
    needs: "a PCI device that may be used, the module uio_pci_generic or, for kind=ivshmem, vfio_pci and an IOMMU; \
            sample=handler: the right to use perf",
    options: &[
        MethodOption {
            key: "kind",
            values: Values::OneOf(&["uart", "edu", "ivshmem"]),
            what: "a PCI card with a 16550 serial port, in loopback; QEMU's device edu; or, over VFIO and with \
                   message-signalled interrupts, QEMU's ivshmem-doorbell",
        },
        MethodOption {
            key: "sample",
            values: Values::OneOf(&["handler", "stimulus"]),
            what: "from the kernel's handler, or from the instant before the interrupt is raised",
        },
        MethodOption {
            key: "device",
            values: Values::Text,
            what: "its PCI address, taken from its driver for the run; by default the first without a driver",
        },
        PARTNER,
    ],
};

pub const AUDIO: MethodDefinition = MethodDefinition {
    method: Method::Audio,
    name: "audio",
    from: "instant at which a period of a sound card should be over",
    to: "the thread that plays or captures reads the clock",
    others: &[
        OtherPath {
            options: &[("sample", "interrupt")],
            from: "the kernel enters the handler of the sound card's interrupt",
            to: "the thread that plays or captures reads the clock",
        },
        OtherPath {
            options: &[("sample", "loop")],
            from: "a thread is about to write an impulse",
            to: "it has captured the impulse",
        },
    ],
    original: "the Senoner test (latencytest)",
    stimulus: Stimulus::Device,
    needs: "a sound card (/dev/snd/pcmC0D0p) that no other program uses; sample=loop: a cable from its output to its input, or \
            snd-aloop",
    options: &[
        MethodOption {
            key: "sample",
            values: Values::OneOf(&["period", "interrupt", "loop"]),
            what: "how far the distance of two periods is from their length, early or late; from the kernel's time stamp of the \
                   interrupt; or from writing an impulse to reading it",
        },
        MethodOption {
            key: "refill",
            values: Values::OneOf(&["all", "period"]),
            what: "sample=period: transfer all that the card has room or data for at its interrupt, or exactly one period, \
                   as latencytest's blocking write does",
        },
        MethodOption {
            key: "direction",
            values: Values::OneOf(&["playback", "capture"]),
            what: "what the card does, except with sample=loop",
        },
        MethodOption {
            key: "device",
            values: Values::Text,
            what: "the stream; /dev/snd/pcmC0D0p or pcmC0D0c by default",
        },
        MethodOption {
            key: "far",
            values: Values::Text,
            what: "sample=loop: the stream that captures; /dev/snd/pcmC0D0c by default",
        },
        MethodOption {
            key: "rate",
            values: Values::Number { least: 4_000, most: 384_000, default: 48_000 },
            what: "frames per second",
        },
        MethodOption {
            key: "period",
            values: Values::Number { least: 16, most: 65_536, default: 256 },
            what: "frames per period",
        },
        MethodOption {
            key: "periods",
            values: Values::Number { least: 2, most: 32, default: 3 },
            what: "periods of the buffer: an xrun needs a thread that is late by all of them but one",
        },
        MethodOption {
            key: "work",
            values: Values::Number { least: 0, most: 90, default: 50 },
            what: "percent of each period for which the thread works, except with sample=loop",
        },
    ],
};
