//! Every method, in the order to show them.

use super::{Method, MethodDefinition, MethodOption, Stimulus, Values};

/// Where the thread is that gives the stimulus.
const PARTNER: MethodOption = MethodOption {
    key: "partner",
    values: Values::OneOf(&["same", "other"]),
    what: "CPU of the thread that gives the stimulus: the measured one, or another",
};

/// Every method.
pub static METHODS: [MethodDefinition; 2] = [
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
];
