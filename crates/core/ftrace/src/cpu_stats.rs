//! Counters of one CPU's buffer, from `per_cpu/cpuN/stats`.

/// The kernel's counters of one CPU of one buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Events now in the buffer.
    pub entries: u64,
    /// Events overwritten because the buffer was full.
    pub overrun: u64,
    /// Events lost because an interrupting writer found no space.
    pub commit_overrun: u64,
    /// Events not written because the buffer was full and not allowed to overwrite.
    pub dropped_events: u64,
    /// Events read so far.
    pub read_events: u64,
    pub bytes: u64,
    /// Time of the oldest event, ns of the trace clock; `None` if the kernel shows a raw counter or nothing.
    pub oldest_event_ts_ns: Option<u64>,
    pub now_ts_ns: Option<u64>,
}

impl CpuStats {
    /// Parses lines of `name: value`; unknown or invalid lines count as 0.
    pub fn parse(text: &str) -> CpuStats {
        let mut stats = CpuStats::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let count = value.parse().unwrap_or(0);
            match name.trim() {
                "entries" => stats.entries = count,
                "overrun" => stats.overrun = count,
                "commit overrun" => stats.commit_overrun = count,
                "dropped events" => stats.dropped_events = count,
                "read events" => stats.read_events = count,
                "bytes" => stats.bytes = count,
                "oldest event ts" => stats.oldest_event_ts_ns = seconds_to_ns(value),
                "now ts" => stats.now_ts_ns = seconds_to_ns(value),
                _ => {}
            }
        }
        stats
    }

    /// Events that the kernel recorded but that cannot be read any more.
    pub fn lost(&self) -> u64 {
        self.overrun.saturating_add(self.commit_overrun).saturating_add(self.dropped_events)
    }
}

/// `607.245515` -> 607245515000.
fn seconds_to_ns(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits = fraction.len() as u32;
    let fraction: u64 = fraction.parse().ok()?;
    let scale = 10u64.checked_pow(9u32.checked_sub(digits)?)?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        let text = "entries: 129\noverrun: 3\ncommit overrun: 2\nbytes: 8212\noldest event ts:  5136.084122\nnow ts:   607.245515\ndropped events: 1\nread events: 4\n";
        let stats = CpuStats::parse(text);
        assert_eq!((stats.entries, stats.bytes, stats.read_events, stats.lost()), (129, 8212, 4, 6));
        assert_eq!((stats.oldest_event_ts_ns, stats.now_ts_ns), (Some(5_136_084_122_000), Some(607_245_515_000)));
    }

    #[test]
    fn a_raw_counter_is_no_time() {
        assert_eq!(CpuStats::parse("oldest event ts: 12345\nnow ts: 1.2x\nentries: -1\n"), CpuStats::default());
    }
}
