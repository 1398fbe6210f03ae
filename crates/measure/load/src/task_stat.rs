//! Parses `/proc/PID/stat`, the line with a task's state and usage.

/// The fields of the line that this crate uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskStat {
    pub pid: i32,
    pub name: String,
    pub parent: i32,
    /// The kernel's PF_ bits.
    pub flags: u64,
    /// CPU time in user space and in the kernel, in clock ticks.
    pub ticks: u64,
    /// CPU time of reaped children.
    pub ticks_of_children: u64,
    /// The kernel's number: 20 + nice for ordinary tasks, -1 - priority for real-time ones.
    pub kernel_priority: i64,
    /// 1 to 99 for FIFO and RR, 0 otherwise.
    pub rt_priority: u32,
    /// Number of the SCHED_ constant.
    pub policy: u32,
}

impl TaskStat {
    /// `None` if the line is invalid. A name may contain anything, including spaces and parentheses.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|&byte| byte == b'(')?;
        let close = line.iter().rposition(|&byte| byte == b')')?;
        let pid = std::str::from_utf8(&line[..open]).ok()?.trim().parse().ok()?;
        let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(&line[close + 1..]).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The manual page counts from 1, and the first field after the name is its third.
        let field = |number: usize| fields.get(number - 3).copied();
        let count = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            pid,
            name,
            parent: field(4)?.parse().ok()?,
            flags: count(9)?,
            ticks: count(14)?.saturating_add(count(15)?),
            // Negative on some old kernels, where it is meaningless.
            ticks_of_children: count(16).unwrap_or(0).saturating_add(count(17).unwrap_or(0)),
            kernel_priority: field(18)?.parse().ok()?,
            rt_priority: field(40)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "17 (a) b (c)) S 2 0 0 0 -1 2129984 0 0 0 0 7 5 3 1 -100 0 1 0 2 0 0 18446744073709551615 0 0 0 0 \
                        0 0 0 2147483647 0 0 0 0 17 0 99 1 0 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn the_fields_are_where_the_manual_says() {
        let expected = TaskStat {
            pid: 17,
            name: "a) b (c)".into(),
            parent: 2,
            flags: 2_129_984,
            ticks: 12,
            ticks_of_children: 4,
            kernel_priority: -100,
            rt_priority: 99,
            policy: 1,
        };
        assert_eq!(TaskStat::parse(LINE.as_bytes()), Some(expected));
    }

    #[test]
    fn no_prefix_and_no_noise_makes_it_panic() {
        for end in 0..LINE.len() {
            let _ = TaskStat::parse(&LINE.as_bytes()[..end]);
        }
        for noise in [&b""[..], b")(", b"()", b"1 (", b"\xff (\xff) \xff", b"1 (x) S"] {
            assert_eq!(TaskStat::parse(noise), None);
        }
    }

    #[test]
    fn the_kernel_of_this_machine_is_understood() {
        let own = TaskStat::parse(&std::fs::read("/proc/self/stat").expect("own stat")).expect("a parsed line");
        assert_eq!(own.pid, std::process::id() as i32);
        assert_eq!(own.parent, std::os::unix::process::parent_id() as i32);
    }
}
