//! Joins a histogram's bars into the bins of a picture.

use archive::summary::HistogramBar;

/// Most bins per doubling of the latency: the resolution of the bars in an archive's summary.
const PER_OCTAVE_MAX: f64 = 16.0;

/// Bins of equal width on a logarithmic axis of this number of pixels, each about 8 px wide, with their real edges;
/// empty bins are absent. The bars themselves double their width at each power of two, which would show as a step in
/// the outline.
///
/// The number with each bin is its position; those of neighbours differ by one.
pub fn binned(bars: &[HistogramBar], octaves: f64, pixels: f64) -> Vec<(i64, HistogramBar)> {
    let per_octave = (pixels / 8.0 / octaves).round().clamp(1.0, PER_OCTAVE_MAX);
    let index = |bar: &HistogramBar| {
        let middle = (bar.low_ns as f64 + bar.high_ns as f64) / 2.0;
        (middle.max(1.0).log2() * per_octave).floor() as i64
    };
    let mut bins: Vec<(i64, HistogramBar)> = Vec::new();
    for bar in bars {
        let index = index(bar);
        match bins.last_mut() {
            Some((last, bin)) if *last == index => {
                bin.high_ns = bar.high_ns;
                bin.count = bin.count.saturating_add(bar.count);
            }
            _ => bins.push((index, bar.clone())),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_edges_survive() {
        let bars: Vec<_> =
            (0..1000).map(|n| HistogramBar { low_ns: 1000 + n * 10, high_ns: 1009 + n * 10, count: 3 }).collect();
        let bins = binned(&bars, 4.0, 320.0);
        assert_eq!(bins.iter().map(|(_, bin)| bin.count).sum::<u64>(), 3000);
        assert_eq!((bins[0].1.low_ns, bins.last().unwrap().1.high_ns), (1000, 10_999));
        assert!((30..=40).contains(&bins.len()), "{} bins", bins.len());
    }
}
