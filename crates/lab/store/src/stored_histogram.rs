//! A histogram as bytes of a row: gaps between buckets and counts, each as LEB128.

use archive::histogram::{BUCKETS, Histogram};
use archive::leb128::{put, take};

pub fn encode(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(histogram.buckets.len() * 3);
    let mut next = 0;
    for (bucket, count) in &histogram.buckets {
        put(&mut bytes, u64::from(bucket - next));
        put(&mut bytes, *count);
        next = bucket + 1;
    }
    bytes
}

/// The readable part; a damaged end is left out.
pub fn decode(bytes: &[u8]) -> Histogram {
    let mut rest = bytes;
    let mut histogram = Histogram::default();
    let mut next = 0u64;
    while let Some((gap, count)) = take(&mut rest).zip(take(&mut rest)) {
        let bucket = next.saturating_add(gap);
        if bucket >= BUCKETS as u64 || count == 0 {
            break;
        }
        histogram.buckets.push((bucket as u32, count));
        next = bucket + 1;
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;
    use proptest::prelude::*;

    fn of(samples: &[i64]) -> Histogram {
        Histogram { buckets: samples.iter().filter_map(|ns| Some((bucket_of(*ns)? as u32, 1))).collect() }.normalised()
    }

    proptest! {
        #[test]
        fn bytes_hold_the_histogram(samples in prop::collection::vec(0i64..=i64::MAX, 0..200)) {
            let histogram = of(&samples);
            prop_assert_eq!(decode(&encode(&histogram)), histogram);
        }

        #[test]
        fn merged_histograms_are_those_of_all_samples(
            a in prop::collection::vec(0i64..10_000_000, 0..200),
            b in prop::collection::vec(0i64..10_000_000, 0..200),
        ) {
            let mut merged = decode(&encode(&of(&a)));
            merged.merge(&decode(&encode(&of(&b))));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }

        #[test]
        fn any_bytes_are_some_histogram(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let histogram = decode(&bytes);
            prop_assert_eq!(histogram.clone().normalised(), histogram);
        }
    }
}
