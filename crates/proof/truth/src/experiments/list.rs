//! The experiments that `make truth` makes.

use super::{Experiment, Length};
use crate::place::Place;
use archive::culprit::Culprit;

const RT: &str = "debian:6.1-rt";
const ORDINARY_KERNEL: &str = "debian:6.1";
const NEWER_RT: &str = "debian:6.12-rt";
const HERE: &[Place] = &[Place::Here];
const EMULATED: &[Place] = &[Place::Virtual(RT), Place::Virtual(ORDINARY_KERNEL), Place::Virtual(NEWER_RT)];
const VIRTUAL_TIME: &[Place] =
    &[Place::VirtualTime(RT), Place::VirtualTime(ORDINARY_KERNEL), Place::VirtualTime(NEWER_RT)];
const VIRTUAL_TIME_AND_ARM: &[Place] = &[
    Place::VirtualTime(RT),
    Place::VirtualTime(ORDINARY_KERNEL),
    Place::VirtualTime(NEWER_RT),
    Place::ArmVirtualTime(RT),
];
const WITHOUT_RT: &[Place] = &[Place::VirtualTime(ORDINARY_KERNEL)];
const HERE_AND_WITHOUT_RT: &[Place] = &[Place::Here, Place::VirtualTime(ORDINARY_KERNEL)];
const HERE_AND_VIRTUAL_TIME: &[Place] =
    &[Place::Here, Place::VirtualTime(RT), Place::VirtualTime(ORDINARY_KERNEL), Place::VirtualTime(NEWER_RT)];
const HERE_AND_VIRTUAL_TIME_AND_ARM: &[Place] = &[
    Place::Here,
    Place::VirtualTime(RT),
    Place::VirtualTime(ORDINARY_KERNEL),
    Place::VirtualTime(NEWER_RT),
    Place::ArmVirtualTime(RT),
];

/// A sample takes some microseconds, and those of all events may be due at once.
const SAMPLES_LIMIT_US: i64 = 60;

const ORDINARY: Experiment = Experiment {
    name: "",
    how: "",
    injector: "",
    parts: &[],
    culprits: &[],
    by_itself: &[],
    length: Length::Requested,
    places: HERE,
    length_us: 2500,
    pause_us: 120_000,
    limit_us: 150,
    seed: 0,
    module: false,
    ordinary: false,
    watched: None,
    stopped: false,
};

const SECTION: Experiment = Experiment { places: VIRTUAL_TIME, module: true, ..ORDINARY };
const WATCHED: Experiment = Experiment {
    length: Length::Exact,
    places: HERE_AND_VIRTUAL_TIME_AND_ARM,
    watched: Some("truth-loop"),
    ..ORDINARY
};

const PIPELINE: Experiment = Experiment {
    culprits: &[Culprit::Waiting],
    // Its threads have one priority and share two CPUs, so one that could run waits for another, which waits for none.
    by_itself: &[Culprit::PriorityInversion],
    // It also waits until the others have a CPU.
    length: Length::AtLeast,
    places: HERE,
    ..WATCHED
};
const MIX: Experiment = Experiment {
    injector: "mix",
    parts: &[
        "rt-task",
        "boost",
        "stop",
        "trace",
        "freeze",
        "lower-priority",
        "lower-policy",
        "moved",
        "rt-budget",
        "samples",
        "masked",
        "many-timers",
        "multicast",
        "poll",
    ],
    // The limit of the kind that disturbs least.
    limit_us: SAMPLES_LIMIT_US,
    ..ORDINARY
};
const MIX_WATCHED: Experiment = Experiment {
    injector: "mix",
    parts: &[
        "page-faults",
        "inversion",
        "inherited",
        "overrun",
        "fsync",
        "pipeline-pipe",
        "pipeline-futex",
        "pipeline-socket",
        "pipeline-eventfd",
    ],
    places: HERE,
    ..WATCHED
};

pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "rt-task",
        how: "a task of priority 90 computes",
        injector: "rt-task",
        culprits: &[Culprit::OtherRtTask],
        places: HERE_AND_VIRTUAL_TIME_AND_ARM,
        ..ORDINARY
    },
    Experiment {
        name: "stop",
        how: "the measuring process is stopped and continued",
        injector: "stop",
        culprits: &[Culprit::ThreadStopped],
        places: HERE_AND_VIRTUAL_TIME_AND_ARM,
        length_us: 5000,
        ..ORDINARY
    },
    Experiment {
        name: "starve",
        how: "a task of priority 10 takes all of the CPU, an ordinary one wants some",
        injector: "starve",
        culprits: &[Culprit::FairServer, Culprit::RtThrottling],
        length: Length::AtLeast,
        length_us: 1_600_000,
        ..ORDINARY
    },
    Experiment {
        name: "starve-soon",
        how: "the same with a period of 100 ms",
        injector: "starve --period-us 100000",
        culprits: &[Culprit::FairServer, Culprit::RtThrottling],
        places: VIRTUAL_TIME_AND_ARM,
        by_itself: &[Culprit::RtThrottling],
        length: Length::AtLeast,
        // Two periods: whenever it begins, it takes all of one.
        length_us: 200_000,
        pause_us: 50_000,
        ..ORDINARY
    },
    // Kernels for arm64 do not record page faults.
    Experiment {
        name: "page-faults",
        how: "a real-time loop touches memory it has not had before",
        injector: "page-faults",
        culprits: &[Culprit::PageFault],
        // Its memory is not locked.
        by_itself: &[Culprit::PageFault],
        places: HERE_AND_VIRTUAL_TIME,
        ..WATCHED
    },
    Experiment {
        name: "inversion",
        how: "a real-time loop waits for a lock that a less urgent task has, and a third one runs",
        injector: "inversion",
        culprits: &[Culprit::PriorityInversion],
        ..WATCHED
    },
    Experiment {
        name: "inherited",
        how: "the same with a lock that inherits priorities: only the holder is in the way",
        injector: "inversion --kind inherit",
        culprits: &[Culprit::Waiting],
        ..WATCHED
    },
    Experiment {
        name: "hypervisor",
        how: "the emulator is stopped and continued; the host notes when, and a second CPU that reads the clock the gap",
        injector: "gaps",
        culprits: &[Culprit::Silence, Culprit::Steal],
        places: EMULATED,
        // Where the machine goes on, each of its CPUs waits for one of the host: the host still does not execute it.
        length: Length::AtLeast,
        pause_us: 60_000,
        stopped: true,
        ..ORDINARY
    },
    Experiment {
        name: "many-timers",
        how: "several thousand timers expire at one instant",
        injector: "many-timers",
        length: Length::Exact,
        culprits: &[Culprit::Timers],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment {
        name: "multicast",
        how: "a packet on the loopback network for 3000 sockets",
        injector: "multicast",
        length: Length::Exact,
        culprits: &[Culprit::Softirq, Culprit::Network],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment {
        name: "poll",
        how: "one system call that asks for 19 000 descriptors, on a kernel that cannot be preempted",
        injector: "poll",
        length: Length::Exact,
        culprits: &[Culprit::BlockingTask],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment {
        name: "irq-off",
        how: "a kernel module masks interrupts",
        injector: "sections --kind irq_off",
        culprits: &[Culprit::IrqsOff],
        ..SECTION
    },
    Experiment {
        name: "preempt-off",
        how: "the same module switches preemption off",
        injector: "sections --kind preempt_off",
        culprits: &[Culprit::BlockingTask],
        ..SECTION
    },
    Experiment {
        name: "spin-lock",
        how: "the same module holds a spin lock",
        injector: "sections --kind spin_lock",
        culprits: &[Culprit::BlockingTask],
        places: WITHOUT_RT,
        ..SECTION
    },
    Experiment {
        name: "timer",
        how: "the same module computes in a timer interrupt",
        injector: "sections --kind timer",
        culprits: &[Culprit::Timers],
        ..SECTION
    },
    Experiment {
        name: "call",
        how: "the same in an interrupt that another CPU asks for",
        injector: "sections --kind call",
        culprits: &[Culprit::PreviousIrq],
        places: EMULATED,
        ..SECTION
    },
    Experiment {
        name: "stop-machine",
        how: "the same in what all CPUs are stopped for",
        injector: "sections --kind stop_machine",
        culprits: &[Culprit::StopMachine],
        ..SECTION
    },
    // Kernels without threads for consoles write to them with interrupts masked, by the task that logged.
    Experiment {
        name: "console",
        how: "the same in a console that a message is written to",
        injector: "sections --kind console",
        culprits: &[Culprit::Printk, Culprit::IrqsOff],
        ..SECTION
    },
    Experiment {
        name: "irq-work",
        how: "the same in an interrupt of deferred work",
        injector: "sections --kind irq_work",
        culprits: &[Culprit::IrqWork],
        ..SECTION
    },
    Experiment {
        name: "softirq-timer",
        how: "the same in a timer of a softirq",
        injector: "sections --kind softirq",
        culprits: &[Culprit::Softirq],
        ..SECTION
    },
    Experiment {
        name: "tasklet",
        how: "the same in a tasklet",
        injector: "sections --kind tasklet",
        culprits: &[Culprit::Softirq],
        ..SECTION
    },
    Experiment {
        name: "work",
        how: "the same in a work queue",
        injector: "sections --kind work",
        culprits: &[Culprit::Workqueue],
        ..SECTION
    },
    Experiment {
        name: "rcu",
        how: "the same in a callback of RCU",
        injector: "sections --kind rcu",
        culprits: &[Culprit::Rcu],
        ..SECTION
    },
    Experiment {
        name: "nmi",
        how: "the same in a non-maskable interrupt",
        injector: "sections --kind nmi",
        culprits: &[Culprit::Nmi],
        ..SECTION
    },
    Experiment {
        name: "insmod",
        how: "a module whose loading takes long",
        injector: "insmod",
        culprits: &[Culprit::ModuleLoad],
        by_itself: &[Culprit::ModuleLoad],
        ..SECTION
    },
    Experiment {
        name: "boost",
        how: "a task of priority 10 computes under a lock that inherits priorities, for which one of priority 95 waits",
        injector: "boost",
        culprits: &[Culprit::BoostedTask],
        places: HERE_AND_VIRTUAL_TIME,
        ..ORDINARY
    },
    Experiment {
        name: "rt-budget",
        how: "the thread and a task of priority 10 are in a control group with a real-time budget, which that task uses up",
        injector: "budget",
        culprits: &[Culprit::RtThrottling],
        length: Length::Exact,
        length_us: 60_000,
        ..ORDINARY
    },
    Experiment {
        name: "cfs-quota",
        how: "the same with two ordinary threads and a CPU quota",
        injector: "budget --kind quota",
        culprits: &[Culprit::CfsQuota],
        by_itself: &[Culprit::CfsQuota],
        // The kernel throttles a thread on its way to user space, and until then and afterwards other ordinary threads have
        // their turns.
        length: Length::AtMost,
        length_us: 60_000,
        limit_us: 10_000,
        ordinary: true,
        ..ORDINARY
    },
    Experiment {
        name: "freeze",
        how: "the control group of the thread is frozen and thawed",
        injector: "freeze",
        culprits: &[Culprit::ThreadFrozen],
        length: Length::Exact,
        length_us: 5000,
        ..ORDINARY
    },
    Experiment {
        name: "trace",
        how: "the thread is stopped by a debugger (ptrace) and let go",
        injector: "stop --kind trace",
        // Where the record begins after the stop it does not show which, and the finding says so.
        culprits: &[Culprit::ThreadStopped, Culprit::ThreadFrozen],
        length_us: 5000,
        places: HERE_AND_VIRTUAL_TIME,
        ..ORDINARY
    },
    Experiment {
        name: "lower-priority",
        how: "a task of priority 50 lowers the thread to 10, computes, and raises it again",
        injector: "lowered",
        culprits: &[Culprit::PriorityChanged],
        places: HERE_AND_VIRTUAL_TIME,
        ..ORDINARY
    },
    Experiment {
        name: "lower-policy",
        how: "the same, to an ordinary policy",
        injector: "lowered --kind policy",
        culprits: &[Culprit::PriorityChanged],
        places: HERE_AND_VIRTUAL_TIME,
        ..ORDINARY
    },
    // It waits for the more urgent task of the CPU that it was moved to.
    Experiment {
        name: "moved",
        how: "a task of priority 90 moves the thread to its own CPU, computes, and moves it back",
        injector: "moved",
        culprits: &[Culprit::OtherRtTask, Culprit::Migration],
        ..ORDINARY
    },
    Experiment {
        name: "samples",
        how: "six events sample a CPU that computes, every 10 µs each, with stacks, as `perf record` does",
        injector: "samples",
        culprits: &[Culprit::IrqStorm],
        length: Length::AtMost,
        length_us: 20_000,
        limit_us: SAMPLES_LIMIT_US,
        ..ORDINARY
    },
    Experiment {
        name: "masked",
        how: "a BPF program computes at an event that is recorded with interrupts masked",
        injector: "masked",
        culprits: &[Culprit::IrqsOff],
        length: Length::Exact,
        length_us: 5000,
        ..ORDINARY
    },
    Experiment {
        name: "stolen",
        how: "nothing: an ordinary thread notes when it stood still and was not charged for it, and others keep all other CPUs busy",
        injector: "stolen",
        culprits: &[Culprit::Steal, Culprit::Silence],
        by_itself: &[Culprit::Steal, Culprit::Silence],
        length: Length::AtLeast,
        // It waits for what happens by itself.
        pause_us: 5_000_000,
        ..ORDINARY
    },
    Experiment {
        name: "overrun",
        how: "a real-time loop computes for longer than its period, and makes up for the cycles it missed",
        injector: "overrun",
        // The cycles after it begin late, by what it took and by what they take themselves.
        culprits: &[Culprit::OwnWork, Culprit::LateArm],
        length: Length::AtLeast,
        places: HERE,
        ..WATCHED
    },
    Experiment {
        name: "fsync",
        how: "a real-time loop writes 4 MiB to a file and waits until the device has it",
        injector: "fsync",
        // It waits for an ordinary worker of the kernel, which others may keep off its CPU.
        culprits: &[Culprit::Waiting, Culprit::Storage, Culprit::PriorityInversion],
        by_itself: &[Culprit::Storage, Culprit::PriorityInversion],
        places: HERE,
        ..WATCHED
    },
    Experiment {
        name: "pipeline-pipe",
        how: "a real-time loop waits for a chain of threads, 3 with itself, that wake each other over pipes; one computes",
        injector: "pipeline --kind pipe --threads 3",
        ..PIPELINE
    },
    Experiment {
        name: "pipeline-futex",
        how: "the same with 4 threads and futexes",
        injector: "pipeline --kind futex --threads 4",
        ..PIPELINE
    },
    Experiment {
        name: "pipeline-socket",
        how: "the same with 6 threads and sockets",
        injector: "pipeline --kind socket --threads 6",
        ..PIPELINE
    },
    Experiment {
        name: "pipeline-eventfd",
        how: "the same with 8 threads and eventfds",
        injector: "pipeline --kind eventfd --threads 8",
        ..PIPELINE
    },
    Experiment {
        name: "mix-1",
        how: "for each injection one of these is drawn: rt-task, boost, stop, trace, freeze, lower-priority, lower-policy, moved, rt-budget, samples, masked, many-timers, multicast or poll",
        seed: 1,
        ..MIX
    },
    Experiment { name: "mix-2", how: "the same with another seed", seed: 2, ..MIX },
    Experiment { name: "mix-3", how: "the same with another seed", seed: 3, ..MIX },
    Experiment {
        name: "mix-watched-1",
        how: "for each injection one of these is drawn: page-faults, inversion, inherited, overrun, fsync or one of the pipelines",
        seed: 1,
        ..MIX_WATCHED
    },
    Experiment { name: "mix-watched-2", how: "the same with another seed", seed: 2, ..MIX_WATCHED },
    Experiment { name: "mix-watched-3", how: "the same with another seed", seed: 3, ..MIX_WATCHED },
];
