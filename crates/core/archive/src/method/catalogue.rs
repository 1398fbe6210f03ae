//! Every method, in the order to show them.

mod devices;
mod round_trips;

use super::options::{CACHES, PARTNER, PROTOCOL, ROUNDS};
use super::{Method, MethodDefinition, MethodOption, OtherPath, Stimulus, Values};

const RUNS: &str = "the thread that waits for it reads the clock";
const MOST_URGENT: &str = "each of the most urgent threads, one per CPU, reads the clock";

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
            ROUNDS,
        ],
    ),
    hand_over(
        Method::Mutex,
        "mutex",
        "another thread is about to unlock a mutex",
        "ptsematest",
        "",
        &[PROTOCOL, PARTNER, CACHES, ROUNDS],
    ),
    hand_over(
        Method::Signal,
        "signal",
        "another thread is about to send a signal",
        "signaltest, sigwaittest",
        "",
        &[
            MethodOption {
                key: "call",
                values: Values::OneOf(&["tgkill", "pthread_kill"]),
                what: "tgkill: that system call alone; pthread_kill: also the three that the C library's pthread_kill makes around it, \
                       as in signaltest",
            },
            PARTNER,
            CACHES,
            ROUNDS,
        ],
    ),
    hand_over(
        Method::MessageQueue,
        "message-queue",
        "another thread is about to send a message (mq_send)",
        "pmqtest",
        "a kernel with CONFIG_POSIX_MQUEUE",
        &[PARTNER, CACHES, ROUNDS],
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
        to: MOST_URGENT,
        others: &[OtherPath {
            options: &[("wake", "call")],
            from: "a thread is about to wake one thread more than there are CPUs",
            to: MOST_URGENT,
        }],
        original: "rt-migrate-test",
        stimulus: Stimulus::Timer,
        needs: "",
        options: &[
            MethodOption {
                key: "work",
                values: Values::Number { least: 1, most: 1_000_000, default: 200 },
                what: "how long each thread keeps its CPU, in us; less than --interval",
            },
            MethodOption {
                key: "wake",
                values: Values::OneOf(&["timer", "call"]),
                what: "what wakes the threads: a timer of each, or one system call of a more urgent thread, as in rt-migrate-test",
            },
        ],
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
    devices::RTC,
    devices::HPET,
    devices::UIO,
    round_trips::UDP,
    round_trips::SERIAL,
    round_trips::ETHERNET,
    round_trips::GPIO,
    round_trips::PARALLEL,
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
    devices::AUDIO,
];
