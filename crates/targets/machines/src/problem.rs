//! Problems of a machine that are shown beside the figures of a run.

use crate::board::ConsoleDamage;
use crate::qemu::error::{BootError, PrepareError, VirtualMachineError};
use crate::qemu::virtual_time::error::VirtualTimeError;
use crate::target::{Reason, TargetError};
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

/// A problem of preparing a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineProblem {
    /// The login on a board is not root.
    NotRoot { board: String },
    /// The place of a lab was already acquired, and stays acquired.
    PlaceKept { place: String, release: String },
    /// The machine was restored from a saved state.
    Restored,
    /// A saved state could not be loaded.
    StateNotLoaded { why: String },
    /// The state could not be saved.
    StateNotSaved { why: String },
}

impl fmt::Display for MachineProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot { board } => write!(out, "the login on board {board} is not root"),
            Self::PlaceKept { place, .. } => write!(out, "you had place {place} before, so it is not released"),
            Self::Restored => out.write_str(
                "the machine went on from a saved state instead of booting: random numbers, addresses and the boot's id \
                 are those of every run from this state",
            ),
            Self::StateNotLoaded { why } => {
                write!(out, "the saved state did not load, so the machine booted: {why}")
            }
            Self::StateNotSaved { why } => write!(out, "the state of the machine could not be saved: {why}"),
        }
    }
}

impl ProblemKind for MachineProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::NotRoot { .. } => "machine.not-root",
            Self::PlaceKept { .. } => "machine.place-kept",
            Self::Restored => "machine.restored",
            Self::StateNotLoaded { .. } => "machine.state-not-loaded",
            Self::StateNotSaved { .. } => "machine.state-not-saved",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::NotRoot { .. } => "log in as root, or use --sudo with `tardy target add`".into(),
            Self::PlaceKept { release, .. } => format!("when you are done with it: {release}"),
            Self::Restored => "where boots must differ, set `saved_state = false` in the target file".into(),
            Self::StateNotLoaded { .. } => String::new(),
            Self::StateNotSaved { .. } => {
                "the next machine boots as well; `saved_state = false` in the target file spares the attempt".into()
            }
        }
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
pub enum News {
    /// The connection was lost; the command continues there.
    LineLost {
        machine: String,
        last_words: Option<String>,
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

impl News {
    /// Whether the archive keeps it.
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::LineLost { .. })
    }
}

impl fmt::Display for News {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineLost { machine, last_words } => {
                write!(out, "the line to {machine} is lost")?;
                if let Some(words) = last_words {
                    write!(out, " ({words})")?;
                }
                out.write_str("; the run goes on there")
            }
            Self::LineBack { machine, after } => {
                write!(out, "the line to {machine} is back after {:.1} s; nothing was lost", after.as_secs_f64())
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

impl ProblemKind for News {
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

/// The code of what ended a run on a virtual machine, if it is more specific than that the machine is gone.
fn code_of(why: &Reason) -> Option<&'static str> {
    let Reason::VirtualMachine(error) = why else { return None };
    let error = match error.as_ref() {
        VirtualMachineError::Prepare(error) | VirtualMachineError::VirtualTime(VirtualTimeError::Prepare(error)) => {
            error
        }
        VirtualMachineError::Boot(BootError::TooLong { .. }) => return Some("machine.boot-too-long"),
        VirtualMachineError::Boot(BootError::Ended { .. }) => return Some("machine.qemu-ended"),
        VirtualMachineError::Boot(BootError::Guest(_)) => return Some("machine.guest-failed"),
        VirtualMachineError::Boot(_) | VirtualMachineError::VirtualTime(_) => return None,
    };
    match error {
        PrepareError::NoProgram { .. } => Some("machine.no-qemu"),
        PrepareError::Kernel(_) => Some("machine.no-kernel"),
        PrepareError::MeterNotStatic { .. } | PrepareError::MeterArchitecture { .. } => Some("machine.meter-unfit"),
        PrepareError::File(_) | PrepareError::NoScratch(_) => None,
    }
}

impl ProblemKind for TargetError {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::Prepare { why, .. } => code_of(why).unwrap_or("machine.not-prepared"),
            Self::Start { .. } => "machine.not-started",
            Self::Boot { why, .. } => code_of(why).unwrap_or("machine.not-booted"),
            Self::Stopped { .. } => "machine.stopped-while-booting",
            Self::TakeUp { .. } => "machine.not-fetched",
            Self::Gone { .. } => "machine.nothing-kept",
            Self::Copy { .. } => "machine.not-copied",
            Self::GiveBack { .. } => "machine.not-given-back",
        })
    }
}

/// Every code of this crate.
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
        code: "machine.not-root",
        meaning: "The login on the board is not root, so settings cannot be changed and traces cannot be taken.",
        fix: "Log in as root, or use --sudo with `tardy target add`.",
    },
    Definition {
        code: "machine.place-kept",
        meaning: "You had acquired the labgrid place before, so it stays acquired after the run.",
        fix: "Release it with labgrid-client when you are done.",
    },
    Definition {
        code: "machine.restored",
        meaning: "The virtual machine went on from a saved state. All runs from it share that boot's randomness.",
        fix: "Where boots must differ, set `saved_state = false` in the target file.",
    },
    Definition {
        code: "machine.state-not-loaded",
        meaning: "The saved state of the virtual machine did not load; the machine booted instead.",
        fix: "Nothing: the state was removed, and the next boot saves another.",
    },
    Definition {
        code: "machine.state-not-saved",
        meaning: "The state of the virtual machine could not be saved; the next run boots again.",
        fix: "Set `saved_state = false` in the target file to skip the attempt.",
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
    Definition {
        code: "machine.not-prepared",
        meaning: "The machine could not be made ready for files and commands.",
        fix: "Follow the message: it names the host, login, file or program at fault.",
    },
    Definition {
        code: "machine.not-started",
        meaning: "A program could not be started on the machine.",
        fix: "Follow the message.",
    },
    Definition {
        code: "machine.not-booted",
        meaning: "The machine did not boot.",
        fix: "Read console.log in the archive; `boot_seconds` in the target file gives a slow machine more time.",
    },
    Definition {
        code: "machine.boot-too-long",
        meaning: "The virtual machine did not boot within `boot_seconds` of its target file.",
        fix: "Read the end of its console in the message; `boot_seconds` gives a slow machine more time.",
    },
    Definition {
        code: "machine.qemu-ended",
        meaning: "QEMU ended before its guest had booted.",
        fix: "The message quotes QEMU; check `qemu_arguments`, memory and accelerator in the target file.",
    },
    Definition {
        code: "machine.guest-failed",
        meaning: "The guest booted and could not start measuring.",
        fix: "The message quotes the guest; a kernel of your own needs virtio_pci and virtio_console.",
    },
    Definition {
        code: "machine.no-qemu",
        meaning: "QEMU for the guest's architecture is not installed.",
        fix: "Install the package that the message names, or set `qemu` in the target file.",
    },
    Definition {
        code: "machine.no-kernel",
        meaning: "The kernel of the virtual machine, or a module it needs, is not there or cannot be used.",
        fix: "`tardy target add --force` with the same words downloads the kernel; the message names the file at fault.",
    },
    Definition {
        code: "machine.meter-unfit",
        meaning: "The tardy-meter cannot run in the guest: it needs libraries, or is for another architecture.",
        fix: "`make build` makes a static meter, `make meters` those for other architectures.",
    },
    Definition {
        code: "machine.stopped-while-booting",
        meaning: "The run was stopped on request before the machine had booted.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "machine.not-fetched",
        meaning: "The results that the machine keeps could not be fetched.",
        fix: "Try `tardy collect` again when the machine can be reached.",
    },
    Definition {
        code: "machine.nothing-kept",
        meaning: "The machine keeps nothing of the run: it was fetched or discarded before, or lost in a reboot.",
        fix: "Nothing needs fixing.",
    },
    Definition {
        code: "machine.not-copied",
        meaning: "A file could not be copied to or from the machine.",
        fix: "Follow the message.",
    },
    Definition {
        code: "machine.not-given-back",
        meaning: "The run is archived, but the machine could not be given back.",
        fix: "Follow the message; `labgrid-client release` gives a place back by hand.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qemu::error::Quote;
    use crate::qemu::kernel::KernelError;
    use std::collections::BTreeSet;
    use std::io;
    use std::process::ExitStatus;

    #[test]
    fn every_code_is_defined_once() {
        let (text, time) = (String::new, Duration::ZERO);
        let (path, error) = (std::path::PathBuf::new, || io::Error::other(""));
        let prepare = |why: PrepareError| TargetError::Prepare { target: text(), why: why.into() };
        let boot = |why: BootError| TargetError::Boot { target: text(), why: why.into() };
        let kinds: [&dyn ProblemKind; 27] = [
            &Caveat::Emulated,
            &Caveat::Virtual,
            &Caveat::VirtualTime { realtime_permitted: true },
            &MachineProblem::NotRoot { board: text() },
            &MachineProblem::PlaceKept { place: text(), release: text() },
            &MachineProblem::Restored,
            &MachineProblem::StateNotLoaded { why: text() },
            &MachineProblem::StateNotSaved { why: text() },
            &News::LineLost { machine: text(), last_words: None },
            &News::LineBack { machine: text(), after: time },
            &News::ConsoleDamaged(ConsoleDamage::default()),
            &News::AbsencesUnknown { why: text() },
            &News::Absent { stretch_ns: 0, processors: Vec::new() },
            &TargetError::Prepare { target: text(), why: Reason::KeepsNothing },
            &TargetError::Start { target: text(), program: path(), source: error() },
            &TargetError::Boot { target: text(), why: Reason::KeepsNothing },
            &boot(BootError::TooLong { limit: time, console: Quote::default() }),
            &boot(BootError::Ended { status: ExitStatus::default(), lines: Vec::new(), console: Quote::default() }),
            &boot(BootError::Guest(text())),
            &prepare(PrepareError::NoProgram { program: path(), package: "" }),
            &prepare(PrepareError::Kernel(KernelError::NoCache)),
            &prepare(PrepareError::MeterNotStatic { meter: path() }),
            &TargetError::Stopped { target: text() },
            &TargetError::TakeUp { target: text(), why: Reason::KeepsNothing },
            &TargetError::Gone { target: text(), why: Reason::KeepsNothing },
            &TargetError::Copy { target: text(), from: path(), to: path(), source: error() },
            &TargetError::GiveBack { target: text(), why: Reason::KeepsNothing },
        ];
        let codes: BTreeSet<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
        let defined: BTreeSet<String> = DEFINITIONS.iter().map(|definition| definition.code.to_owned()).collect();
        assert_eq!((codes.len(), defined.len()), (kinds.len(), DEFINITIONS.len()));
        assert_eq!(codes, defined);
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
        let text = News::Absent { stretch_ns: 50_000, processors: vec![processor] }.to_string();
        assert!(text.contains("50 µs") && text.contains("CPU 1 was stopped for 2 ms;"), "{text}");
    }
}
