//! Caveats about all figures measured on a machine.

use archive::problem::Problem;
use std::fmt;

/// A caveat about all figures measured on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Problem)]
pub enum Caveat {
    /// A program emulates the processor.
    #[problem(
        code = "machine.emulated",
        meaning = "A program imitates the machine's processor. The order of events is real, their durations are not.",
        fix = "measure on the hardware in question"
    )]
    Emulated,
    /// A virtual machine on the host's processor.
    #[problem(
        code = "machine.virtual",
        meaning = "The machine is a virtual one; its latencies contain what its host did meanwhile.",
        fix = "measure on the hardware in question, or say only what holds for this guest on this host",
        documented_fix = "Measure on the hardware in question, or claim only what holds for this guest on this host."
    )]
    Virtual,
    /// Its clock counts executed instructions.
    #[problem(
        code = "machine.virtual-time",
        meaning = "The machine's clock counts executed instructions. Figures repeat exactly and prove no deadline.",
        fix = "measure on the hardware in question"
    )]
    VirtualTime { realtime_permitted: bool },
}

impl Caveat {
    /// Whether a program emulates the machine, so that no real-time limit can be judged there.
    pub fn is_emulated(self) -> bool {
        !matches!(self, Self::Virtual)
    }

    /// Whether its clock counts executed instructions. Limits then apply to instructions.
    pub fn is_virtual_time(self) -> bool {
        matches!(self, Self::VirtualTime { .. })
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated => out.write_str(
                "THIS MACHINE IS EMULATED: its latencies mean nothing as real-time figures. What ran, in which order, and \
                 why is real; how long it took is not",
            ),
            Self::Virtual => {
                out.write_str("this is a virtual machine: its latencies contain what the host did meanwhile")
            }
            Self::VirtualTime { realtime_permitted } => {
                out.write_str(
                    "THESE FIGURES ARE VIRTUAL TIME: instructions executed, one nanosecond each. They repeat exactly and \
                     compare kernels; they prove no deadline of any hardware",
                )?;
                if *realtime_permitted {
                    return Ok(());
                }
                out.write_str(
                    ". Without the right to real-time priorities the emulator's threads race, and rarely a figure moves \
                     by up to 1 us",
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_judged_in_virtual_time_and_not_under_emulation() {
        assert!(Caveat::Emulated.is_emulated() && !Caveat::Emulated.is_virtual_time());
        let exact = Caveat::VirtualTime { realtime_permitted: false };
        assert!(exact.is_emulated() && exact.is_virtual_time() && exact.to_string().contains("1 us"));
        assert!(!Caveat::Virtual.is_emulated());
    }
}
