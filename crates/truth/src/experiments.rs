//! What is injected where, and which culprit is right.

/// Where an experiment takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The machine this runs on.
    Here,
    /// A virtual machine with one of Debian's kernels, as `tardy target add --kernel` takes it.
    Virtual(&'static str),
}

impl Place {
    /// Name in paths and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Virtual(kernel) => kernel.trim_start_matches("debian:"),
        }
    }
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
    /// Length on real processors; emulated ones get [`EMULATED_LONGER`] times as much.
    pub length_us: u64,
    pub pause_us: u64,
    /// Whether the injector needs the kernel module.
    pub module: bool,
}

/// An emulated processor does everything more slowly, so that only what takes longer stands out.
pub const EMULATED_LONGER: u64 = 8;

const RT: Place = Place::Virtual("debian:6.1-rt");
const ORDINARY_KERNEL: Place = Place::Virtual("debian:6.1");
const NEWER_RT: Place = Place::Virtual("debian:6.12-rt");
const HERE: &[Place] = &[Place::Here];
const KERNELS: &[Place] = &[RT, ORDINARY_KERNEL, NEWER_RT];
const WITHOUT_RT: &[Place] = &[ORDINARY_KERNEL];
const EVERYWHERE: &[Place] = &[Place::Here, RT, ORDINARY_KERNEL, NEWER_RT];

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
};

const SECTION: Experiment = Experiment { places: KERNELS, module: true, ..ORDINARY };

pub const EXPERIMENTS: &[Experiment] = &[
    Experiment { name: "rt-task", injector: "rt-task", culprits: &["other-rt-task"], places: EVERYWHERE, ..ORDINARY },
    Experiment {
        name: "stop",
        injector: "stop",
        culprits: &["thread-stopped"],
        places: EVERYWHERE,
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
        name: "many-timers",
        injector: "many-timers",
        length: Length::Exact,
        culprits: &["timers"],
        ..ORDINARY
    },
    Experiment {
        name: "multicast",
        injector: "multicast",
        length: Length::Exact,
        culprits: &["softirq", "network"],
        ..ORDINARY
    },
    Experiment { name: "poll", injector: "poll", length: Length::Exact, culprits: &["blocking-task"], ..ORDINARY },
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
    Experiment { name: "call", injector: "sections --kind call", culprits: &["previous-irq"], ..SECTION },
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
        self.length_us * if place == Place::Here { 1 } else { EMULATED_LONGER }
    }
}

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}
