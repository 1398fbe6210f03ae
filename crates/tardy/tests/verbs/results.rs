//! `tardy export` to the formats of test systems: outcomes, refusals, and no unescaped text from a target.

use archive::spike::SpikeReason;
use fixtures::fake_meter::*;
use roxmltree::Document;
use std::fs;

/// A bench with the archive `here`, whose spikes are known.
fn archived() -> Bench {
    let bench = ending_well(measuring().says(&[spike(2, 200_000, SpikeReason::NewMaximum)]));
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    bench
}

fn exported(bench: &Bench, words: &[&str]) -> String {
    let ended = bench.run(&[&["export", "here", "-o", "-", "--format"], words].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

#[test]
fn what_no_limit_decides_is_never_passed() {
    let bench = archived();
    let junit = exported(&bench, &["junit"]);
    let document = Document::parse(&junit).unwrap();
    let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    assert!(!cases.is_empty());
    for case in cases {
        assert!(case.children().any(|child| child.has_tag_name("skipped")), "{junit}");
    }
    let tap = exported(&bench, &["tap"]);
    assert!(tap.starts_with("TAP version 13\n1..1\nok 1 - ") || tap.contains("\nok 1 - "), "{tap}");
    assert!(tap.lines().filter(|line| line.starts_with("ok ")).all(|line| line.contains("# SKIP")), "{tap}");
    assert!(!exported(&bench, &["lava"]).contains("RESULT=pass"));
    assert_eq!(exported(&bench, &["squad-tests"]).trim(), "{}");
    let kcidb: serde_json::Value = serde_json::from_str(&exported(&bench, &["kcidb"])).unwrap();
    assert!(kcidb["tests"].as_array().unwrap().iter().all(|test| test["status"] == "DONE"), "{kcidb}");
    let fuego: serde_json::Value = serde_json::from_str(&exported(&bench, &["fuego"])).unwrap();
    assert_eq!(fuego["status"], "SKIP");
}

#[test]
fn a_run_that_is_not_valid_is_an_error_and_no_failure() {
    let bench = archived();
    fs::remove_file(bench.path("here/stream.tardy")).unwrap();
    let junit = exported(&bench, &["junit", "--limit", "latency < 1us"]);
    let document = Document::parse(&junit).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("error"), count("failure"), count("testcase")), (2, 0, 2), "{junit}");
}

#[test]
fn a_run_without_an_end_is_an_error_and_listed_as_what_it_is() {
    let bench = archived();
    let manifest = fs::read_to_string(bench.path("here/manifest.json")).unwrap();
    fs::write(bench.path("here/manifest.json"), manifest.replace("\"complete\"", "\"running\"")).unwrap();
    let reported = |words: &str, listed: &str| {
        let junit = exported(&bench, &["junit"]);
        assert!(junit.contains("<error") && junit.contains(words), "{junit}");
        let list = bench.run(&["list", "."]).stdout;
        assert!(list.contains(listed), "{list}");
    };
    reported("the run was cut off before its end", " cut off");
    let writer = fs::File::open(bench.path("here/stream.tardy")).unwrap();
    writer.lock().unwrap();
    reported("the run is still active", " running");
}

#[test]
fn criteria_of_fuego_decide_its_document() {
    let bench = archived();
    let criteria = |text: &str| fs::write(bench.path("criteria.json"), text).unwrap();
    let measure = |operator: &str| {
        format!(
            r#"{{"schema_version":"1.0","criteria":[{{"tguid":"default.latencies.max_latency","reference":{{"value":1,"operator":"{operator}"}}}}]}}"#
        )
    };
    for (operator, status) in [("le", "FAIL"), ("gt", "PASS")] {
        criteria(&measure(operator));
        let text = exported(&bench, &["fuego", "--criteria", "criteria.json"]);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["status"], status, "{text}");
    }
    criteria(&measure("near"));
    let refused = bench.run(&["export", "here", "--format", "fuego", "--criteria", "criteria.json"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("`near`"), "{}", refused.stderr);
}

#[test]
fn several_runs_are_distinguished_in_one_document() {
    let bench = archived();
    let ended = bench.run(&["export", "here", "here", "--format", "junit", "-o", "-"]);
    let document = Document::parse(&ended.stdout).unwrap();
    let names: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("testsuite"))
        .map(|suite| suite.attribute("name").unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[1], format!("{}-2", names[0]));
    for words in [
        vec!["--format", "junit"],
        vec!["--format", "worst-csv", "-o", "-"],
        vec!["--format", "counters-csv", "-o", "-"],
    ] {
        assert_eq!(bench.run(&[&["export", "here", "here"], &words[..]].concat()).code, Some(2), "{words:?}");
    }
}

#[test]
fn options_that_a_format_does_not_have_are_refused() {
    let bench = archived();
    fs::write(bench.path("criteria.json"), r#"{"schema_version":"1.0","criteria":[]}"#).unwrap();
    for (format, option, accepted) in [
        ("junit", &["--criteria", "criteria.json"][..], "fuego"),
        ("junit", &["--origin", "lab"], "kcidb"),
        ("tap", &["--build-id", "lab:1"], "kcidb"),
        ("markdown", &["--contact", "lab"], "results-json"),
        ("markdown", &["--historical"], "results-table"),
        ("json", &["--limit", "latency < 1s"], "tap"),
    ] {
        let export =
            |format: &str| bench.run(&[&["export", "here", "-o", "-", "--format", format], option].concat()).code;
        assert_eq!((export(format), export(accepted)), (Some(2), Some(0)), "{format} {option:?}");
    }
    assert_eq!(bench.run(&["export", "here", "--format", "kcidb", "--origin", "My Lab"]).code, Some(2));
}

/// A round of a plan with three loads, each twice, whose steps with the load `messaging` break off.
fn round() -> Bench {
    let bench =
        ending_well(measuring().does("case \"$settings\" in *messaging*) echo out of luck >&2; kill -9 $$;; esac"));
    let plan = "loads = [\"none\", \"messaging\", \"cpu\"]\nrepetitions = 2\n[measurement]\nduration = \"2s\"\n\
                [[limits]]\nlimit = \"latency < 100us\"\n[[limits]]\nlimit = \"latency < 1ms\"\nload = \"cpu\"\n";
    fs::write(bench.path("night.toml"), plan).unwrap();
    assert_eq!(bench.run(&["run", "night.toml", "--out", "here"]).code, Some(3));
    bench
}

#[test]
fn the_round_of_a_plan_is_one_suite_with_a_case_for_each_limit_of_each_step() {
    let bench = round();
    let junit = exported(&bench, &["junit", "--limit", "latency < 100us"]);
    fs::remove_dir_all(bench.path("here/06-local-cpu-2-of-2")).unwrap();
    let words = ["export", "here", "--format", "junit"];
    assert_eq!(bench.run(&words).stdout, "here/junit.xml\n");
    let text = fs::read_to_string(bench.path("here/junit.xml")).unwrap();
    let document = Document::parse(&text).unwrap();
    let of = |name: &'static str| document.descendants().filter(move |node| node.has_tag_name(name));
    assert_eq!(of("testsuite").map(|suite| suite.attribute("name").unwrap()).collect::<Vec<_>>(), ["tardy.night"]);
    let cases: Vec<String> = of("testcase")
        .map(|case| {
            let outcome = case.children().find(|child| child.is_element()).map_or("?", |child| child.tag_name().name());
            let [class, name] = ["classname", "name"].map(|key| case.attribute(key).unwrap());
            format!("{class}.{name} {outcome}")
        })
        .collect();
    let expected = [
        "none.measurement skipped",
        "none.latency_lt_100us skipped",
        "messaging.measurement error",
        "messaging.latency_lt_100us error",
        "cpu.measurement skipped",
        "cpu.latency_lt_100us skipped",
        "cpu.latency_lt_1ms skipped",
        "none-2.measurement skipped",
        "none-2.latency_lt_100us skipped",
        "messaging-2.measurement error",
        "messaging-2.latency_lt_100us error",
        // Its archive is gone: as if it had never been run.
        "cpu-2.measurement error",
        "cpu-2.latency_lt_100us error",
        "cpu-2.latency_lt_1ms error",
    ];
    assert_eq!(cases, expected.map(|case| format!("tardy.night.local.{case}")));
    assert!(text.contains("was not run") && text.contains("signal 9"), "{text}");
    let property = |name: &str| of("property").any(|node| node.attribute("name") == Some(name));
    assert!(property("local.none.latency_max_us") && property("local.cpu.kernel") == property("local.none.kernel"));
    // A limit on the command line applies to every step.
    assert_eq!(junit.matches("name=\"latency_lt_1ms\"").count(), 0);
    assert_eq!(junit.matches("name=\"latency_lt_100us\"").count(), 6);
    // A step exported alone has the same names as among the others.
    let alone = bench.run(&["export", "here/03-local-cpu-1-of-2", "--format", "junit", "-o", "-"]).stdout;
    assert!(alone.contains("classname=\"tardy.night.local.cpu\" name=\"latency_lt_1ms\""), "{alone}");
}

#[test]
fn every_format_of_results_takes_a_round_and_the_others_say_what_to_name() {
    let bench = round();
    for (format, count, of) in [
        ("tap", 14, "ok "),
        ("ktap", 14, "ok "),
        ("lava", 6, "LAVA_SIGNAL_TESTSET START night.local."),
        ("lava-result", 6, "lava-test-set start night.local."),
        ("kcidb", 14, "\"comment\": \"target local\""),
        // An unusable step is skipped, including its measurement.
        ("squad-tests", 10, "\"night.local."),
        ("prometheus", 6, "tardy_run_valid{"),
        ("markdown", 6, "\n### night.local."),
    ] {
        let text = exported(&bench, &[format]);
        let lines = text.matches(of).count();
        assert!(lines == count || (format == "kcidb" && lines > count), "{format}: {lines} of {of:?} in {text}");
    }
    let markdown = exported(&bench, &["markdown"]);
    assert!(markdown.contains("\n### night\n") && markdown.contains("| local.messaging-2 | ERROR |"), "{markdown}");
    // Both rounds are there, and nothing of one is attributed to the other.
    let two = bench.run(&["export", "here", "here", "--format", "junit", "-o", "-"]).stdout;
    assert!(two.contains("testsuite name=\"tardy.night\"") && two.contains("testsuite name=\"tardy.night-2\""));
    for format in ["perfetto", "json", "worst-csv", "parquet", "fuego"] {
        let refused = bench.run(&["export", "here", "--format", format]);
        assert_eq!(refused.code, Some(2), "{format}");
        assert!(refused.stderr.contains("here/01-local-no-load-1-of-2 for one"), "{format}: {}", refused.stderr);
    }
}

#[test]
fn a_step_that_was_stopped_is_no_result_of_its_limits() {
    let bench = round();
    let manifest = bench.path("here/01-local-no-load-1-of-2/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("\"complete\""), "{text}");
    fs::write(&manifest, text.replace("\"complete\"", "\"interrupted\"")).unwrap();
    let tap = exported(&bench, &["tap"]);
    assert!(tap.contains("not ok 2 - night.local.none.latency_lt_100us # ERROR"), "{tap}");
    assert!(tap.contains("stopped early"), "{tap}");
}

#[test]
fn rounds_that_cannot_be_read_are_refused_by_name() {
    let bench = round();
    for verb in ["judge", "explain", "report"] {
        let refused = bench.run(&[verb, "here"]);
        let words = "here is not an archive and holds 6 archives; name one, like here/0";
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{}", refused.stderr);
    }
    fs::write(bench.path("here/round.json"), "{").unwrap();
    let refused = bench.run(&["export", "here", "--format", "junit"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains(" here/round.json: "), "{}", refused.stderr);
    fs::remove_file(bench.path("here/round.json")).unwrap();
    let refused = bench.run(&["export", "here", "--format", "junit"]);
    assert!(refused.stderr.contains("holds 6 archives"), "{}", refused.stderr);
}

#[test]
fn samples_that_were_not_kept_are_refused_with_the_fix() {
    let refused = archived().run(&["export", "here", "--format", "parquet"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("--every-sample"), "{}", refused.stderr);
}
