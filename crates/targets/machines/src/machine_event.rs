//! Events of a machine, or of the connection to it, while a command runs there.

use archive::problem::Problem;
use std::fmt;
use std::time::Duration;

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
#[derive(Debug, Clone, PartialEq, Eq, Problem)]
pub enum MachineEvent {
    /// The connection was lost; the command continues there.
    #[problem(
        code = "machine.line-lost",
        meaning = "The connection to the machine was lost; the measurement continues there.",
        fix = "",
        documented_fix = "Nothing: tardy reconnects. After it gives up, `tardy target collect` fetches the rest."
    )]
    LineLost { machine: String, last_output: Option<String> },
    #[problem(
        code = "machine.line-back",
        meaning = "The connection to the machine was lost for a while. The run lost no data.",
        fix = "",
        documented_fix = "Nothing needs fixing."
    )]
    LineBack { machine: String, after: Duration },
    /// Lines on a console were damaged, and sent again.
    #[problem(
        code = "machine.console-damaged",
        meaning = "Kernel messages damaged lines on the serial console; they were sent again. Nothing was lost.",
        fix = "",
        documented_fix = "A lower console log level (`dmesg -n 1`) avoids it."
    )]
    ConsoleDamaged(ConsoleDamage),
    /// It is unknown when the host executed the machine.
    #[problem(
        code = "machine.absences-unknown",
        meaning = "It could not be recorded when the host did not execute the virtual processors.",
        fix = "",
        documented_fix = "Use a host kernel with CONFIG_SCHED_INFO and a QEMU that names its threads."
    )]
    AbsencesUnknown { why: String },
    /// The host did not always execute the machine; only absences of at least `stretch_ns` count.
    #[problem(
        code = "machine.absent",
        meaning = "The host did not execute the virtual processors all the time.",
        fix = "",
        documented_fix = "Give the virtual machine processors of its own, or measure on hardware."
    )]
    Absent { stretch_ns: i64, processors: Vec<ProcessorAbsence> },
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
                write!(out, "no record of when the host executed this machine: {why}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_line_is_not_worth_a_word() {
        assert!(!ConsoleDamage { arrived: 7, ..ConsoleDamage::default() }.is_any());
        let damage = ConsoleDamage { arrived: 700, damaged: 3, repeated: 4 };
        let text = damage.to_string();
        assert!(damage.is_any());
        assert!([" 3 ", " 4 ", " 700;"].iter().all(|count| text.contains(count)), "{text}");
    }

    #[test]
    fn absences_are_shown_per_processor() {
        let processor = ProcessorAbsence { cpu: 1, stopped_ns: 2_000_000, waited_ns: 0 };
        let text = MachineEvent::Absent { stretch_ns: 50_000, processors: vec![processor] }.to_string();
        assert!(text.contains("50 µs") && text.contains("CPU 1 was stopped ") && text.contains(" 2 ms;"), "{text}");
    }
}
