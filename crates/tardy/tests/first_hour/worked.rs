//! The programs of docs/how-to/watching-examples.md: each command of the page as it is written.

use crate::desk::{Desk, exceeds_a_limit};
use crate::examples::beside_others;
use crate::examples::found::in_page;
use fixtures::ended::Ended;
use fixtures::repository::repository_path;
use prerequisites::Prerequisite::Program;
use prerequisites::met;

const PAGE: &str = "docs/how-to/watching-examples.md";

/// Runs the command of the page that contains `words`, with the files of the page beside it.
fn worked(desk: &Desk, words: &str) -> Ended {
    let files = repository_path("docs/how-to/examples").display().to_string();
    assert_eq!(desk.shell(&format!("cp {files}/* .")).code, Some(0));
    let commands: Vec<String> =
        in_page(&repository_path(PAGE)).into_iter().filter(|line| line.contains(words)).collect();
    let [command] = commands.as_slice() else { panic!("{words}: {commands:?}") };
    let ended = desk.shell(&format!(
        "export XDG_RUNTIME_DIR=$PWD; {}",
        beside_others(&command.replace("tardy watch ", "tardy watch --more "))
    ));
    let code = if exceeds_a_limit(desk, command) { 124 } else { 0 };
    assert_eq!(ended.code, Some(code), "{command}: {}", ended.shown());
    ended
}

/// The most samples in a row of threads of this name, in the table with this title.
fn samples(ended: &Ended, title: &str, thread: &str, runs_as: &str) -> u64 {
    let table = ended.stdout.split(title).nth(1).unwrap_or_else(|| panic!("no {title}: {}", ended.stdout));
    let rows = table.lines().take_while(|line| !line.is_empty());
    let row =
        |line: &str| Some(line.strip_prefix(thread)?.split_once(runs_as)?.1.split_whitespace().next()?.parse::<u64>());
    let found = rows.filter_map(row).map(|count| count.unwrap()).max();
    found.unwrap_or_else(|| panic!("no {thread} {runs_as}: {}", ended.stdout))
}

#[test]
#[ignore = "needs packages that are downloaded: make e2e-first-hour"]
fn jack_is_watched_and_its_xruns_are_counted() {
    let Some(desk) = Desk::new().filter(|_| met(&[Program("jackd")])) else { return };
    let ended = worked(&desk, "jackd");
    // 7500 periods in 10 s, on a machine that has time for them.
    assert!(samples(&ended, "Timer wake-ups", "jackd-", "fifo 10") > 3_000, "{}", ended.stdout);
    assert!(ended.stdout.contains("with XRun"), "{}", ended.stdout);
}

#[test]
#[ignore = "needs packages that are downloaded: make e2e-first-hour"]
fn the_second_line_names_what_gave_jack_its_xruns() {
    let needs = [Program("jackd"), Program("cc"), Program("taskset")];
    let Some(desk) = Desk::new().filter(|_| met(&needs)) else { return };
    let source = repository_path("crates/tardy/tests/programs/hog.c").display().to_string();
    assert_eq!(desk.shell(&format!("cc -O1 -o hog {source}")).code, Some(0));
    let ended = desk.shell(
        "./hog 0 4000 200000 >hog.log 2>&1 & hog=$!; tardy watch --beside-others --duration 8s --count XRun -- \
         taskset -c 0 jackd -R -ddummy -r48000 -p64; kill $hog",
    );
    let answer = ended.stdout.split("\nWatched ").nth(1).unwrap_or_default();
    let second = answer.lines().nth(1).unwrap_or_default();
    // Beside other urgent tasks the hog is not the first cause that the line names.
    let sentence = answer.split("p50 ").next().unwrap_or_default();
    let names = second.contains(" lines with XRun: ") && sentence.contains("after other-rt-task (hog");
    assert!(names, "{}", ended.shown());
}

#[test]
#[ignore = "needs packages that are downloaded: make e2e-first-hour"]
fn a_check_sees_the_policy_that_jack_has() {
    let Some(desk) = Desk::new().filter(|_| met(&[Program("jackd")])) else { return };
    for (option, lacks) in [("-r", true), ("-R", false)] {
        let ended = desk.shell(&format!(
            "jackd {option} -ddummy -r48000 -p1024 >jack.log 2>&1 & jack=$!; sleep 2; tardy check --json; kill $jack"
        ));
        let found = ended.json()["findings"].as_array().unwrap().clone();
        let found = found.iter().any(|finding| {
            finding["id"] == "sessions.sound-policy" && finding["what"].as_str().unwrap().starts_with("jackd of")
        });
        assert_eq!(found, lacks, "jackd {option}: {}", ended.shown());
    }
}

#[test]
#[ignore = "needs packages that are downloaded: make e2e-first-hour"]
fn pipewire_is_watched_without_a_sound_card() {
    let Some(desk) = Desk::new().filter(|_| met(&[Program("pipewire"), Program("env")])) else { return };
    let ended = worked(&desk, "dummy-audio.conf");
    assert!(samples(&ended, "Timer wake-ups", "pipewire-", "fifo 88") > 1_000, "{}", ended.stdout);
    assert!(ended.stdout.contains("with XRun!"), "{}", ended.stdout);
}

#[test]
fn a_pipeline_shows_each_hop_and_its_stale_messages() {
    let Some(desk) = Desk::new().filter(|_| met(&[Program("cc")])) else { return };
    let sources = repository_path("docs/how-to/examples/pipeline.c").display().to_string();
    assert_eq!(desk.shell(&format!("cc -O2 -pthread -Wall -Werror -o pipeline {sources}")).code, Some(0));
    let ended = worked(&desk, "./pipeline");
    assert!(samples(&ended, "Timer wake-ups", "sensor-", "fifo 60") > 1_000, "{}", ended.stdout);
    for (thread, runs_as) in [("filter-", "fifo 50"), ("actuator-", "fifo 40")] {
        assert!(samples(&ended, "Other wake-ups", thread, runs_as) > 1_000, "{}", ended.stdout);
    }
    assert!(
        ended.stdout.contains("with stale") && ended.stdout.contains("pipeline: 2500 messages"),
        "{}",
        ended.stdout
    );
}

#[test]
fn stress_ng_and_the_watch_agree() {
    let Some(desk) = Desk::new().filter(|_| met(&[Program("stress-ng")])) else { return };
    let ended = worked(&desk, "stress-ng");
    let seen = samples(&ended, "Timer wake-ups", "stress-ng-cycli-", "fifo 80");
    let counted = ended.shown();
    let counted = counted.split(" ns delay, ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    let counted = counted.unwrap_or_else(|| panic!("stress-ng shows no samples: {}", ended.shown()));
    assert!(seen.abs_diff(counted) <= counted / 50, "{seen} and {counted}");
}
