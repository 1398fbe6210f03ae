//! The options that several methods share.

use super::{MethodOption, Values};

/// Where the thread is that gives the stimulus.
pub const PARTNER: MethodOption = MethodOption {
    key: "partner",
    values: Values::OneOf(&["same", "other"]),
    what: "CPU of the thread that gives the stimulus: the measured one, or another",
};

/// What ran before a hand-over.
pub const CACHES: MethodOption = MethodOption {
    key: "caches",
    values: Values::OneOf(&["cold", "warm"]),
    what: "cold: the hand-over is the first thing that its thread does after its sleep; warm: one that is not counted comes \
           immediately before it, with rounds=requested 15 rounds",
};

/// Which of the two threads starts a hand-over.
pub const ROUNDS: MethodOption = MethodOption {
    key: "rounds",
    values: Values::OneOf(&["scheduled", "requested"]),
    what: "scheduled: a less urgent thread gives each stimulus on schedule; requested: as in rt-tests, the measuring thread sleeps, \
           requests the stimulus by a call of the same kind and waits, and the other thread has the same priority",
};

pub const PROTOCOL: MethodOption = MethodOption {
    key: "protocol",
    values: Values::OneOf(&["inherit", "none"]),
    what: "priority inheritance of the mutex",
};

pub const HOPS: MethodOption = MethodOption {
    key: "hops",
    values: Values::Number { least: 0, most: 64, default: 0 },
    what: "threads between the one that reads the stimulus and the one that answers",
};

pub const HZ: MethodOption = MethodOption {
    key: "hz",
    values: Values::Number { least: 2, most: 8192, default: 1024 },
    what: "interrupts per second; --interval has no meaning",
};

pub const DEVICE: MethodOption =
    MethodOption { key: "device", values: Values::Text, what: "the device; by default the first one" };

pub const DELAY: MethodOption = MethodOption {
    key: "delay_us",
    values: Values::Number { least: 0, most: 10_000_000, default: 0 },
    what: "a known delay of the answer in us, to check a measurement",
};

pub const ROLE: MethodOption = MethodOption {
    key: "role",
    values: Values::OneOf(&["both", "stimulus", "answer"]),
    what: "the ends of the wire on this machine: both; the one that gives the stimulus and measures the round trip; or the one \
           that answers another machine and measures how long it took",
};

pub const WIRED_ROLE: MethodOption = MethodOption {
    key: "role",
    values: Values::OneOf(&["answer", "stimulus"]),
    what: "answer another machine, or give the stimulus and measure the round trip",
};

pub const fn port(what: &'static str) -> MethodOption {
    MethodOption { key: "port", values: Values::Text, what }
}
