//! Sentences about lines counted in the output of a watched command.

use archive::summary::{BESIDE_NS, CountedText, PrintedLine};
use words::figures::{counted, duration, latency};

/// Title of the section.
pub const TITLE: &str = "Counted in the output";

/// Number of lines with a text.
pub fn headline(text: &CountedText) -> String {
    format!("{} with {}", counted(text.count, "line"), text.text)
}

/// When a line was printed, if known.
pub fn when(line: &PrintedLine) -> String {
    line.at_ns.map_or_else(|| "at an unknown instant".into(), |at| format!("at {}", duration(at)))
}

/// The late wake-up before a line.
pub fn beside(line: &PrintedLine) -> String {
    match (line.at_ns, &line.beside) {
        (None, _) => "the command ran on another machine".into(),
        (Some(_), None) => format!("no captured spike in the {} before", duration(BESIDE_NS)),
        (Some(_), Some(beside)) => {
            let whose = if beside.name.is_empty() { String::new() } else { format!(" of {}", beside.name) };
            let (before, late) = (latency(beside.before_ns), latency(beside.latency_ns));
            format!("{before} after spike {}{whose} ({late})", beside.spike)
        }
    }
}
