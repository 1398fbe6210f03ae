//! Archives without a record of what they were to measure.

use crate::invented::{HOUR, judged, run};
use archive::reader::Run;
use archive::sample::Second;
use judge::verdict::Verdict;

fn refused(run: &Run, text: &str, code: &str) {
    let judged = judged(run, text, "1/h");
    assert_eq!(judged.verdict, Verdict::NoVerdict, "{}", judged.sentence);
    assert!(judged.sentence.contains(code), "{}", judged.sentence);
}

fn of_interval(run: &mut Run, interval_ns: u64) {
    run.manifest.as_mut().unwrap().settings.as_mut().unwrap().interval_ns = interval_ns;
}

#[test]
fn a_requested_cpu_without_a_thread_is_no_pass() {
    let mut one = run(4 * HOUR, 1, |_, _| (50_000, 0, 0));
    one.manifest.as_mut().unwrap().settings.as_mut().unwrap().cpus = Some(vec![0]);
    assert_eq!(judged(&one, "latency < 100us", "1/h").verdict, Verdict::Pass);
    one.manifest.as_mut().unwrap().settings.as_mut().unwrap().cpus = Some(vec![0, 1, 2, 3]);
    refused(&one, "latency < 100us", "no figures of CPUs 1, 2, 3");
    refused(&one, "p90 < 100us", "no figures of CPUs 1, 2, 3");
    let late = run(4 * HOUR, 1, |_, second| (if second % 60 == 7 { 200_000 } else { 1 }, 0, 0));
    assert_eq!(judged(&late, "latency < 100us", "1/h").verdict, Verdict::Fail, "harm needs no other CPU");
}

#[test]
fn one_hour_of_records_in_ten_is_no_pass() {
    let mut slow = run(10 * HOUR, 1, |_, _| (50_000, 0, 0));
    of_interval(&mut slow, 1_000_000_000);
    let thread = slow.threads.get_mut(&0).unwrap();
    thread.seconds = thread.seconds.iter().map(|second| Second { cycles: 1, ..second }).collect();
    thread.histogram.buckets = vec![(thread.histogram.buckets[1].0, u64::from(10 * HOUR))];
    thread.totals.cycles = u64::from(10 * HOUR);
    assert_eq!(judged(&slow, "latency < 100us", "1/h").verdict, Verdict::Pass);
    let thread = slow.threads.get_mut(&0).unwrap();
    thread.seconds = thread.seconds.iter().filter(|second| second.second < HOUR).collect();
    thread.histogram.buckets[0].1 = u64::from(HOUR);
    thread.totals.cycles = u64::from(HOUR);
    for text in ["latency < 100us", "missed < 1/h"] {
        refused(&slow, text, "of the periods of CPU 0, 10 % are recorded");
    }
}

#[test]
fn too_few_cycles_for_the_interval_are_no_pass() {
    let mut sparse = run(4 * HOUR, 1, |_, _| (50_000, 0, 0));
    of_interval(&mut sparse, 100_000);
    refused(&sparse, "latency < 100us", "of the periods of CPU 0, 10 % are recorded");
    of_interval(&mut sparse, 999_000);
    assert_eq!(judged(&sparse, "latency < 100us", "1/h").verdict, Verdict::Pass);
}
