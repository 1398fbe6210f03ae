//! Every method, in the order to show them.

use super::options::{CACHES, DELAY, DEVICE, HOPS, HZ, PARTNER, PROTOCOL, ROLE, WIRED_ROLE, port};
use super::{Method, MethodDefinition, MethodOption, OtherPath, Stimulus, Values};

const RUNS: &str = "the thread that waits for it reads the clock";

const fn hand_over(
    method: Method,
    name: &'static str,
    from: &'static str,
    original: &'static str,
    needs: &'static str,
    options: &'static [MethodOption],
) -> MethodDefinition {
    MethodDefinition { method, name, from, to: RUNS, others: &[], original, stimulus: Stimulus::Thread, needs, options }
}

/// Every method.
pub static METHODS: [MethodDefinition; 21] = [
    MethodDefinition {
        method: Method::Timer,
        name: "timer",
        from: "instant at which a timer is due",
        to: "the thread that waits for it reads the clock",
        others: &[],
        original: "cyclictest",
        stimulus: Stimulus::Timer,
        needs: "",
        options: &[],
    },
    hand_over(
        Method::Semaphore,
        "semaphore",
        "another thread is about to post a semaphore",
        "svsematest",
        "kind=sysv: a kernel with CONFIG_SYSVIPC",
        &[
            MethodOption {
                key: "kind",
                values: Values::OneOf(&["posix", "sysv"]),
                what: "sem_post and sem_wait, or semop as svsematest does",
            },
            PARTNER,
            CACHES,
        ],
    ),
    hand_over(
        Method::Mutex,
        "mutex",
        "another thread is about to unlock a mutex",
        "ptsematest",
        "",
        &[PROTOCOL, PARTNER, CACHES],
    ),
    hand_over(
        Method::Signal,
        "signal",
        "another thread is about to send a signal (tgkill)",
        "signaltest, sigwaittest",
        "",
        &[PARTNER, CACHES],
    ),
    hand_over(
        Method::MessageQueue,
        "message-queue",
        "another thread is about to send a message (mq_send)",
        "pmqtest",
        "a kernel with CONFIG_POSIX_MQUEUE",
        &[PARTNER, CACHES],
    ),
    MethodDefinition {
        method: Method::Inversion,
        name: "inversion",
        from: "a thread asks for a mutex that a less urgent one holds, while a third wants the CPU",
        to: "it has the mutex and reads the clock",
        others: &[],
        original: "pi_stress",
        stimulus: Stimulus::Thread,
        needs: "",
        options: &[
            PROTOCOL,
            MethodOption {
                key: "work",
                values: Values::Number { least: 1, most: 10_000, default: 50 },
                what: "how long the mutex is held, in us",
            },
        ],
    },
    MethodDefinition {
        method: Method::Migrate,
        name: "migrate",
        from: "instant at which one thread more than there are CPUs wakes",
        to: "each of the most urgent threads, one per CPU, reads the clock",
        others: &[],
        original: "rt-migrate-test",
        stimulus: Stimulus::Timer,
        needs: "",
        options: &[MethodOption {
            key: "work",
            values: Values::Number { least: 1, most: 1_000_000, default: 200 },
            what: "how long each thread keeps its CPU, in us; less than --interval",
        }],
    },
    MethodDefinition {
        method: Method::Deadline,
        name: "deadline",
        from: "start of a period of a SCHED_DEADLINE thread; its length is --interval",
        to: "the thread reads the clock",
        others: &[],
        original: "cyclicdeadline",
        stimulus: Stimulus::Timer,
        needs: "a kernel with SCHED_DEADLINE, with room in sched_rt_runtime_us",
        options: &[],
    },
    MethodDefinition {
        method: Method::Noise,
        name: "noise",
        from: "a thread that does nothing else reads the clock",
        to: "it reads the clock again",
        others: &[],
        original: "oslat",
        stimulus: Stimulus::Busy,
        needs: "",
        options: &[MethodOption {
            key: "rt",
            values: Values::Flag,
            what: "with the run's real-time priority instead of SCHED_OTHER; leaves nothing else time on its CPUs",
        }],
    },
    MethodDefinition {
        method: Method::Hardware,
        name: "hardware",
        from: "start of the largest gap between two reads of the clock in a part of each period",
        to: "its end",
        others: &[],
        original: "hwlat tracer (hwlatdetect)",
        stimulus: Stimulus::Busy,
        needs: "",
        options: &[MethodOption {
            key: "width",
            values: Values::Number { least: 1, most: 90, default: 50 },
            what: "part of each period in which the clock is read, in %",
        }],
    },
    MethodDefinition {
        method: Method::Map,
        name: "map",
        from: "a busy thread reads the clock for the last time before it loses the CPU",
        to: "it reads the clock again",
        others: &[],
        original: "Hourglass",
        stimulus: Stimulus::Busy,
        needs: "",
        options: &[
            MethodOption {
                key: "threads",
                values: Values::Number { least: 1, most: 16, default: 2 },
                what: "busy threads on each measured CPU",
            },
            MethodOption {
                key: "file",
                values: Values::Text,
                what: "a TOML file with the threads, each with its own CPU, policy, period and work, in place of threads=, policy=, \
                       priority= and work=",
            },
            MethodOption {
                key: "policy",
                values: Values::OneOf(&["other", "fifo", "rr"]),
                what: "their scheduling policy, in place of the run's",
            },
            MethodOption {
                key: "priority",
                values: Values::Number { least: 1, most: 98, default: 10 },
                what: "their real-time priority with fifo or rr",
            },
            MethodOption {
                key: "work",
                values: Values::Number { least: 1, most: 100, default: 100 },
                what: "percent of each interval for which a thread works; with fifo or rr by default 80 for all together",
            },
            MethodOption {
                key: "gap_ns",
                values: Values::Number { least: 200, most: 1_000_000_000, default: 1_000 },
                what: "readings of the clock further apart than this are a sample, in ns",
            },
        ],
    },
    MethodDefinition {
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
    },
    MethodDefinition {
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
    },
    MethodDefinition {
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
    },
    MethodDefinition {
        method: Method::Udp,
        name: "udp",
        from: "a thread is about to send a datagram",
        to: "the thread that waits for the answer reads the clock",
        others: &[OtherPath {
            options: &[("sample", "arrival")],
            from: "the kernel receives the answer, by its time stamp",
            to: "the thread that waits for the answer reads the clock",
        }],
        original: "lpptest, over a network",
        stimulus: Stimulus::Thread,
        needs: "a kernel with IPv4",
        options: &[
            MethodOption {
                key: "sample",
                values: Values::OneOf(&["round-trip", "arrival"]),
                what: "the whole round trip, or from the kernel's receive time stamp of the answer to the thread",
            },
            HOPS,
            DELAY,
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Serial,
        name: "serial",
        from: "a thread is about to write a byte to a serial line",
        to: "the thread that waits for the answer reads the clock",
        others: &[OtherPath {
            options: &[("role", "answer")],
            from: "a thread has read a byte from the serial line",
            to: "the answer is written",
        }],
        original: "the Woerner test",
        stimulus: Stimulus::Thread,
        needs: "role=both: pseudo-terminals (/dev/ptmx); otherwise a serial port with another machine behind it",
        options: &[
            ROLE,
            port("serial port of role=stimulus and role=answer, or the Unix socket of a virtual machine's port"),
            MethodOption {
                key: "baud",
                values: Values::Number { least: 50, most: 4_000_000, default: 115_200 },
                what: "speed of the serial port",
            },
            HOPS,
            DELAY,
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Ethernet,
        name: "ethernet",
        from: "a thread is about to send a raw frame",
        to: "the thread that waits for the answer reads the clock",
        others: &[
            OtherPath {
                options: &[("role", "answer")],
                from: "the kernel receives a frame, by its time stamp",
                to: "the answer is sent",
            },
            OtherPath {
                options: &[("sample", "arrival")],
                from: "the kernel receives the answer, by its time stamp",
                to: "the thread that waits for the answer reads the clock",
            },
            OtherPath {
                options: &[("sample", "one-way")],
                from: "a thread is about to send a raw frame",
                to: "the thread that receives it reads the clock",
            },
        ],
        original: "lpptest, over Ethernet",
        stimulus: Stimulus::Thread,
        needs: "CAP_NET_RAW, the module af_packet, and a link; without interface= the loop-back interface",
        options: &[
            ROLE,
            MethodOption { key: "interface", values: Values::Text, what: "the network interface; lo by default" },
            MethodOption {
                key: "far",
                values: Values::Text,
                what: "role=both: the interface at the other end of the wire; by default the same",
            },
            MethodOption {
                key: "up",
                values: Values::Flag,
                what: "set the interfaces up for the run, and back afterwards",
            },
            MethodOption {
                key: "sample",
                values: Values::OneOf(&["round-trip", "arrival", "one-way"]),
                what: "the round trip; from the kernel's receive time stamp of the answer to the thread; or, with both ends \
                       here, from the stimulus to the thread that reads it",
            },
            HOPS,
            DELAY,
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Gpio,
        name: "gpio",
        from: "the kernel sees an edge on a line",
        to: "the answering line has changed",
        others: &[
            OtherPath {
                options: &[("role", "stimulus"), ("sample", "arrival")],
                from: "the kernel sees the edge that answers",
                to: "the thread that waits for the edge reads the clock",
            },
            OtherPath {
                options: &[("role", "stimulus")],
                from: "a thread is about to change a line",
                to: "the thread that waits for the edge reads the clock",
            },
        ],
        original: "lpptest and LRTBF, by GPIO",
        stimulus: Stimulus::Thread,
        needs: "a GPIO character device (/dev/gpiochip0), two lines and what is wired to them",
        options: &[
            WIRED_ROLE,
            MethodOption { key: "chip", values: Values::Text, what: "the device; /dev/gpiochip0 by default" },
            MethodOption {
                key: "in",
                values: Values::Number { least: 0, most: 4095, default: 0 },
                what: "line where edges come in",
            },
            MethodOption {
                key: "out",
                values: Values::Number { least: 0, most: 4095, default: 0 },
                what: "line that changes with each stimulus or answer",
            },
            MethodOption {
                key: "sample",
                values: Values::OneOf(&["round-trip", "arrival"]),
                what: "role=stimulus: the round trip, or from the kernel's time stamp of the answer to the thread",
            },
            HOPS,
            DELAY,
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Parallel,
        name: "parallel",
        from: "the thread has read an interrupt",
        to: "the strobe is given",
        others: &[OtherPath {
            options: &[("role", "stimulus")],
            from: "a thread is about to give a strobe",
            to: "the thread that waits for the interrupt reads the clock",
        }],
        original: "lpptest",
        stimulus: Stimulus::Thread,
        needs: "a parallel port with an interrupt (/dev/parport0), the modules parport_pc and ppdev, and what is wired to it",
        options: &[
            WIRED_ROLE,
            port("the port; /dev/parport0 by default"),
            MethodOption {
                key: "echo_us",
                values: Values::Number { least: 0, most: 1_000_000, default: 0 },
                what: "role=answer: interrupts that come this long after a strobe are its echo, as on QEMU's port",
            },
            HOPS,
            DELAY,
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Storage,
        name: "storage",
        from: "a thread is about to read or write a block",
        to: "the data is read or written as the mode requires, and the thread reads the clock",
        others: &[],
        original: "fio, with one request at a time",
        stimulus: Stimulus::OwnCall,
        needs: "a directory to make a file in, on a file system on a block device, or a block device",
        options: &[
            MethodOption {
                key: "engine",
                values: Values::OneOf(&["builtin", "fio"]),
                what: "what makes the requests: the measuring threads, or the program fio, which must be on the target",
            },
            MethodOption {
                key: "ioengine",
                values: Values::Text,
                what: "engine=fio: how fio makes them, such as psync (default), libaio or io_uring",
            },
            MethodOption {
                key: "iodepth",
                values: Values::Number { least: 1, most: 4096, default: 1 },
                what: "engine=fio: requests of a thread that are under way at a time",
            },
            MethodOption { key: "op", values: Values::OneOf(&["read", "write"]), what: "the requests" },
            MethodOption {
                key: "mode",
                values: Values::OneOf(&["direct", "sync", "dsync", "fsync", "fdatasync", "buffered"]),
                what: "O_DIRECT; O_SYNC; O_DSYNC; a call of fsync or fdatasync after each write, in the sample; or only the page \
                       cache. Reads are direct, or of blocks that are not in the page cache",
            },
            MethodOption {
                key: "block",
                values: Values::OneOf(&[
                    "4k", "512", "1k", "2k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m",
                ]),
                what: "bytes of a request",
            },
            MethodOption { key: "order", values: Values::OneOf(&["random", "sequential"]), what: "of the blocks" },
            MethodOption {
                key: "pace",
                values: Values::OneOf(&["interval", "back-to-back"]),
                what: "a request each --interval, or the next one when the last one is done",
            },
            MethodOption {
                key: "threads",
                values: Values::Number { least: 1, most: 64, default: 1 },
                what: "threads, each with one request at a time in its own part, spread over the measured CPUs",
            },
            MethodOption {
                key: "size_mb",
                values: Values::Number { least: 1, most: 1_048_576, default: 64 },
                what: "size of the file, in MiB; of a device, the part from its start that is used",
            },
            MethodOption {
                key: "directory",
                values: Values::Text,
                what: "where to make the file, which is removed at the end; /var/tmp by default",
            },
            MethodOption {
                key: "device",
                values: Values::Text,
                what: "a block device in place of a file, such as /dev/sdb",
            },
            MethodOption {
                key: "phases",
                values: Values::OneOf(&["on", "off"]),
                what: "record the way of each request through the block layer, where the kernel can be traced",
            },
            MethodOption {
                key: "overwrite",
                values: Values::Flag,
                what: "permit writes to the device, which destroy what is on it; one in use is refused all the same",
            },
        ],
    },
    MethodDefinition {
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
    },
];
