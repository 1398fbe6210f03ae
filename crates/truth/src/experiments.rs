//! What is injected where, and which culprit is right.

/// Where an experiment takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The machine this runs on.
    Here,
    /// An emulated machine of two CPUs with one of Debian's kernels, as `tardy target add --kernel` takes it.
    Virtual(&'static str),
    /// An emulated machine of one CPU whose clock counts the instructions it has executed.
    VirtualTime(&'static str),
    /// The same with processors of the architecture arm64. The kernel module is built for none of these.
    ArmVirtualTime(&'static str),
}

impl Place {
    /// Name in paths and tables.
    pub fn name(self) -> String {
        match self {
            Self::Here => "here".into(),
            Self::Virtual(kernel) => series(kernel).into(),
            Self::VirtualTime(kernel) | Self::ArmVirtualTime(kernel) => {
                format!("{}{}-virtual-time", self.architecture_prefix(), series(kernel))
            }
        }
    }

    /// Name of the directory that `kernels/inject/build-for` left for it.
    pub fn directory(self) -> String {
        match self {
            Self::Here => self.name(),
            Self::Virtual(kernel) | Self::VirtualTime(kernel) | Self::ArmVirtualTime(kernel) => {
                format!("{}{}", self.architecture_prefix(), series(kernel))
            }
        }
    }

    fn architecture_prefix(self) -> &'static str {
        if matches!(self, Self::ArmVirtualTime(_)) { "arm64-" } else { "" }
    }

    /// Whether its clock stands still while nobody executes it.
    pub fn in_virtual_time(self) -> bool {
        matches!(self, Self::VirtualTime(_) | Self::ArmVirtualTime(_))
    }

    /// The CPU that is measured and made late.
    pub fn cpu(self) -> u32 {
        match self {
            Self::VirtualTime(_) | Self::ArmVirtualTime(_) => 0,
            Self::Here | Self::Virtual(_) => 1,
        }
    }

    /// How many times longer an injection must be to stand out: an emulated processor does everything more slowly, but not
    /// by the clock that counts its instructions.
    pub fn longer(self) -> u64 {
        match self {
            Self::Virtual(_) => 8,
            Self::Here | Self::VirtualTime(_) | Self::ArmVirtualTime(_) => 1,
        }
    }
}

/// `debian:6.1-rt` is of the series `6.1-rt`.
pub fn series(kernel: &str) -> &str {
    kernel.trim_start_matches("debian:")
}

/// What the log of an injector says of the time that the culprit had the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// It had the CPU from begin to end, for as long as the injector was told.
    Told,
    /// It had the CPU from begin to end, for as long as that took.
    Exact,
    /// It had it from begin to end, and others of its kind may have had it longer.
    AtLeast,
}

/// One injector with its options, on the places where it can make a CPU late.
#[derive(Debug)]
pub struct Experiment {
    pub name: &'static str,
    /// Command of the injector, with its own options.
    pub injector: &'static str,
    /// Each of them is right.
    pub culprits: &'static [&'static str],
    /// Culprits that the injector also brings about where it writes nothing down.
    pub by_itself: &'static [&'static str],
    pub length: Length,
    pub places: &'static [Place],
    /// Length where nothing is emulated; see [`Place::longer`].
    pub length_us: u64,
    pub pause_us: u64,
    /// Whether the injector needs the kernel module.
    pub module: bool,
    /// Name of the injector's thread whose cycles are watched, instead of a measurement beside it.
    pub watched: Option<&'static str>,
    /// Whether the virtual machine is stopped from outside, for the length of an injection.
    pub stopped: bool,
}

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

const ORDINARY: Experiment = Experiment {
    name: "",
    injector: "",
    culprits: &[],
    by_itself: &[],
    length: Length::Told,
    places: HERE,
    length_us: 2500,
    pause_us: 120_000,
    module: false,
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

pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "rt-task",
        injector: "rt-task",
        culprits: &["other-rt-task"],
        places: HERE_AND_VIRTUAL_TIME_AND_ARM,
        ..ORDINARY
    },
    Experiment {
        name: "stop",
        injector: "stop",
        culprits: &["thread-stopped"],
        places: HERE_AND_VIRTUAL_TIME_AND_ARM,
        length_us: 5000,
        ..ORDINARY
    },
    Experiment {
        name: "starve",
        injector: "starve",
        culprits: &["fair-server", "rt-throttling"],
        length: Length::AtLeast,
        length_us: 1_600_000,
        ..ORDINARY
    },
    Experiment {
        name: "starve-soon",
        injector: "starve --period-us 100000",
        culprits: &["fair-server", "rt-throttling"],
        places: VIRTUAL_TIME_AND_ARM,
        by_itself: &["rt-throttling"],
        length: Length::AtLeast,
        length_us: 160_000,
        pause_us: 40_000,
        ..ORDINARY
    },
    // Kernels for arm64 do not tell of page faults.
    Experiment {
        name: "page-faults",
        injector: "page-faults",
        culprits: &["page-fault"],
        // Its memory is not locked.
        by_itself: &["page-fault"],
        places: HERE_AND_VIRTUAL_TIME,
        ..WATCHED
    },
    Experiment { name: "inversion", injector: "inversion", culprits: &["priority-inversion"], ..WATCHED },
    Experiment { name: "inherited", injector: "inversion --kind inherit", culprits: &["waiting"], ..WATCHED },
    Experiment {
        name: "hypervisor",
        injector: "gaps",
        culprits: &["silence", "steal"],
        places: EMULATED,
        // Where the machine goes on, each of its CPUs waits for one of the host: the host still does not execute it.
        length: Length::AtLeast,
        pause_us: 60_000,
        stopped: true,
        ..ORDINARY
    },
    Experiment {
        name: "many-timers",
        injector: "many-timers",
        length: Length::Exact,
        culprits: &["timers"],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment {
        name: "multicast",
        injector: "multicast",
        length: Length::Exact,
        culprits: &["softirq", "network"],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment {
        name: "poll",
        injector: "poll",
        length: Length::Exact,
        culprits: &["blocking-task"],
        places: HERE_AND_WITHOUT_RT,
        ..ORDINARY
    },
    Experiment { name: "irq-off", injector: "sections --kind irq_off", culprits: &["irqs-off"], ..SECTION },
    Experiment {
        name: "preempt-off",
        injector: "sections --kind preempt_off",
        culprits: &["blocking-task"],
        ..SECTION
    },
    Experiment {
        name: "spin-lock",
        injector: "sections --kind spin_lock",
        culprits: &["blocking-task"],
        places: WITHOUT_RT,
        ..SECTION
    },
    Experiment { name: "timer", injector: "sections --kind timer", culprits: &["timers"], ..SECTION },
    Experiment {
        name: "call",
        injector: "sections --kind call",
        culprits: &["previous-irq"],
        places: EMULATED,
        ..SECTION
    },
    Experiment {
        name: "stop-machine",
        injector: "sections --kind stop_machine",
        culprits: &["stop-machine"],
        ..SECTION
    },
    // Kernels without threads for consoles write to them with interrupts masked, by whoever logged.
    Experiment { name: "console", injector: "sections --kind console", culprits: &["printk", "irqs-off"], ..SECTION },
    Experiment { name: "irq-work", injector: "sections --kind irq_work", culprits: &["irq-work"], ..SECTION },
    Experiment { name: "softirq-timer", injector: "sections --kind softirq", culprits: &["softirq"], ..SECTION },
    Experiment { name: "tasklet", injector: "sections --kind tasklet", culprits: &["softirq"], ..SECTION },
    Experiment { name: "work", injector: "sections --kind work", culprits: &["workqueue"], ..SECTION },
    Experiment { name: "rcu", injector: "sections --kind rcu", culprits: &["rcu"], ..SECTION },
    Experiment { name: "nmi", injector: "sections --kind nmi", culprits: &["nmi"], ..SECTION },
    Experiment {
        name: "insmod",
        injector: "insmod",
        culprits: &["module-load"],
        by_itself: &["module-load"],
        ..SECTION
    },
];

impl Experiment {
    /// What the injector is told, in µs.
    pub fn length_us_at(&self, place: Place) -> u64 {
        self.length_us * place.longer()
    }
}

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
