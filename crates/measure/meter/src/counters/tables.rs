//! Parses the kernel's tables of counters. Unexpected content is ignored.

use crate::compact;
use std::collections::BTreeMap;

/// Counters at one instant, since the start of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    pub context_switches: Option<u64>,
    pub voluntary_switches: Option<u64>,
    pub forced_switches: Option<u64>,
    pub forks: Option<u64>,
    pub page_faults: Option<u64>,
    pub major_faults: Option<u64>,
    pub steal_ns: Option<u64>,
    /// By CPU.
    pub interrupts: BTreeMap<u32, u64>,
    /// By kind, all CPUs together.
    pub softirqs: BTreeMap<String, u64>,
    /// Time that some tasks waited, and that all tasks waited, by resource.
    pub pressure_us: BTreeMap<&'static str, [u64; 2]>,
}

/// `/proc/stat`: context switches, forks, and the eighth figure of the line of all CPUs.
pub fn stat(text: &str, ticks_per_second: u64, look: &mut Look) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let mut number = |place: usize| words.nth(place)?.parse::<u64>().ok();
        match line.split(' ').next() {
            Some("cpu") => {
                let ns = |ticks: u64| ticks.saturating_mul(1_000_000_000 / ticks_per_second.max(1));
                look.steal_ns = number(8).map(ns);
            }
            Some("ctxt") => look.context_switches = number(1),
            Some("processes") => look.forks = number(1),
            _ => {}
        }
    }
}

/// `/proc/interrupts`: the sum of each column. The first line lists the CPUs; lines with fewer values count what no CPU
/// handled.
pub fn interrupts(text: &str) -> BTreeMap<u32, u64> {
    let mut lines = text.lines();
    let cpus = cpus(lines.next().unwrap_or_default());
    let mut sums = vec![0u64; cpus.len()];
    for line in lines {
        let Some((_, figures)) = line.split_once(':') else { continue };
        let counts: Vec<u64> =
            figures.split_ascii_whitespace().map_while(|word| word.parse().ok()).take(cpus.len()).collect();
        if counts.len() == cpus.len() {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.wrapping_add(count));
        }
    }
    compact::inserted(cpus.into_iter().zip(sums))
}

fn cpus(line: &str) -> Vec<u32> {
    line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

/// `/proc/softirqs`: the sum of each line.
pub fn softirqs(text: &str) -> BTreeMap<String, u64> {
    let of_line = |line: &str| {
        let (name, figures) = line.split_once(':')?;
        let counts = figures.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        Some((name.trim().to_owned(), counts.fold(0, u64::wrapping_add)))
    };
    compact::inserted(text.lines().skip(1).filter_map(of_line))
}

/// `/proc/vmstat`: page faults.
pub fn memory(text: &str, look: &mut Look) {
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("pgfault", count)) => look.page_faults = count.trim().parse().ok(),
            Some(("pgmajfault", count)) => look.major_faults = count.trim().parse().ok(),
            _ => {}
        }
    }
}

/// `/proc/pressure/...`: the totals of both lines, in µs. Old kernels have no second line for the CPU.
pub fn pressure(text: &str) -> Option<[u64; 2]> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
    };
    Some([total("some")?, total("full").unwrap_or(0)])
}

/// `/proc/PID/task/TID/status`: adds the switches of one thread.
pub fn switches(text: &str, look: &mut Look) {
    for line in text.lines() {
        let Some((name, count)) = line.split_once(':') else { continue };
        let sum = match name {
            "voluntary_ctxt_switches" => &mut look.voluntary_switches,
            "nonvoluntary_ctxt_switches" => &mut look.forced_switches,
            _ => continue,
        };
        if let Ok(count) = count.trim().parse::<u64>() {
            *sum = Some(sum.unwrap_or(0).wrapping_add(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  10 0 20 300 4 0 5 77 0 0\ncpu0 1 0 2 30 4 0 5 6 0 0\nintr 900 1 2\nctxt 12345\nprocesses 678\n";
    const INTERRUPTS: &str = "           CPU0       CPU2       \n  0:         39          0   IO-APIC   2-edge      timer\n\
                              LOC:       1000       2000   Local timer interrupts\nERR:          7\nMIS:          0\n";
    const SOFTIRQS: &str = "                    CPU0       CPU1\n          HI:          1          2\n      NET_RX:         30         40\n";
    const STATUS: &str = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";

    #[test]
    fn tables_are_read() {
        let mut look = Look::default();
        stat(STAT, 100, &mut look);
        memory("pgfault 99\npgmajfault 3\npgfaultx 1\n", &mut look);
        switches(STATUS, &mut look);
        switches(STATUS, &mut look);
        assert_eq!((look.context_switches, look.forks, look.steal_ns), (Some(12_345), Some(678), Some(770_000_000)));
        assert_eq!((look.page_faults, look.major_faults), (Some(99), Some(3)));
        assert_eq!((look.voluntary_switches, look.forced_switches), (Some(300), Some(1090)));
        assert_eq!(interrupts(INTERRUPTS), BTreeMap::from([(0, 1039), (2, 2000)]));
        assert_eq!(softirqs(SOFTIRQS), BTreeMap::from([("HI".into(), 3), ("NET_RX".into(), 70)]));
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=55\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure(text), Some([55, 7]));
    }

    /// Truncated and damaged tables give the intact values.
    #[test]
    fn any_bytes_are_a_table_of_some_kind() {
        let mut state = 1u64;
        let rounds = if cfg!(miri) { 20 } else { 2000usize };
        for table in [STAT, INTERRUPTS, SOFTIRQS, STATUS, "some total=5\nfull total=x", "pgfault 18446744073709551615"]
        {
            for round in 0..rounds {
                let mut bytes = table.as_bytes().to_vec();
                for _ in 0..round % 7 {
                    state = crate::measure::dither::mixed(state.wrapping_add(1));
                    let at = state as usize % bytes.len();
                    bytes[at] = (state >> 32) as u8;
                }
                bytes.truncate(round % (table.len() + 1));
                let text = String::from_utf8_lossy(&bytes);
                let mut look = Look::default();
                stat(&text, round as u64 % 3, &mut look);
                memory(&text, &mut look);
                switches(&text, &mut look);
                let _ = (interrupts(&text), softirqs(&text), pressure(&text));
            }
        }
    }
}
