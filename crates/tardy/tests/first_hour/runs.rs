//! Runs that work: measured, explained, listed and reported, and every verb says the same.

use crate::desk::Desk;
use std::thread;
use std::time::Instant;

#[test]
fn the_first_page_is_short_and_names_three_commands() {
    let Some(desk) = Desk::new() else { return };
    let ended = desk.shell("tardy");
    assert_eq!(ended.code, Some(0), "{}", ended.shown());
    assert!(ended.stdout.lines().count() <= 20, "{}", ended.stdout);
    for expected in ["tardy check", "tardy run --duration", "tardy explain", "kernel", "measure"] {
        assert!(ended.stdout.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
}

#[test]
fn every_verb_counts_the_same_spikes_beside_the_same_conditions() {
    let Some(desk) = Desk::new() else { return };
    let ran = desk.shell("tardy run -m -Sp90 -i1ms -D 5s --load messaging --beside-others --more");
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("Conditions: load messaging; kernel"), "{}", ran.stdout);
    let document = desk.shell("tardy explain --json").json();
    let late = document["spikes"].as_array().unwrap().iter().filter(|spike| spike["late"] == true).count();
    let listed = desk.shell("tardy list --json").json();
    assert_eq!(listed["runs"][0]["spikes"], late);
    assert_eq!((&listed["runs"][0]["load"], &listed["runs"][0]["target"]), (&"messaging".into(), &"local".into()));
    let shown = ran.stdout.lines().filter(|line| line.starts_with("  #")).count();
    let more: usize = ran
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("and ")?.strip_suffix(" more")?.parse().ok())
        .next()
        .unwrap_or(0);
    assert_eq!(shown + more, late, "{}", ran.stdout);
    let explained = desk.shell("tardy explain");
    assert!(explained.stderr.contains("latest is runs/"), "{}", explained.stderr);
    assert_eq!(desk.shell("tardy report").code, Some(0));
    let html = std::fs::read_to_string(desk.path("runs").join(&desk.runs()[0]).join("report.html")).unwrap();
    assert!(html.find("The worst of").unwrap() < html.find("Measured as requested").unwrap());
    assert!(html.contains("aria-label=\"Conditions\""));
}

/// The question of most newcomers takes one command on a machine, two on a board, and ends with a page.
#[test]
fn qualify_refutes_a_limit_within_a_minute() {
    let Some(desk) = Desk::new() else { return };
    let begun = Instant::now();
    let ended = desk.shell("tardy qualify --limit 1us --duration 20s --beside-others");
    println!("NO after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(ended.code, Some(1), "{}", ended.shown());
    let first = ended.stdout.lines().next().unwrap();
    assert!(first.contains("can end with NO"), "{first}");
    assert!(ended.stdout.contains("\nNO: this machine does not keep p99 <= 1.0 µs"), "{}", ended.stdout);
    let run = &desk.runs()[0];
    assert!(desk.path("runs").join(run).join("report.html").is_file(), "{}", ended.stdout);
    let document = desk.shell("tardy qualify --limit 1s --allow 1/day --duration 2s --beside-others --json");
    assert_eq!(document.json()["judgement"]["verdict"], "not_enough_data", "{}", document.stdout);
    assert_eq!(document.code, Some(4));
}

#[test]
fn a_load_that_is_done_starts_again() {
    let Some(desk) = Desk::new() else { return };
    let ended = desk
        .shell("tardy run -D 3s --more --beside-others --load-cmd 'head -c 1000000 /dev/zero | sha256sum >/dev/null'");
    assert_eq!(ended.code, Some(0), "{}", ended.shown());
    assert!(ended.stdout.contains("started again"), "{}", ended.stdout);
    let ended = desk.shell("tardy run -D 3s --beside-others --load-once true");
    assert_eq!(ended.code, Some(0), "{}", ended.shown());
}

#[test]
fn a_load_that_dies_ends_the_run_unless_asked() {
    let Some(desk) = Desk::new() else { return };
    let measured_s = |more: &str| {
        let ended = desk.shell(&format!("tardy run -D 6s --beside-others --load-cmd nosuchcmd --json {more}"));
        assert_eq!(ended.code, Some(3), "{}", ended.shown());
        assert!(ended.shown().contains("nosuchcmd: not found"), "{}", ended.shown());
        let summary = ended.json();
        assert_eq!(
            (&summary["valid"], &summary["state"]),
            (&false.into(), &if more.is_empty() { "failed" } else { "complete" }.into())
        );
        summary["measured_ns"].as_f64().unwrap() / 1e9
    };
    assert!(measured_s("") < 6.0, "the rest of the time would have measured something else");
    assert!(measured_s("--keep-going") >= 6.0);
}

#[test]
fn a_run_stops_at_its_limit() {
    let Some(desk) = Desk::new() else { return };
    let ended = desk.shell("tardy run -m -Sp90 -i200us -D 1h -b 1us --stop-at-limit --beside-others");
    assert_eq!(ended.code, Some(1), "{}", ended.shown());
    assert!(ended.stdout.contains("Stopped early"), "{}", ended.stdout);
}

#[test]
fn the_exit_code_of_a_watched_command_is_passed_on() {
    let Some(desk) = Desk::new() else { return };
    let ended = desk.shell("tardy watch --beside-others -- sh -c 'sleep 0.3; sleep 0.3; exit 7'");
    assert_eq!(ended.code, Some(7), "{}", ended.shown());
    assert!(ended.stderr.contains("the command ended with exit status 7"), "{}", ended.stderr);
    let ended = desk.shell("tardy watch --beside-others --duration 2s -- sh -c 'while :; do sleep 0.1; done'");
    assert_eq!(ended.code, Some(0), "the watch ended this one: {}", ended.shown());
    // Too short for most wake-ups: where there was none, the code is still the command's.
    let ended = desk.shell("tardy watch --beside-others --out at-once -- sh -c 'exit 7'");
    assert_eq!(ended.code, Some(7), "{}", ended.shown());
    let measured_nothing = ended.stderr.contains("no thread of the program slept and woke up");
    assert_ne!(measured_nothing, desk.path("at-once").exists(), "{}", ended.shown());
}

#[test]
fn two_runs_report_each_other_whichever_started_first() {
    let Some(desk) = Desk::new() else { return };
    let line = |name: &str, seconds: u32| format!("tardy run -D {seconds}s --trace off --beside-others --out {name}");
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(|| desk.shell(&line("first", 12)));
        desk.wait_until_measuring("first");
        let second = desk.shell(&line("second", 6));
        (first.join().unwrap(), second)
    });
    for ended in [first, second] {
        assert_eq!(ended.code, Some(0), "{}", ended.shown());
        assert!(ended.shown().contains("another measurement"), "{}", ended.shown());
    }
    assert!(desk.shell("tardy list .").stdout.contains("degraded"));
}

#[test]
fn an_account_names_the_threads_of_a_second_run() {
    let Some(desk) = Desk::new() else { return };
    // A higher priority, and as many wake-ups as the CPU can take: the first run's threads have to wait for them.
    let second = "tardy run -p 90 -i 20us --cpus 0 -D 8s --trace off --beside-others -q --out second";
    let found = thread::scope(|scope| {
        let first =
            scope.spawn(|| desk.shell("tardy run -p 50 -i 1ms --cpus 0 -D 6s --beside-others -b 1us --out first"));
        desk.wait_until_measuring("first");
        let second = desk.shell(second);
        assert_eq!(second.code, Some(0), "{}", second.shown());
        first.join().unwrap()
    });
    assert_eq!(found.code, Some(1), "{}", found.shown());
    let explained = desk.shell("tardy explain first --json").json();
    let spikes = explained["spikes"].as_array().unwrap();
    let named = |spike: &&serde_json::Value| {
        spike["findings"].as_array().unwrap().iter().any(|finding| finding["culprit"] == "another-run")
    };
    assert!(spikes.iter().any(|spike| named(&spike)), "{explained}");
}

#[test]
fn a_tracer_that_starts_during_a_run_is_reported() {
    let Some(desk) = Desk::new() else { return };
    let instance = "/sys/kernel/tracing/instances/first-hour";
    let traced = format!(
        "sleep 2; mkdir {instance} && echo 1 > {instance}/events/sched/sched_process_exit/enable; sleep 7; rmdir {instance}"
    );
    let ended = thread::scope(|scope| {
        scope.spawn(|| desk.shell(&traced));
        desk.shell("tardy run -D 7s --trace off --beside-others --out first")
    });
    assert_eq!(ended.code, Some(0), "{}", ended.shown());
    assert!(ended.shown().contains("another tool started to trace during the run"), "{}", ended.shown());
    assert!(ended.shown().contains("in instance first-hour"), "{}", ended.shown());
}
