//! Caveats about the figures of a machine, and events while a command runs there.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;
use std::time::Duration;

/// A caveat about all figures measured on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caveat {
    /// A program emulates the processor.
    Emulated,
    /// A virtual machine on the host's processor.
    Virtual,
    /// Its clock counts executed instructions.
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

impl ProblemKind for Caveat {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::Emulated => "machine.emulated",
            Self::Virtual => "machine.virtual",
            Self::VirtualTime { .. } => "machine.virtual-time",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::Emulated | Self::VirtualTime { .. } => "measure on the hardware in question".into(),
            Self::Virtual => {
                "measure on the hardware in question, or say only what holds for this guest on this host".into()
            }
        }
    }
}

/// Lines that were damaged in transit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConsoleDamage {
    /// Lines with results that have arrived.
    pub arrived: u64,
    /// Session lines that were damaged.
    pub damaged: u64,
    /// Lines that were requested again.
    pub repeated: u64,
}

impl ConsoleDamage {
    /// Whether a line was damaged or repeated.
    pub fn is_any(self) -> bool {
        self.damaged > 0 || self.repeated > 0
    }
}

impl fmt::Display for ConsoleDamage {
    /// All data has arrived; otherwise the run would not have an end at which this is reported.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "on the console, other output damaged {} lines, and {} were sent again to have all {}; nothing was lost",
            self.damaged, self.repeated, self.arrived
        )
    }
}

/// How long the host did not execute a virtual processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessorAbsence {
    pub cpu: u32,
    pub stopped_ns: i64,
    pub waited_ns: i64,
}

/// An event of a machine, or of the connection to it, while a command ran there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineEvent {
    /// The connection was lost; the command continues there.
    LineLost {
        machine: String,
        last_output: Option<String>,
    },
    LineBack {
        machine: String,
        after: Duration,
    },
    /// Lines on a console were damaged, and sent again.
    ConsoleDamaged(ConsoleDamage),
    /// It is unknown when the host executed the machine.
    AbsencesUnknown {
        why: String,
    },
    /// The host did not always execute the machine; only absences of at least `stretch_ns` count.
    Absent {
        stretch_ns: i64,
        processors: Vec<ProcessorAbsence>,
    },
}

impl MachineEvent {
    /// Whether the archive keeps it.
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::LineLost { .. })
    }
}

impl fmt::Display for MachineEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineLost { machine, last_output } => {
                write!(out, "the connection to {machine} is lost")?;
                if let Some(output) = last_output {
                    write!(out, " ({output})")?;
                }
                out.write_str("; the run continues there")
            }
            Self::LineBack { machine, after } => {
                write!(out, "the connection to {machine} is back after {:.1} s; nothing was lost", after.as_secs_f64())
            }
            Self::ConsoleDamaged(damage) => damage.fmt(out),
            Self::AbsencesUnknown { why } => {
                write!(out, "when the host did not execute this machine is unknown: {why}")
            }
            Self::Absent { stretch_ns, processors } => {
                let words: Vec<String> = processors.iter().map(words_of).collect();
                write!(
                    out,
                    "the host did not execute the machine all the time, in stretches of {} µs and more: {}; its late \
                     wake-ups are distinguished where they were recorded",
                    stretch_ns / 1000,
                    words.join(", ")
                )
            }
        }
    }
}

fn words_of(absence: &ProcessorAbsence) -> String {
    let ms = |ns: i64, happened: &str| (ns > 0).then(|| format!("{happened} for {} ms", ns / 1_000_000));
    let parts = [ms(absence.stopped_ns, "was stopped"), ms(absence.waited_ns, "waited for a CPU of the host")];
    format!("CPU {} {}", absence.cpu, parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
}

impl ProblemKind for MachineEvent {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::LineLost { .. } => "machine.line-lost",
            Self::LineBack { .. } => "machine.line-back",
            Self::ConsoleDamaged(_) => "machine.console-damaged",
            Self::AbsencesUnknown { .. } => "machine.absences-unknown",
            Self::Absent { .. } => "machine.absent",
        })
    }
}

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "machine.emulated",
        meaning: "A program imitates the machine's processor. The order of events is real, their durations are not.",
        fix: "Measure on the hardware in question.",
    },
    Definition {
        code: "machine.virtual",
        meaning: "The machine is a virtual one; its latencies contain what its host did meanwhile.",
        fix: "Measure on the hardware in question, or claim only what holds for this guest on this host.",
    },
    Definition {
        code: "machine.virtual-time",
        meaning: "The machine's clock counts executed instructions. Figures repeat exactly and prove no deadline.",
        fix: "Measure on the hardware in question.",
    },
    Definition {
        code: "machine.line-lost",
        meaning: "The connection to the machine was lost while the measurement goes on there.",
        fix: "Nothing: tardy reconnects. After it gives up, `tardy collect` fetches the rest.",
    },
    Definition {
        code: "machine.line-back",
        meaning: "The connection to the machine was lost for a while. Nothing of the run was lost.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "machine.console-damaged",
        meaning: "Kernel messages damaged lines on the serial console; they were sent again. Nothing was lost.",
        fix: "A lower console log level (`dmesg -n 1`) avoids it.",
    },
    Definition {
        code: "machine.absences-unknown",
        meaning: "It could not be recorded when the host did not execute the virtual processors.",
        fix: "Use a host kernel with CONFIG_SCHED_INFO and a QEMU that names its threads.",
    },
    Definition {
        code: "machine.absent",
        meaning: "The host did not execute the virtual processors all the time.",
        fix: "Give the virtual machine processors of its own, or measure on hardware.",
    },
];

#[cfg(test)]
pub(crate) fn assert_defined(kinds: &[&dyn ProblemKind], definitions: &[Definition]) {
    let codes: Vec<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
    let defined: Vec<&str> = definitions.iter().map(|definition| definition.code).collect();
    assert_eq!(codes, defined);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined_once() {
        let kinds: [&dyn ProblemKind; 8] = [
            &Caveat::Emulated,
            &Caveat::Virtual,
            &Caveat::VirtualTime { realtime_permitted: true },
            &MachineEvent::LineLost { machine: String::new(), last_output: None },
            &MachineEvent::LineBack { machine: String::new(), after: Duration::ZERO },
            &MachineEvent::ConsoleDamaged(ConsoleDamage::default()),
            &MachineEvent::AbsencesUnknown { why: String::new() },
            &MachineEvent::Absent { stretch_ns: 0, processors: Vec::new() },
        ];
        assert_defined(&kinds, DEFINITIONS);
    }

    #[test]
    fn a_clean_line_is_not_worth_a_word() {
        assert!(!ConsoleDamage { arrived: 7, ..ConsoleDamage::default() }.is_any());
        let damage = ConsoleDamage { arrived: 700, damaged: 3, repeated: 4 };
        let text = damage.to_string();
        assert!(damage.is_any());
        assert!(text.contains("3 lines were damaged") && text.contains("4 were sent again to have all 700"), "{text}");
    }

    #[test]
    fn a_limit_is_judged_in_virtual_time_and_not_under_emulation() {
        assert!(Caveat::Emulated.is_emulated() && !Caveat::Emulated.is_virtual_time());
        let exact = Caveat::VirtualTime { realtime_permitted: false };
        assert!(exact.is_emulated() && exact.is_virtual_time() && exact.to_string().contains("1 us"));
        assert!(!Caveat::Virtual.is_emulated());
    }

    #[test]
    fn absences_are_shown_per_processor() {
        let processor = ProcessorAbsence { cpu: 1, stopped_ns: 2_000_000, waited_ns: 0 };
        let text = MachineEvent::Absent { stretch_ns: 50_000, processors: vec![processor] }.to_string();
        assert!(text.contains("50 µs") && text.contains("CPU 1 was stopped for 2 ms;"), "{text}");
    }
}
