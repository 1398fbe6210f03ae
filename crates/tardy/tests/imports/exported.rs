//! Exports of imports: what the source did not keep is left out or refused, what it says is carried.

use crate::fixture;
use fixtures::fake_meter::Bench;

fn imported(name: &str) -> Bench {
    let bench = Bench::new();
    assert_eq!(bench.run(&["import", &fixture(name), "--out", "run"]).code, Some(0));
    bench
}

fn exported(bench: &Bench, format: &str) -> String {
    let ended = bench.run(&["export", "run", "--format", format, "-o", "-"]);
    assert_eq!(ended.code, Some(0), "{format}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn unknown_loads_and_starts_are_left_out() {
    let bench = imported("cyclictest-2.4/plain.txt");
    for format in ["junit", "kcidb", "lava", "tap", "prometheus", "fuego", "markdown", "results-json", "results-table"]
    {
        let text = exported(&bench, format);
        for wrong in ["idle", "1970-", "none", "tardy_run_start_time_seconds{", "tardy_missed_periods{"] {
            assert!(!text.contains(wrong), "{format} says {wrong}: {text}");
        }
    }
}

#[test]
fn what_the_file_says_is_carried() {
    let bench = imported("rt-tests-2.4/oslat.json");
    let row = exported(&bench, "results-json");
    for said in ["\"tool\": \"oslat\"", "\"duration\": \"2 s\"", "\"preemption\": \"preempt_dynamic\""] {
        assert!(row.contains(said), "{said} is not in {row}");
    }
    assert!(exported(&bench, "junit").contains("timestamp=\"2026-11-21T22:17:56\""));
}

#[test]
fn exports_without_a_row_are_refused() {
    let bench = imported("cyclictest-2.10/histogram.json");
    for format in ["worst-csv", "seconds-csv", "counters-csv", "parquet", "map-svg"] {
        let ended = bench.run(&["export", "run", "--format", format, "-o", "-"]);
        assert_ne!(ended.code, Some(0), "{format}");
        assert!(ended.stderr.contains("its source kept no"), "{format}: {}", ended.stderr);
    }
}

#[test]
fn histograms_have_the_buckets_of_the_source() {
    let bench = imported("cyclictest-2.10/histogram.json");
    let table = exported(&bench, "histogram-csv");
    assert_eq!(table.lines().nth(1), Some("0,0,4000,4999,700"), "{table}");
    for line in table.lines().skip(1) {
        let ends: Vec<i64> = line.split(',').skip(2).take(2).map(|end| end.parse().unwrap()).collect();
        assert_eq!((ends[0] % 1000, ends[1] % 1000), (0, 999), "{line}");
    }
}
