//! Every method, in the order to show them.

use super::{Method, MethodDefinition, MethodOption, Stimulus, Values};

/// Where the thread is that gives the stimulus.
const PARTNER: MethodOption = MethodOption {
    key: "partner",
    values: Values::OneOf(&["same", "other"]),
    what: "CPU of the thread that gives the stimulus: the measured one, or another",
};

/// Every method.
pub static METHODS: [MethodDefinition; 3] = [
    MethodDefinition {
        method: Method::Timer,
        name: "timer",
        from: "instant at which a timer is due",
        to: "the thread that waits for it reads the clock",
        original: "cyclictest",
        stimulus: Stimulus::Timer,
        needs: "",
        options: &[],
    },
    MethodDefinition {
        method: Method::Semaphore,
        name: "semaphore",
        from: "another thread is about to post a semaphore",
        to: "the thread that waits for it reads the clock",
        original: "svsematest",
        stimulus: Stimulus::Thread,
        needs: "kind=sysv: a kernel with CONFIG_SYSVIPC",
        options: &[
            MethodOption {
                key: "kind",
                values: Values::OneOf(&["posix", "sysv"]),
                what: "sem_post and sem_wait, or semop as svsematest does",
            },
            PARTNER,
        ],
    },
    MethodDefinition {
        method: Method::Map,
        name: "map",
        from: "a busy thread reads the clock for the last time before it loses the CPU",
        to: "it reads the clock again",
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
];
