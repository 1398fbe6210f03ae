//! One line: `cyclictest-2719  [001] d.h2. 32200.386949: sched_waking: comm=...`, or of perf `cyclictest 2719 [001] 32200.386949:
//! sched:sched_waking: comm=...`.

use super::short::{split_at_byte, split_at_last_byte, without_spaces};
use ftrace::latency_trace::Flags;

/// The kernel's limit.
const COMM_BYTES_MAX: usize = 15;

/// An event as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Empty if the text does not have it.
    pub comm: &'a str,
    pub tid: i32,
    pub cpu: u32,
    /// `None` where the form has no such column.
    pub flags: Option<Flags>,
    pub ts_ns: u64,
    /// The time has ns; otherwise µs.
    pub has_ns: bool,
    pub name: &'a str,
    pub fields: &'a str,
    pub is_perf: bool,
}

impl<'a> Line<'a> {
    /// `None` for lines of another kind.
    pub fn parse(line: &'a str) -> Option<Self> {
        // A name may contain brackets, too.
        let mut from = 0;
        loop {
            let at = from + line[from..].bytes().position(|byte| byte == b'[')?;
            from = at + 1;
            if let Some(found) = Self::around_cpu(&line[..at], &line[from..]) {
                return Some(found);
            }
        }
    }

    fn around_cpu(before: &'a str, after: &'a str) -> Option<Self> {
        let (cpu, rest) = split_at_byte(after, b']')?;
        let cpu = cpu.trim().parse().ok()?;
        let (flags, rest) = flags(without_spaces(rest));
        let (time, rest) = before_colon(rest)?;
        let (ts_ns, has_ns) = time_ns(time)?;
        let (comm, tid) = thread(before)?;
        let rest = without_spaces(rest);
        let (name, fields) = before_colon(rest).or_else(|| Some((rest.trim_end().strip_suffix(':')?, "")))?;
        let is_name = |name: &str| !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_whitespace());
        let (system, name) = split_at_last_byte(name, b':').map_or((None, name), |(system, name)| (Some(system), name));
        let is_perf = system.is_some();
        is_name(name).then_some(Self { comm, tid, cpu, flags, ts_ns, has_ns, name, fields: fields.trim(), is_perf })
    }
}

/// The text before the next colon that has a space behind it, and the text after it.
fn before_colon(text: &str) -> Option<(&str, &str)> {
    let at = text.as_bytes().windows(2).position(|pair| pair == b": ")?;
    Some((&text[..at], &text[at + 2..]))
}

/// The column of flags, if there is one, and the rest.
fn flags(text: &str) -> (Option<Flags>, &str) {
    let split = split_at_byte(text, b' ').and_then(|(word, rest)| Some((Flags::parse(word)?, rest)));
    split.map_or((None, text), |(flags, rest)| (Some(flags), without_spaces(rest)))
}

/// `32200.386949` in ns, and whether it has ns.
fn time_ns(text: &str) -> Option<(u64, bool)> {
    let (seconds, fraction) = split_at_byte(text.trim(), b'.')?;
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| (6..=9).contains(digits))?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction_ns = fraction.parse::<u64>().ok()? * 10u64.pow(9 - digits);
    Some((seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?, digits > 6))
}

/// The thread before the CPU, with or without its process.
fn thread(before: &str) -> Option<(&str, i32)> {
    let mut text = before.trim_end();
    if text.ends_with(')') {
        text = text.rsplit_once('(')?.0.trim_end();
    }
    let of_ftrace = split_at_last_byte(text, b'-').and_then(|(comm, tid)| Some((comm, tid.parse().ok()?)));
    let of_perf = || {
        let (comm, ids) = text.rsplit_once(char::is_whitespace)?;
        Some((comm, ids.rsplit('/').next()?.parse().ok()?))
    };
    let (comm, tid): (&str, i32) = of_ftrace.or_else(of_perf).filter(|(_, tid)| *tid >= 0)?;
    Some((name(comm), tid))
}

/// The name without what stands before it in a log or a mail.
fn name(text: &str) -> &str {
    let marks = text.bytes().take_while(|byte| b"> |\t".contains(byte)).count();
    let quoted = text[marks..].trim();
    let name = match quoted.len() > COMM_BYTES_MAX {
        true => quoted.rsplit(char::is_whitespace).next().unwrap_or(quoted),
        false => quoted,
    };
    if name == "<...>" { "" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (String, i32, u32, u64, String, String) {
        let line = Line::parse(line).unwrap_or_else(|| panic!("{line}"));
        (line.comm.into(), line.tid, line.cpu, line.ts_ns, line.name.into(), line.fields.into())
    }

    #[test]
    fn each_form_of_a_line_is_read() {
        let same = ("my loop".into(), 2719, 1, 32_200_386_949_000, "sched_waking".into(), "comm=x pid=1".into());
        for line in [
            "         my loop-2719  [001] d.h2. 32200.386949: sched_waking: comm=x pid=1",
            "         my loop-2719  (   2700) [001] d.h2. 32200.386949: sched_waking: comm=x pid=1",
            "         my loop-2719  (-----) [001] 32200.386949: sched_waking:         comm=x pid=1",
            "         my loop  2719 [001] 32200.386949:       sched:sched_waking: comm=x pid=1",
            "         my loop  2700/2719  [001] 32200.386949000: sched:sched_waking: comm=x pid=1",
            "> >      my loop-2719  [001] 32200.386949: sched_waking: comm=x pid=1 ",
        ] {
            assert_eq!(read(line), same, "{line}");
        }
        let logged = "[    5.123456] Nov 28 board kernel:   kworker/0:1-2719  [001] d.h2. 32200.386949: print: x: y";
        assert_eq!(read(logged).0, "kworker/0:1");
        assert_eq!(read("  <...>-7 [000] 1.000001: timer_expire_exit: timer=1").0, "");
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "# tracer: nop", "cpus=2", "[001]", "a-1 [0] 1.5: x: y", "loop-9 [0] 1.000000: two words: y"] {
            assert_eq!(Line::parse(line), None, "{line}");
        }
    }
}
