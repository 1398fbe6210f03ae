//! `tardy lab store`, `tardy lab queue` and `tardy lab worker` with an index in a directory, and a fake meter.

use fixtures::fake_meter::*;
use fixtures::repository::copy;
use fixtures::repository::repository_path;
use fixtures::waiting::wait_until;
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

const PLAN: &str = "loads = [\"none\"]\n[measurement]\nduration = \"2s\"\n";

/// A bench with the archive of the corpus outside its directory of archives.
fn with_archive() -> Bench {
    let bench = Bench::new();
    copy(&repository_path("corpus/archives/v1"), &bench.path("elsewhere"));
    bench
}

fn document(bench: &Bench, words: &[&str]) -> Value {
    let ended = bench.run(&[words, &["--json"]].concat());
    assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.stdout, ended.stderr);
    ended.json()
}

#[test]
fn an_archive_is_added_once_listed_and_indexed_again() {
    let bench = with_archive();
    let added = document(&bench, &["lab", "store", "ingest", "elsewhere"]);
    assert_eq!(added["runs"][0]["outcome"], "added");
    assert_eq!(document(&bench, &["lab", "store", "ingest", "elsewhere"])["runs"][0]["outcome"], "known");
    let listed = document(&bench, &["lab", "store", "list"]);
    assert_eq!(listed["rows"].as_array().unwrap().len(), 1);
    assert_eq!(listed["rows"][0]["newest"]["digest"], added["runs"][0]["digest"]);
    let text = bench.run(&["lab", "store", "list"]);
    assert!(text.stdout.starts_with("board  ") && text.stdout.contains("worst case"), "{}", text.stdout);
    fs::remove_file(bench.path("runs/index.sqlite")).unwrap();
    assert_eq!(document(&bench, &["lab", "store", "rebuild"])["runs"], 1);
    assert_eq!(document(&bench, &["lab", "store", "list"])["rows"][0]["newest"]["digest"], added["runs"][0]["digest"]);
    let missing = bench.run(&["lab", "store", "ingest", "elsewhere", "nowhere", "--json"]);
    assert_eq!((missing.code, missing.json()["left_out"].as_array().unwrap().len()), (Some(1), 1));
    let address = bench.run(&["lab", "store", "list", "--store", "mysql://lab"]);
    assert_eq!(address.code, Some(2), "{}", address.stderr);
}

#[test]
fn the_doctor_names_what_is_wrong_and_the_fix_that_makes_it_right() {
    let bench = with_archive();
    document(&bench, &["lab", "store", "ingest", "elsewhere"]);
    let well = bench.run(&["lab", "store", "doctor"]);
    assert_eq!(well.code, Some(0), "{}", well.stdout);
    assert!(well.stdout.starts_with("SQLite 3") && well.stdout.contains("1 run; 1 archive"), "{}", well.stdout);
    copy(&bench.path("elsewhere"), &bench.path("runs/by-hand"));
    fs::remove_dir_all(bench.path("runs/kept")).unwrap();
    let ill = bench.run(&["lab", "store", "doctor"]);
    assert_eq!(ill.code, Some(1), "{}", ill.stdout);
    assert!(
        ill.stdout.contains("archives-missing: ") && ill.stdout.contains("fix: `tardy lab store ingest"),
        "{}",
        ill.stdout
    );
    document(&bench, &["lab", "store", "rebuild"]);
    let health = document(&bench, &["lab", "store", "doctor"]);
    assert_eq!(
        (health["health"]["runs"].as_u64(), health["health"]["findings"].as_array().unwrap().len()),
        (Some(1), 0)
    );
}

#[test]
fn serve_takes_an_index_in_a_database_and_no_second_directory() {
    let bench = Bench::new();
    let second = bench.run(&["lab", "serve", "lab", "--store", "elsewhere", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("write tardy lab serve elsewhere"), "{}", second.stderr);
    let other = bench.run(&["lab", "serve", "lab", "--store", "mysql://lab", "--listen", "127.0.0.1:0"]);
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    // No server listens on this port: the index is looked for there, and not in the directory.
    fs::create_dir(bench.path("lab")).unwrap();
    let gone =
        bench.run(&["lab", "serve", "lab", "--store", "postgres://127.0.0.1:1/tardy", "--listen", "127.0.0.1:0"]);
    assert!(!gone.stderr.contains("no directory"), "{}", gone.stderr);
    assert!(gone.code != Some(0) && !bench.path("lab/index.sqlite").exists(), "{:?}: {}", gone.code, gone.stderr);
}

#[test]
fn pruning_shows_first_what_would_go() {
    let bench = with_archive();
    let digest =
        document(&bench, &["lab", "store", "ingest", "elsewhere"])["runs"][0]["digest"].as_str().unwrap().to_owned();
    let pinned = document(&bench, &["lab", "store", "pin", &digest, "--reason", "incident 7"]);
    assert_eq!((&pinned["raw"], &pinned["pins"][0]["reason"]), (&Value::Bool(true), &Value::from("incident 7")));
    let dry = document(&bench, &["lab", "store", "prune", "--dry-run", "--older-than", "1s"]);
    assert_eq!((dry["kept"]["pinned"].as_u64(), dry["removed_files"].as_u64()), (Some(1), Some(0)), "{dry}");
    let unpinned = document(&bench, &["lab", "store", "unpin", &digest, "--reason", "incident 7"]);
    assert_eq!(unpinned["pins"].as_array().unwrap().len(), 0);
    assert_eq!(bench.run(&["lab", "store", "pin", "no-such-run", "--reason", "x"]).code, Some(2));
}

fn jobs(bench: &Bench) -> Vec<Value> {
    document(bench, &["lab", "queue", "list"])["jobs"].as_array().unwrap().clone()
}

#[test]
fn a_worker_runs_what_is_queued_and_adds_its_runs() {
    let bench = ending_well(measuring());
    fs::write(bench.path("x.toml"), PLAN).unwrap();
    fs::write(bench.path("wrong.toml"), "loads = 7").unwrap();
    assert_eq!(bench.run(&["lab", "queue", "add", "wrong.toml", "--board", "here"]).code, Some(2));
    document(&bench, &["lab", "queue", "add", "x.toml", "--board", "here"]);
    let cancelled = document(&bench, &["lab", "queue", "add", "x.toml", "--board", "here", "--priority", "-1"]);
    document(&bench, &["lab", "queue", "cancel", cancelled["jobs"][0]["job"].as_str().unwrap()]);
    document(&bench, &["lab", "queue", "add", "x.toml", "--board", "elsewhere"]);
    let worker = bench.run(&["lab", "worker", "--board", "here=local", "--once"]);
    assert_eq!(worker.code, Some(0), "{}", worker.stderr);
    let states: Vec<(String, String)> = jobs(&bench)
        .iter()
        .map(|job| (job["board"].as_str().unwrap().to_owned(), job["state"].as_str().unwrap().to_owned()))
        .collect();
    let of = |board: &str, state: &str| states.contains(&(board.to_owned(), state.to_owned()));
    assert!(of("here", "done") && of("here", "cancelled") && of("elsewhere", "queued"), "{states:?} {}", worker.stderr);
    let listed = document(&bench, &["lab", "store", "list"]);
    assert_eq!(listed["rows"][0]["coverage"]["samples"], 3);
}

fn started(bench: &Bench, words: &[&str]) -> Child {
    bench.tardy(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the first worker while it measures: the second one runs the job to its end, and the index has the run once.
#[test]
fn a_job_outlives_its_worker() {
    let meter = measuring().does("if [ ! -e \"$here/second\" ]; then touch \"$here/first\"; sleep 30; fi");
    let bench = ending_well(meter);
    fs::write(bench.path("x.toml"), PLAN).unwrap();
    document(&bench, &["lab", "queue", "add", "x.toml", "--board", "here"]);
    let mut first = started(&bench, &["lab", "worker", "--board", "here=local", "--lease", "1s"]);
    wait_until("the first worker measures", || bench.path("first").exists());
    fs::write(bench.path("second"), "").unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    // A busy machine must not cost the second worker its lease.
    let mut second = started(&bench, &["lab", "worker", "--board", "here=local", "--lease", "60s"]);
    wait_until("the job is done", || jobs(&bench)[0]["state"] == "done");
    rustix::process::kill_process(rustix::process::Pid::from_child(&second), rustix::process::Signal::TERM).unwrap();
    second.wait().unwrap();
    let job = &jobs(&bench)[0];
    // On a busy machine the first worker may lose its lease before it is killed, and claim the job again.
    assert!(job["attempts"].as_u64() >= Some(2) && job["lease_until_unix_ns"].is_null(), "{job}");
    let name = job["job"].as_str().unwrap();
    // What the first attempt measured may be there as well, but not as part of the job.
    let listed = document(&bench, &["lab", "store", "list"]);
    assert_eq!(listed["rows"][0]["coverage"]["samples"], 3, "{listed} {name}");
}

/// A database that accepts connections and says nothing.
#[test]
fn a_signal_ends_a_worker_whose_database_does_not_answer() {
    let bench = Bench::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://lab@{}/tardy", silent.local_addr().unwrap());
    let mut worker = started(&bench, &["lab", "worker", "--store", &store, "--board", "here=local"]);
    let _connection = silent.accept().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&worker), rustix::process::Signal::INT).unwrap();
    let status = worker.wait().unwrap();
    assert_eq!(status.signal(), Some(rustix::process::Signal::INT.as_raw()), "it waited: {status}");
}

/// A bench with thirty runs; the later half is twice as late.
fn with_a_change() -> Bench {
    (0..30).fold(Bench::new(), |bench, number| {
        let level_ns = (if number < 15 { 20_000 } else { 40_000 }) + 500 * (number % 3);
        let bench = bench.again().writes(all_said_at(level_ns));
        let ended = bench.run(&["run", "--duration", "1s", "--quiet", "--out", &format!("runs/run{number:02}")]);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        bench
    })
}

#[test]
fn a_change_is_reported_once_with_its_first_run() {
    let bench = with_a_change();
    document(&bench, &["lab", "store", "rebuild"]);
    let failing = bench.run(&["lab", "store", "changes", "--notify", "exit 1", "--json"]);
    assert_eq!(failing.code, Some(1), "{}{}", failing.stdout, failing.stderr);
    for _ in 0..2 {
        document(&bench, &["lab", "store", "changes", "--notify", "cat >> messages"]);
    }
    let messages = fs::read_to_string(bench.path("messages")).unwrap();
    let reports: Vec<Value> = messages.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let changes = document(&bench, &["lab", "store", "changes"])["changes"].as_array().unwrap().clone();
    assert_eq!((reports.len(), changes.is_empty()), (changes.len(), false), "{messages}");
    assert_eq!(reports[0]["first"]["digest"], reports[0]["change"]["after_digest"]);
    let alerts = document(&bench, &["lab", "store", "alerts"]);
    let sent = |alert: &Value| (&alert["state"], &alert["destination"]) == (&"sent".into(), &"command".into());
    assert!(alerts["alerts"].as_array().unwrap().iter().all(sent) && alerts["dead"] == 0, "{alerts}");
    assert_eq!(alerts["alerts"].as_array().unwrap().len(), changes.len());
    let listed = bench.run(&["lab", "store", "alerts"]);
    assert!(listed.stdout.contains("command") && listed.stdout.contains("2 attempts: "), "{}", listed.stdout);
    assert_eq!(bench.run(&["lab", "store", "alerts", "--retry", "none-such"]).code, Some(2));
    let name = changes[0]["change"].as_str().unwrap();
    assert_eq!(document(&bench, &["lab", "store", "triage", name, "noise"])["change"]["triage"], "noise");
    assert_eq!(bench.run(&["lab", "store", "triage", "none-such", "noise"]).code, Some(2));
}

#[test]
fn mistakes_in_settings_of_alerts_are_named_before_anything_is_sent() {
    let bench = Bench::new();
    let hook = "[destination.hook]\nkind = \"webhook\"\nurl = \"http://localhost:9/\"\n";
    fs::write(bench.path("good.toml"), format!("[[rule]]\nto = [\"hook\"]\n{hook}")).unwrap();
    fs::write(bench.path("bad.toml"), format!("[[rule]]\nto = [\"hok\"]\n{hook}")).unwrap();
    let checked = document(&bench, &["lab", "store", "alerts", "--check", "good.toml"]);
    assert_eq!((&checked["rules"], &checked["destinations"][0]), (&1.into(), &"hook".into()));
    for words in [
        &["lab", "store", "alerts", "--check", "bad.toml"][..],
        &["lab", "store", "changes", "--alerts", "bad.toml"],
        &["lab", "serve", "--alerts", "bad.toml"],
    ] {
        let refused = bench.run(words);
        assert_eq!(refused.code, Some(2), "{words:?}");
        assert!(refused.stderr.contains("bad.toml: ") && refused.stderr.contains(" hok,"), "{}", refused.stderr);
    }
    assert!(!bench.path("runs/index.sqlite").exists(), "nothing was begun");
}

#[test]
fn a_schedule_is_run_by_a_worker_and_mistakes_of_triggers_are_named() {
    let bench = ending_well(measuring());
    fs::write(bench.path("x.toml"), PLAN).unwrap();
    fs::write(bench.path("kernels.toml"), format!("{PLAN}# {{kernel}}\n")).unwrap();
    for wrong in [
        &["never", "x.toml"][..],
        &["a/b", "x.toml", "--every", "1h"],
        &["often", "x.toml", "--every", "1s"],
        &["kernels", "kernels.toml", "--every", "1h"],
        &["kernels", "kernels.toml", "--webhook", "--kernel", "6.1 x"],
    ] {
        let ended = bench.run(&[&["lab", "queue", "trigger", "add"], wrong, &["--board", "here"]].concat());
        assert_eq!(ended.code, Some(2), "{wrong:?}: {}", ended.stderr);
    }
    let nightly = ["lab", "queue", "trigger", "add", "nightly", "x.toml", "--board", "here", "--every", "24h"];
    assert_eq!(document(&bench, &nightly)["trigger"]["every_ns"], 86_400_000_000_000_i64);
    assert_eq!(bench.run(&nightly).code, Some(2), "it is there");
    let hook = ["lab", "queue", "trigger", "add", "kernels", "kernels.toml", "--board", "here", "--webhook"];
    let secret = document(&bench, &hook)["secret"].as_str().unwrap().to_owned();
    let listed = bench.run(&["lab", "queue", "trigger", "list"]).stdout;
    assert!(secret.len() == 64 && listed.contains("webhook") && !listed.contains(&secret), "{listed}");
    let worker = bench.run(&["lab", "worker", "--board", "here=local", "--once"]);
    let job = &jobs(&bench)[0];
    assert_eq!((&job["state"], &job["because"]), (&"done".into(), &"schedule nightly".into()), "{}", worker.stderr);
    assert_eq!(document(&bench, &["lab", "queue", "trigger", "remove", "nightly"])["removed"], "nightly");
    assert_eq!(bench.run(&["lab", "queue", "trigger", "remove", "nightly"]).code, Some(2));
    assert_eq!(bench.run(&["lab", "queue", "backfill", "nowhere"]).code, Some(2), "no trigger");
    let nothing = bench.run(&["lab", "queue", "backfill", "here", "6.1.1", "6.1.2"]);
    assert_eq!(nothing.code, Some(1), "the board is not bad: {}", nothing.stderr);
}
