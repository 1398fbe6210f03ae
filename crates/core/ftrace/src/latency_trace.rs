//! The text output of the kernel's latency tracers: a head with the longest latency, and a line for each event in it.
//!
//! Any text can be parsed: unknown lines are counted. For `trace` of an instance with one of the tracers `wakeup`,
//! `wakeup_rt`, `wakeup_dl`, `irqsoff`, `preemptoff` and `preemptirqsoff`.

mod flags;
mod head;
mod line;
#[cfg(test)]
mod tests;

pub use flags::Flags;
pub use head::Task;
pub use line::Line;

/// A parsed text. Times are whole µs, as the kernel prints them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyTrace {
    /// `wakeup_rt`; empty if the text has no such head.
    pub tracer: String,
    /// Release of the kernel.
    pub release: String,
    pub latency_us: Option<u64>,
    /// Lines in the text, and lines written before the oldest were overwritten.
    pub entries: u64,
    pub entries_written: u64,
    /// CPU on which it happened.
    pub cpu: Option<u32>,
    /// Number of CPUs of the machine.
    pub cpu_count: Option<u32>,
    /// `preempt_rt`, `server` and so on.
    pub preemption: String,
    pub task: Option<Task>,
    /// Functions at the two ends of a stretch with interrupts or preemption off, without `=>`.
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub lines: Vec<Line>,
    /// Number of other lines, such as the frames of a stack.
    pub other_lines: usize,
}

/// A function and the time for which its CPU recorded nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongestFunction<'a> {
    pub name: &'a str,
    /// Empty if the text does not contain it.
    pub caller: &'a str,
    pub us: i64,
}

impl LatencyTrace {
    /// Parses the text; it never fails.
    pub fn parse(text: &str) -> LatencyTrace {
        let mut trace = LatencyTrace::default();
        for line in text.lines() {
            match line.strip_prefix('#') {
                Some(remark) => trace.take_head(remark),
                None if line.trim().is_empty() => {}
                None => match Line::parse(line) {
                    Some(line) => trace.lines.push(line),
                    None => trace.other_lines += 1,
                },
            }
        }
        trace
    }

    /// The function with the longest time until the next line of the same CPU, on the CPU of the stretch if that is
    /// known. A function whose entry alone is recorded may have returned long before that line.
    pub fn longest_function(&self) -> Option<LongestFunction<'_>> {
        let lines: Vec<&Line> = self.lines.iter().filter(|line| self.cpu.is_none_or(|cpu| line.cpu == cpu)).collect();
        let stretches = lines.iter().enumerate().filter_map(|(at, line)| {
            let (name, caller) = line.function()?;
            let next = lines[at + 1..].iter().find(|later| later.cpu == line.cpu)?;
            Some(LongestFunction { name, caller, us: next.at_us.saturating_sub(line.at_us) })
        });
        // The first of equal ones: `max_by_key` would take the last.
        stretches.reduce(|longest, next| if next.us > longest.us { next } else { longest })
    }
}
