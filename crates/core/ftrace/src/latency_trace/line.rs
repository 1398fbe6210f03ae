//! One line of events: `  <idle>-0         1dNh5..    12us+: hrtimer_interrupt <-local_apic_timer_interrupt`.

use super::Flags;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first eight letters of the thread's name.
    pub comm: String,
    pub pid: i32,
    pub cpu: u32,
    /// `None` if the column has an unknown number of places.
    pub flags: Option<Flags>,
    /// Time since the start of the stretch.
    pub at_us: i64,
    /// Time until the next line, in steps: `+` over 10 µs, `!` 100 µs, `#` 1 ms, `*` 10 ms, `@` 100 ms, `$` 1 s.
    pub gap: Option<char>,
    pub text: String,
}

/// The name takes eight characters, or more bytes if they are not ASCII; the separating dash is before this offset.
const DASH_BEFORE: usize = 40;

impl Line {
    /// `None` for lines of another kind.
    pub fn parse(line: &str) -> Option<Line> {
        // A name may contain dashes and digits, so every dash is tried, from the left.
        let dashes = line.char_indices().filter(|(_, letter)| *letter == '-').map(|(at, _)| at);
        dashes.take_while(|at| *at < DASH_BEFORE).find_map(|at| Line::after_name(&line[..at], &line[at + 1..]))
    }

    fn after_name(comm: &str, rest: &str) -> Option<Line> {
        let (pid, rest) = number(rest)?;
        let rest = rest.strip_prefix(' ')?.trim_start();
        let (cpu, rest) = number(rest)?;
        let (flags, rest) = rest.split_once(' ')?;
        let (at_us, rest) = number(rest.trim_start())?;
        let (gap, rest) = match rest.strip_prefix("us") {
            Some(rest) => {
                let gap = rest.chars().next()?;
                (Some(gap).filter(|gap| *gap != ' '), &rest[gap.len_utf8()..])
            }
            None => (None, rest),
        };
        let text = rest.trim_start().strip_prefix(':')?;
        Some(Line {
            comm: comm.trim_start().to_owned(),
            pid: i32::try_from(pid).ok()?,
            cpu: u32::try_from(cpu).ok()?,
            flags: Flags::parse(flags),
            at_us,
            gap,
            text: text.trim().to_owned(),
        })
    }

    /// Function and caller of a line from a function tracer.
    pub fn function(&self) -> Option<(&str, &str)> {
        let (name, caller) = self.text.split_once(" <-")?;
        let is_name = |text: &str| !text.is_empty() && !text.contains(' ');
        (is_name(name) && !caller.contains(' ')).then_some((name, caller))
    }
}

/// The digits at the start, and the rest.
fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}
