//! Methods that measure from a stimulus on a wire to its answer.

use crate::method::options::{DELAY, HOPS, PARTNER, ROLE, WIRED_ROLE, port};
use crate::method::{Method, MethodDefinition, MethodOption, OtherPath, Stimulus, Values};

pub const UDP: MethodDefinition = MethodDefinition {
    method: Method::Udp,
    name: "udp",
    from: "a thread is about to send a datagram",
    to: "the thread that waits for the answer reads the clock",
    others: &[
        OtherPath {
            options: &[("role", "answer")],
            from: "the kernel receives a datagram, by its time stamp",
            to: "the answer is sent",
        },
        OtherPath {
            options: &[("sample", "arrival")],
            from: "the kernel receives the answer, by its time stamp",
            to: "the thread that waits for the answer reads the clock",
        },
    ],
    original: "lpptest, over a network",
    stimulus: Stimulus::Thread,
    needs: "a kernel with IPv4; role=both: the loop-back interface; otherwise a network to another machine",
    options: &[
        ROLE,
        MethodOption {
            key: "address",
            values: Values::Text,
            what: "role=answer: address and port of this machine to listen at; role=stimulus: those of the target",
        },
        MethodOption {
            key: "sample",
            values: Values::OneOf(&["round-trip", "arrival"]),
            what: "the whole round trip, or from the kernel's receive time stamp of the answer to the thread",
        },
        HOPS,
        DELAY,
        PARTNER,
    ],
};

pub const SERIAL: MethodDefinition = MethodDefinition {
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
};

pub const ETHERNET: MethodDefinition = MethodDefinition {
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
};

pub const GPIO: MethodDefinition = MethodDefinition {
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
            key: "edge",
            values: Values::OneOf(&["both", "falling", "rising"]),
            what: "role=answer: the edges that are a stimulus; with one direction the answer is a rising edge, which the \
                   opposite edge takes back",
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
};

pub const PARALLEL: MethodDefinition = MethodDefinition {
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
};
