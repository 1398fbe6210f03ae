//! `tardy compare` on archives of a fake meter.

use archive::message::{LoadReport, Message};
use fixtures::fake_meter::*;

/// A bench with the archives `a` and `b`.
fn pair() -> Bench {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--duration", "2s", "--out", "a"]).code, Some(0));
    let more = ["run", "--duration", "2s", "--priority", "90", "--load", "cpu:2", "--out", "b"];
    assert_eq!(bench.run(&more).code, Some(0));
    bench
}

#[test]
fn two_runs_stand_side_by_side_without_a_verdict() {
    let bench = pair();
    let ended = bench.run(&["compare", "a", "b", "--more"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "max 153.2 µs 153.2 µs 1.000",
        "not explained 1 1",
        "priority: A 80; B 90",
        "load: only B: cpu:2",
        "One run each is not a verdict",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let document = bench.run(&["compare", "a", "b", "--json"]).json();
    assert_eq!(document["compare_version"], 1);
    assert_eq!(document["comparison"]["differences"].as_array().unwrap().len(), 2, "{document}");
    let alike = bench.run(&["compare", "a", "a", "--json"]).json();
    assert_eq!(alike["comparison"]["differences"], serde_json::json!([]));
}

#[test]
fn what_the_same_load_got_done_is_the_price_of_a_change() {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--load", "messaging", "--out", "a"]).code, Some(0));
    let done = LoadReport {
        name: "messaging".into(),
        unit: "messages".into(),
        progress: 750,
        alive: true,
        detail: String::new(),
    };
    let slower = ending_well(measuring().says(&[Message::Loads(vec![done])]));
    assert_eq!(slower.run(&["run", "--load", "messaging", "--out", "b"]).code, Some(0));
    let slower = slower.path("b").display().to_string();
    let text = bench.run(&["compare", "a", &slower, "--more"]).stdout;
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // 1000 and 750 messages in the 2 s between measuring and collecting.
    assert!(flowing.contains("messaging, messages/s 500 375 0.750 -25.0 %"), "{text}");
}

#[test]
fn more_than_two_and_none_are_wrong_usage() {
    let bench = pair();
    let three = bench.run(&["compare", "a", "b", "a"]);
    assert_eq!(three.code, Some(2));
    assert!(three.stderr.contains("randomised rounds"), "{}", three.stderr);
    assert_eq!(bench.run(&["compare", "a", "nowhere"]).code, Some(2));
    assert_eq!(bench.run(&["compare", "a"]).code, Some(2));
}
