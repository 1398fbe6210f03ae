//! The machines that are made late: this one, and virtual ones.

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

    /// Whether its clock stands still while the host does not execute it.
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
