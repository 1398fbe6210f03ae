//! The latency log that fio writes for each of its threads: `time in ms, latency in ns, direction, bytes, ...` in each line.

/// A request as the log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// When it was done: CLOCK_REALTIME in ms, rounded down.
    pub done_ms: i64,
    pub latency_ns: i64,
}

/// The request of a line; `None` for a line that is no read or write.
pub fn logged(line: &str) -> Option<Logged> {
    let mut fields = line.split(',').map(str::trim);
    let done_ms = fields.next()?.parse().ok()?;
    let latency_ns = fields.next()?.parse().ok()?;
    let is_trim = fields.next()? == "2";
    (!is_trim && latency_ns >= 0).then_some(Logged { done_ms, latency_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_old_and_new_versions_are_read() {
        let read = Some(Logged { done_ms: 1_795_696_184_521, latency_ns: 465_144 });
        assert_eq!(logged("1795696184521, 465144, 0, 4096"), read);
        assert_eq!(logged("1795696184521, 465144, 1, 4096, 1011712, 0"), read);
        for other in ["", "1795696184521, 465144, 2, 4096", "1, -1, 0, 4096", "1, 2", "time, latency, direction"] {
            assert_eq!(logged(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_left_out(line in "\\PC*") {
            let _ = logged(&line);
        }
    }
}
