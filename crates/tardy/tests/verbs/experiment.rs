//! `tardy experiment` against a fake meter that is later at a higher priority.

use fixtures::fake_meter::*;
use std::fs;

/// A meter whose wake-ups are 800 ns late, and 1000 ns at priority 90.
fn later_at_90() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("low"), all_said_at(800)).unwrap();
    fs::write(bench.path("high"), all_said_at(1000)).unwrap();
    bench.does("case \"$settings\" in *'\"priority\":90'*) cat \"$here/high\";; *) cat \"$here/low\";; esac")
}

#[test]
fn a_worse_variant_is_code_1_with_its_size() {
    let bench = later_at_90();
    let words = ["experiment", "--b", "--priority 90", "--rounds", "6", "--out", "here", "--", "--duration", "5s"];
    let ended = bench.run(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "B raised p99 by 200 ns (+25.0 %, from 800 ns to 1.0 µs, 95 % interval +25.0 % to +25.0 %; 6 rounds";
    assert!(text.contains(expected), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    assert_eq!(bench.run(&["list", "here", "--json"]).json()["runs"].as_array().unwrap().len(), 12);
    assert_eq!(bench.run(&["experiment", "--resume", "here"]).stdout, ended.stdout);
    let better = ["experiment", "--a", "--priority 90", "--rounds", "10", "--json", "--", "--duration", "5s"];
    let better = bench.run(&better);
    assert_eq!((better.code, better.json()["result"]["outcome"].as_str()), (Some(0), Some("better")));
    let few = bench.run(&["experiment", "--a", "--priority 90", "--rounds", "6", "--json", "--", "--duration", "5s"]);
    assert_eq!((few.code, few.json()["result"]["outcome"].as_str()), (Some(4), Some("too_few_rounds")));
}

#[test]
fn the_same_twice_is_the_noise_floor() {
    let ended = later_at_90().run(&["experiment", "--rounds", "10", "--", "--duration", "5s"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stderr, ended.stdout);
    assert!(ended.stdout.contains("noise floor"), "{}", ended.stdout);
    let document = later_at_90().run(&["experiment", "--rounds", "10", "--json", "--", "--duration", "5s"]).json();
    assert_eq!(document["result"]["outcome"], "no_difference_found");
}

#[test]
fn few_rounds_have_no_verdict() {
    let ended = later_at_90().run(&["experiment", "--b", "--priority 90", "--rounds", "3", "--", "--duration", "5s"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stdout.contains("10 rounds"), "the number that can show one: {}", ended.stdout);
}

#[test]
fn evidence_ends_it_early_when_asked() {
    let words =
        ["experiment", "--b", "--priority 90", "--rounds", "12", "--until-decided", "--json", "--", "--duration", "5s"];
    let document = later_at_90().run(&words).json();
    assert_eq!((document["result"]["rounds"].as_u64(), document["state"].as_str()), (Some(7), Some("complete")));
}

#[test]
fn a_preparation_that_fails_voids_the_round() {
    let bench = later_at_90();
    let before = "echo x >> prepared; echo out; [ $(wc -l < prepared) != 2 ]";
    let words = ["experiment", "--b-before", before, "--rounds", "2", "--json", "--", "--duration", "5s"];
    let ended = bench.run(&words);
    let document = ended.json();
    let voids: Vec<&str> =
        document["attempts"].as_array().unwrap().iter().filter_map(|attempt| attempt["void"].as_str()).collect();
    assert_eq!(voids.iter().filter(|void| void.contains("exit status: 1")).count(), 1, "{document}");
    let never = bench.run(&["experiment", "--a-before", "exit 7", "--json", "--", "--duration", "5s"]);
    let document = never.json();
    assert_eq!((never.code, &document["state"]), (Some(3), &"failed".into()), "{document}");
    assert_eq!(document["attempts"].as_array().unwrap().len(), 3, "{document}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = later_at_90();
    fs::create_dir_all(bench.path("full/x")).unwrap();
    for (words, expected) in [
        (&["experiment", "--b", "--prio 90"][..], "--prio"),
        (&["experiment", "--b", "'"], "quote"),
        (&["experiment", "--", "--out", "x"], "before `--`"),
        (&["experiment", "--out", "full"], "not empty"),
        (&["experiment", "--resume", "full"], "experiment.json"),
        (&["experiment", "--rounds", "21"], "20"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
}
