//! Limits on a tick of the clock, and clocks too coarse for a limit.

use crate::invented::{HOUR, judged, run};
use archive::effective::EffectiveSettings;
use archive::histogram::bucket_of;
use archive::reader::Run;
use judge::verdict::Verdict;

/// Three of ten samples exactly at the limit of the run, 100 µs, the others before it.
fn at_the_limit(hours: u32) -> Run {
    let mut run = run(hours * HOUR, 1, |_, _| (100_000, 0, 0));
    let thread = run.threads.get_mut(&0).unwrap();
    let third = thread.totals.cycles * 3 / 10;
    thread.histogram.buckets = vec![
        (bucket_of(10).unwrap() as u32, thread.totals.cycles - third),
        (bucket_of(100_000).unwrap() as u32, third),
    ];
    run
}

#[test]
fn less_and_at_most_differ_on_a_tick_of_the_clock() {
    let run = at_the_limit(2);
    for text in ["latency < 100us", "p99 < 100us", "p90 < 100us"] {
        assert_ne!(judged(&run, text, "1/h").verdict, Verdict::Pass, "{text}");
    }
    assert_eq!(judged(&run, "latency < 100us", "1/h").verdict, Verdict::Fail);
    for text in ["latency <= 100us", "p90 <= 100us"] {
        assert_ne!(judged(&run, text, "1/h").verdict, Verdict::Fail, "{text}");
    }
    assert_eq!(judged(&run, "p90 <= 100us", "1/h").verdict, Verdict::Pass);
}

fn with_clock(mut run: Run, step_ns: u64, resolution_ns: Option<u64>) -> Run {
    run.effective = Some(EffectiveSettings {
        clock_step_ns: step_ns,
        clock_resolution_ns: resolution_ns,
        ..EffectiveSettings::untraced()
    });
    run
}

#[test]
fn a_clock_of_4_ms_passes_nothing_below_it() {
    for (step_ns, resolution_ns) in [(25, Some(4_000_000)), (4_000_000, None), (u64::MAX, None)] {
        let coarse = with_clock(run(4 * HOUR, 1, |_, _| (0, 0, 0)), step_ns, resolution_ns);
        for text in ["latency < 5us", "p99.9 < 1us", "p50 < 100us", "latency < 3999us"] {
            let judged = judged(&coarse, text, "1/h");
            assert_eq!(judged.verdict, Verdict::NoVerdict, "{text}: {}", judged.sentence);
            assert!(judged.sentence.contains("the clock"), "{}", judged.sentence);
        }
    }
    let coarse = with_clock(run(4 * HOUR, 1, |_, _| (0, 0, 0)), 25, Some(4_000_000));
    assert_eq!(judged(&coarse, "latency < 5000us", "1/h").verdict, Verdict::Pass);
    let late = with_clock(run(4 * HOUR, 1, |_, _| (4_000_000, 1, 0)), 25, Some(4_000_000));
    assert_eq!(judged(&late, "latency < 5us", "1/h").verdict, Verdict::Fail, "it was later than 4 ms");
}

#[test]
fn a_reading_close_below_the_limit_may_have_been_beyond_it() {
    let close = with_clock(run(4 * HOUR, 1, |_, _| (99_500, 0, 0)), 25, Some(1000));
    assert_eq!(judged(&close, "latency < 100us", "1/h").verdict, Verdict::NotEnoughData);
    assert_eq!(judged(&close, "latency < 101us", "1/h").verdict, Verdict::Pass);
    let fine = with_clock(run(4 * HOUR, 1, |_, _| (99_500, 0, 0)), 25, Some(1));
    assert_eq!(judged(&fine, "latency < 100us", "1/h").verdict, Verdict::Pass);
}
