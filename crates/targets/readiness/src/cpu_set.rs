//! Sets of CPUs in the kernel's notations.

use std::collections::BTreeSet;
use std::fmt;

/// More CPUs than any machine has; a list that names more is invalid.
const CPUS_MAX: u32 = 1 << 16;

/// A set of CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// Parses a list such as `0-3,5` in the kernel's output format, with the extensions of its command line: `N` for
    /// `last`, `all`, groups such as `0-31:2/4`. `None` if the text is not a CPU list.
    pub fn list(text: &str, last: u32) -> Option<Self> {
        let mut cpus = BTreeSet::new();
        // CPUs named so far, each as often as it is named: a short text may name millions.
        let mut named = 0;
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (range, group) = part.split_once(':').map_or((part, None), |(range, group)| (range, Some(group)));
            let (first, end) = match range {
                "all" => (0, last),
                range => match range.split_once('-') {
                    Some((first, end)) => (number(first, last)?, number(end, last)?),
                    None => (number(range, last)?, number(range, last)?),
                },
            };
            let (used, of) = match group {
                None => (1, 1),
                Some(group) => {
                    let (used, of) = group.split_once('/')?;
                    (used.parse().ok()?, of.parse().ok().filter(|of| *of > 0)?)
                }
            };
            if first > end || end >= CPUS_MAX {
                return None;
            }
            named += end - first + 1;
            if named > CPUS_MAX {
                return None;
            }
            cpus.extend((first..=end).filter(|cpu| (cpu - first) % of < used));
        }
        Some(Self(cpus))
    }

    /// Parses a mask such as `ff,ffffffff`.
    pub fn mask(text: &str) -> Option<Self> {
        let digits: Vec<u32> = text
            .trim()
            .chars()
            .filter(|letter| *letter != ',')
            .map(|letter| letter.to_digit(16))
            .collect::<Option<_>>()?;
        if digits.is_empty() || digits.len() as u32 > CPUS_MAX / 4 {
            return None;
        }
        let bits = digits.iter().rev().zip(0u32..).flat_map(|(digit, place)| {
            (0..4).filter(move |bit| digit & (1 << bit) != 0).map(move |bit| place * 4 + bit)
        });
        Some(Self(bits.collect()))
    }

    /// The kernel's mask format: groups of 32 CPUs, separated by commas.
    pub fn to_mask(&self) -> String {
        let groups = self.0.last().map_or(1, |last| last / 32 + 1);
        let group = |number: u32| {
            (0..32).filter(|bit| self.0.contains(&(number * 32 + bit))).fold(0u32, |sum, bit| sum | 1 << bit)
        };
        let words = (0..groups).rev().enumerate().map(|(place, number)| match place {
            0 => format!("{:x}", group(number)),
            _ => format!("{:08x}", group(number)),
        });
        words.collect::<Vec<_>>().join(",")
    }

    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Self {
        Self(cpus.into_iter().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// `CPU 3` or `CPUs 1-3`.
    pub fn named(&self) -> String {
        if self.len() == 1 { format!("CPU {self}") } else { format!("CPUs {self}") }
    }
}

fn number(text: &str, last: u32) -> Option<u32> {
    if text == "N" { Some(last) } else { text.parse().ok() }
}

/// As a list: `0-3,5`.
impl fmt::Display for CpuSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut first = true;
        while let Some(begin) = cpus.next() {
            let mut end = begin;
            while cpus.next_if_eq(&(end + 1)).is_some() {
                end += 1;
            }
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            if begin == end { write!(out, "{comma}{begin}")? } else { write!(out, "{comma}{begin}-{end}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Option<String> {
        CpuSet::list(text, 7).map(|cpus| cpus.to_string())
    }

    #[test]
    fn lists_are_read_as_the_kernel_reads_them() {
        for (text, expected) in
            [("0-3,5", "0-3,5"), ("", ""), ("2-N", "2-7"), ("all", "0-7"), ("0-7:2/4", "0-1,4-5"), ("3,1,2", "1-3")]
        {
            assert_eq!(list(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["x", "3-1", "0-99999999", "1-2:1/0", "1-2:1", "-1", "domain"] {
            assert_eq!(list(text), None, "{text}");
        }
        assert_eq!(list(&"0-65535,".repeat(8000)), None, "half a thousand million CPUs in 64 KiB");
    }

    #[test]
    fn masks_have_commas_between_groups() {
        assert_eq!(CpuSet::mask("ff,ffffffff\n").unwrap().to_string(), "0-39");
        assert_eq!(CpuSet::mask("00000001").unwrap().to_mask(), "1");
        assert_eq!(CpuSet::of([0, 33]).to_mask(), "2,00000001");
        assert_eq!(CpuSet::default().to_mask(), "0");
        assert_eq!(CpuSet::mask("no mask"), None);
    }

    proptest! {
        #[test]
        fn a_written_list_reads_back(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let cpus = CpuSet(cpus);
            prop_assert_eq!(CpuSet::list(&cpus.to_string(), 0), Some(cpus.clone()));
            prop_assert_eq!(CpuSet::mask(&cpus.to_mask()), Some(cpus));
        }

        #[test]
        fn any_text_is_a_list_or_none(text in ".{0,40}", last in 0u32..70_000) {
            let _ = CpuSet::list(&text, last);
            let _ = CpuSet::mask(&text);
        }
    }
}
