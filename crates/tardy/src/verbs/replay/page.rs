//! The state of a stopped machine, as text and as JSON.

use account::StopPoint;
use archive::spike::Spike;
use machines::qemu::virtual_time::Registers;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use words::printable::printable;

const REGISTERS_A_LINE: usize = 3;

/// The contents of the page.
#[derive(Debug, Serialize)]
pub struct Page {
    /// All times are virtual.
    pub virtual_time: bool,
    pub spike: u32,
    pub cycle: u64,
    pub latency_ns: i64,
    /// From the instant the wake-up was due to the instant at which the machine is stopped.
    pub ns_after_due: i64,
    /// The requested instant is within a time in which nothing ran or nothing is recorded, before this one.
    pub later_than_asked: bool,
    /// The record, which ends when the wake-up is seen, ends before the requested instant.
    pub record_ends_before: bool,
    /// Address of the next instruction, in hexadecimal.
    pub address: String,
    /// The function of the instruction and its callers, the innermost first; empty in a program.
    pub functions: Vec<String>,
    pub takes_interrupts: bool,
    /// Samples that the guest reported so far, each identical to that of the run.
    pub samples_identical: usize,
    /// In hexadecimal.
    pub registers: BTreeMap<&'static str, String>,
    #[serde(skip)]
    lines: String,
}

impl Page {
    pub fn of(spike: &Spike, point: &StopPoint, registers: &Registers, samples_identical: usize) -> Self {
        let hexadecimal = |value: &u64| format!("{value:#018x}");
        Self {
            virtual_time: true,
            spike: spike.number,
            cycle: spike.sample.cycle,
            latency_ns: spike.sample.latency_ns,
            ns_after_due: point.ns_after_due,
            later_than_asked: point.later_than_asked,
            record_ends_before: point.record_ends_before,
            address: hexadecimal(&point.address),
            functions: point.functions.clone(),
            takes_interrupts: registers.takes_interrupts(),
            samples_identical,
            registers: registers.general.iter().map(|(name, value)| (*name, hexadecimal(value))).collect(),
            lines: lines(registers),
        }
    }

    /// The facts that are needed before the debugger starts.
    pub fn short(&self) -> String {
        let (when, ns) = (self.ns_after_due >= 0, self.ns_after_due.unsigned_abs());
        let when = if when { format!("{ns} ns after") } else { format!("{ns} ns before") };
        let within = self.functions.first().map_or("a program".into(), |name| printable(name));
        let interrupts = if self.takes_interrupts { "lets interrupts in" } else { "has interrupts masked" };
        let mut text = format!(
            "Wake-up {} (spike {}) comes {} ns late. The machine is stopped {when} it was due, in {within}, and {interrupts}.\n\
             Virtual time: not one nanosecond was added. The {} samples until then equal the samples of the run.\n",
            self.cycle, self.spike, self.latency_ns, self.samples_identical
        );
        if self.later_than_asked {
            text.push_str("At the instant that was asked for the processor slept, or nothing is recorded of it.\n");
        }
        if self.record_ends_before {
            text.push_str("The instant that was asked for comes after the wake-up was seen, where its record ends.\n");
        }
        text
    }

    /// With registers and callers.
    pub fn whole(&self) -> String {
        let mut text = self.short();
        text.push_str("\ncallers, the innermost first\n");
        for name in &self.functions {
            writeln!(text, "  {}", printable(name)).expect("memory");
        }
        if self.functions.is_empty() {
            text.push_str("  a program\n");
        }
        write!(text, "\nregisters\n{}\nTo continue in a debugger from here: --gdb, or --listen.\n", self.lines)
            .expect("memory");
        text
    }
}

fn lines(registers: &Registers) -> String {
    let all: Vec<String> = registers.general.iter().map(|(name, value)| format!("  {name:<3} {value:#018x}")).collect();
    let mut text: String = all.chunks(REGISTERS_A_LINE).map(|line| format!("{}\n", line.concat())).collect();
    // The last line has room for the flags.
    text.truncate(text.trim_end().len());
    writeln!(text, "  flags {:#x}", registers.flags).expect("memory");
    text
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use archive::sample::Sample;
    use archive::spike::SpikeReason;

    pub fn page() -> Page {
        let spike = Spike::new(
            2,
            0,
            83,
            Sample { cpu: 0, cycle: 748, due_ns: 5_000_000_000, latency_ns: 2_924_911 },
            SpikeReason::NewMaximum,
        );
        let point = StopPoint {
            blocks: 665_380_780,
            address: 0xffff_ffff_812f_2be4,
            ns_after_due: -3,
            functions: vec!["__free_one_page".into(), "free_pcppages_bulk".into()],
            later_than_asked: false,
            record_ends_before: false,
        };
        let general = vec![("rax", 1), ("rbx", 2), ("rcx", 3), ("rip", point.address)];
        Page::of(&spike, &point, &Registers { general, flags: 0x46 }, 740)
    }

    #[test]
    fn a_page_says_where_the_machine_stands_and_that_it_is_the_same() {
        let text = page().whole();
        assert!(text.starts_with(
            "Wake-up 748 (spike 2) comes 2924911 ns late. The machine is stopped 3 ns before it was due, in \
             __free_one_page, and has interrupts masked.\nVirtual time: not one nanosecond was added. The 740 samples"
        ));
        assert!(text.contains("  __free_one_page\n  free_pcppages_bulk\n"), "{text}");
        assert!(text.contains("  rax 0x0000000000000001  rbx 0x0000000000000002"), "{text}");
        assert!(text.contains("  rip 0xffffffff812f2be4  flags 0x46\n"), "{text}");
        let json = serde_json::to_value(page()).unwrap();
        assert_eq!(
            (&json["registers"]["rip"], &json["functions"][1]),
            (&"0xffffffff812f2be4".into(), &"free_pcppages_bulk".into())
        );
    }
}
