//! The histogram block, in the layout of rt-tests up to 2.6 (`--compat 2.4`) and since 2.7.

use super::figures::Figures;
use super::request::Compat;
use std::fmt::Write;

/// The whole block. `sum` adds the columns of `-H`.
pub fn block(figures: &[Figures], compat: Compat, sum: bool) -> String {
    let mut out = String::from("# Histogram\n");
    let many = figures.len() > 1;
    // With one thread, only 2.7 and later print the sum column.
    let sum_column = sum && (many || compat == Compat::V2_10);
    let buckets = figures.first().map_or(0, |figures| figures.buckets.len());
    for bucket in 0..buckets {
        let counts = figures.iter().map(|figures| figures.buckets[bucket]);
        let total: u64 = counts.clone().sum();
        if total == 0 && compat == Compat::V2_10 {
            continue;
        }
        let _ = write!(out, "{bucket:06} ");
        for (at, count) in counts.chain(sum_column.then_some(total)).enumerate() {
            let tab = if at > 0 { "\t" } else { "" };
            let _ = write!(out, "{tab}{count:06}");
        }
        out.push('\n');
    }
    if compat == Compat::V2_4 {
        let totals: Vec<u64> = figures.iter().map(|figures| figures.buckets.iter().sum()).collect();
        out.push_str("# Total:");
        for total in totals.iter().copied().chain(sum_column.then(|| totals.iter().sum())) {
            let _ = write!(out, " {total:09}");
        }
        out.push('\n');
    }
    row(&mut out, "# Min Latencies:", figures.iter().map(|figures| figures.line.min));
    row(&mut out, "# Avg Latencies:", figures.iter().map(|figures| figures.line.avg));
    let both = sum && many;
    let maxima = figures.iter().map(|figures| figures.line.max);
    row(&mut out, "# Max Latencies:", maxima.clone().chain(both.then(|| maxima.max().unwrap_or(0))));
    let overflows = figures.iter().map(|figures| figures.overflow_count as i64);
    row(&mut out, "# Histogram Overflows:", overflows.clone().chain(both.then(|| overflows.sum())));
    out.push_str("# Histogram Overflow at cycle number:\n");
    for figures in figures {
        let _ = write!(out, "# Thread {}:", figures.line.thread);
        for (cycle, _) in &figures.overflows {
            let _ = write!(out, " {cycle:05}");
        }
        let others = figures.overflow_count - figures.overflows.len() as u64;
        if others > 0 {
            let _ = write!(out, " # {others:05} others");
        }
        out.push('\n');
    }
    if figures.iter().any(|figures| figures.line.smis.is_some()) {
        row(&mut out, "# SMIs:", figures.iter().map(|figures| figures.line.smis.unwrap_or(0) as i64));
    }
    out.push('\n');
    out
}

fn row(out: &mut String, title: &str, values: impl Iterator<Item = i64>) {
    out.push_str(title);
    for value in values {
        let _ = write!(out, " {value:05}");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::NO_MINIMUM;
    use crate::sample_figures::figures;

    #[test]
    fn the_old_layout_has_every_bucket_and_totals() {
        let two = [figures(0, &[0, 2, 0], &[(4, 9), (5, 8)], 3), figures(1, &[0, 0, 1], &[], 0)];
        assert_eq!(
            block(&two, Compat::V2_4, false),
            "# Histogram\n000000 000000\t000000\n000001 000002\t000000\n000002 000000\t000001\n\
             # Total: 000000002 000000001\n# Min Latencies: 00001 00001\n# Avg Latencies: 00004 00004\n\
             # Max Latencies: 00009 00009\n# Histogram Overflows: 00003 00000\n# Histogram Overflow at cycle number:\n\
             # Thread 0: 00004 00005 # 00001 others\n# Thread 1:\n\n"
        );
        let with_sum = block(&two, Compat::V2_4, true);
        assert!(
            with_sum.contains(
                "000001 000002\t000000\t000002\n000002 000000\t000001\t000001\n# Total: 000000002 000000001 000000003\n"
            ),
            "{with_sum}"
        );
    }

    #[test]
    fn the_new_layout_has_only_filled_buckets() {
        let two = [figures(0, &[0, 2, 0], &[], 0), figures(1, &[0, 0, 1], &[], 0)];
        let text = block(&two, Compat::V2_10, true);
        assert!(
            text.starts_with("# Histogram\n000001 000002\t000000\t000002\n000002 000000\t000001\t000001\n# Min"),
            "{text}"
        );
        assert!(
            text.contains("# Max Latencies: 00009 00009 00009\n# Histogram Overflows: 00000 00000 00000\n"),
            "{text}"
        );
        let one = block(&two[..1], Compat::V2_10, true);
        assert!(one.contains("000001 000002\t000002\n") && one.contains("# Max Latencies: 00009\n"), "{one}");
    }

    #[test]
    fn a_thread_without_cycles_has_the_minimum_that_scripts_know() {
        let mut none = figures(0, &[0], &[], 0);
        none.line.min = NO_MINIMUM;
        assert!(block(&[none], Compat::V2_4, false).contains("# Min Latencies: 1000000\n"));
    }
}
