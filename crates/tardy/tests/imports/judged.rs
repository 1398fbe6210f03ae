//! Verdicts and comparisons of imports: a rounded reading is an interval, and the length of the run comes from the file.

use crate::fixture;
use fixtures::fake_meter::Bench;

fn judged(name: &str, limit: &str, allow: &str) -> String {
    let bench = Bench::new();
    assert_eq!(bench.run(&["import", &fixture(name), "--out", "run"]).code, Some(0));
    let ended = bench.run(&["judge", "run", "--limit", limit, "--allow", allow]);
    ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_whose_largest_latency_meets_the_limit_passes_by_its_length() {
    let text = judged("rteval/cyclictest.xml", "latency<500us", "30/h");
    assert!(text.contains("PASS: "), "{text}");
    let text = judged("rteval/cyclictest.xml", "latency<500us", "1/day");
    assert!(text.contains("NOT ENOUGH DATA: "), "{text}");
}

#[test]
fn a_late_reading_breaks_a_limit_that_allows_none() {
    let text = judged("cyclictest-2.10/histogram.json", "latency<50us", "never");
    assert!(text.contains("FAIL"), "{text}");
}

#[test]
fn the_refusal_names_the_formats_that_can_pass() {
    let text = judged("cyclictest-2.4/plain.txt", "latency<50ms", "1/h");
    assert!(text.contains("cyclictest-text ") && text.contains("--json"), "{text}");
    let text = judged("cyclictest-2.10/histogram.json", "p99.9<30us", "1/h");
    assert!(text.contains("NO VERDICT") && text.contains("samples.raw"), "{text}");
}

#[test]
fn compared_figures_are_no_finer_than_their_source() {
    let bench = Bench::new();
    for (name, out) in [("cyclictest-2.10/histogram.json", "a"), ("cyclictest-2.4/histogram.json", "b")] {
        assert_eq!(bench.run(&["import", &fixture(name), "--out", out]).code, Some(0));
    }
    let compared = bench.run(&["compare", "a", "b", "--json"]).json();
    let figures = compared["comparison"]["figures"].as_array().unwrap_or_else(|| panic!("{compared}"));
    let mut seen = 0;
    for figure in figures.iter().filter(|figure| figure["unit"] == "ns") {
        for side in ["a", "b"].iter().filter_map(|side| figure[side].as_f64()) {
            assert_eq!(side % 1000.0, 0.0, "{figure}");
            seen += 1;
        }
    }
    assert!(seen > 0, "{compared}");
}
