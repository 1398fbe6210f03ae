//! Every example of `--help` and of the README: executed, with times that fit a test, or named with what it needs.

use crate::desk::Desk;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What an example needs that this machine may not have; such examples are parsed by the tests of the command line.
const NEEDS: [(&str, &str); 21] = [
    ("--archive latest", "an audit"),
    ("--target board", "a board"),
    ("--ssh", "a board"),
    ("--serial", "a serial line"),
    ("--labgrid", "a lab"),
    ("ssh pi", "a board"),
    ("boot-kernel", "a board"),
    ("--every 12h", "half a day"),
    ("-vm", "two virtual machines"),
    ("vm-", "two virtual machines"),
    ("target verify vm", "a virtual machine"),
    ("--target vm", "a virtual machine"),
    ("tardy virtual", "virtual time"),
    ("--target exact", "virtual time"),
    ("seeds", "virtual time"),
    ("baseline", "virtual time"),
    ("--a '--target old'", "virtual time"),
    ("tardy bisect", "kernels"),
    ("./bzImage", "a kernel"),
    ("collect", "a board that was left behind"),
    ("tardy observe --resume", "a series that was cut off"),
];

/// Examples and the codes that they may end with: 1 where a limit of the example may be exceeded here, 3 and 4 where a test
/// of a second is too short for what is asked.
const CODES: [(&str, &[i32]); 17] = [
    // A shell has not locked its memory, and one that waits for a single command has no loop.
    ("tardy audit --duration 10s --deny", &[1]),
    ("tardy audit --pid", &[3]),
    ("tardy audit", &[0]),
    ("tardy judge --plan-test", &[0]),
    ("tardy judge", &[0, 1, 3, 4]),
    ("tardy compare", &[0]),
    ("tardy experiment", &[0, 1, 4]),
    ("tardy history", &[0, 1, 4]),
    ("tardy observe", &[0, 4]),
    ("tardy cyclictest", &[0]),
    ("tardy check", &[0, 1]),
    ("tardy run plans/", &[0, 1, 3, 4]),
    ("tardy run", &[0, 1]),
    ("tardy watch --pid", &[0, 1]),
    ("tardy watch --comm", &[0, 1]),
    ("tardy watch", &[0, 124]),
    ("tardy ", &[0]),
];

/// Times and names of the examples, and what stands for them in a test.
const SHORTER: [(&str, &str); 23] = [
    ("tardy audit --duration 10s", "tardy audit --settle 0 --duration 10s"),
    ("signal -- ./robot", "signal -- sh -c 'for n in 1 2 3 4 5; do sleep 0.1; done'"),
    ("jackd -R -ddummy -r48000 -p64", "sh -c 'sleep 0.5; echo XRun'"),
    ("-D 1h", "-D 1s"),
    ("--duration 8h", "--duration 1s"),
    ("--duration 60s", "--duration 1s"),
    ("--duration 30s", "--duration 1s"),
    ("--duration 20s", "--duration 1s"),
    ("--duration 10s", "--duration 1s"),
    ("--duration 10min", "--duration 1s"),
    ("--duration 1h", "--duration 1s"),
    ("--cpus 2-3", "--cpus 0"),
    ("make -j8", "true"),
    ("./robot --config arm.toml", "sh -c 'for n in 1 2 3 4 5; do sleep 0.1; done'"),
    ("./robot", "sleep 0.5"),
    ("--pid 4711", "--pid $$"),
    ("'ros2_control*'", "'sleep*'"),
    ("before after", "runs/before runs/after"),
    ("tardy import cyclictest.json", "tardy import cyclictest.json --out runs/imported"),
    ("--spike 20", "--spike 1"),
    ("--rounds 12 ", "--rounds 2 "),
    ("tardy run plans/", "tardy run --duration 1s plans/"),
    ("/etc/sysctl.d/90-realtime.conf", "sysctl.conf"),
];

const VERBS: [&str; 24] = [
    "",
    "audit",
    "check",
    "run",
    "watch",
    "plan",
    "load",
    "methods",
    "observe",
    "cyclictest",
    "explain",
    "report",
    "list",
    "judge",
    "compare",
    "experiment",
    "history",
    "bisect",
    "target",
    "collect",
    "restore",
    "import",
    "export",
    "virtual",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn examples(desk: &Desk) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let code = readme.split("```").skip(1).step_by(2).flat_map(str::lines);
    found.extend(code.filter(|line| line.starts_with("tardy ")).map(str::to_owned));
    for verb in VERBS {
        let help = desk.shell(&format!("tardy {verb} --help")).stdout.replace("\\\n", " ");
        let lines =
            help.lines().map(|line| line.trim_start_matches([' ', '$'])).filter(|line| line.starts_with("tardy "));
        // A line of the list of verbs is no example, and one that the help wraps is whole in its source.
        found.extend(lines.filter(|line| line.matches('\'').count() % 2 == 0).map(str::to_owned));
    }
    found
}

#[test]
#[ignore = "the first hour: make e2e-first-hour"]
fn examples_do_what_they_promise() {
    let Some(desk) = Desk::new() else { return };
    let prepared = "tardy run -q -D 2s --limit 1us --beside-others --out runs/before; \
        tardy run -q -D 2s --limit 1us --beside-others --out runs/after; \
        mkdir nightly; cp -r runs/before runs/after nightly/; \
        cp \"$(command -v bash)\" sleeping; mkfifo never; \
        (./sleeping -c 'exec 9<>never; while :; do read -r -t 0.05 -u 9; done' >sleep.log 2>&1 & echo $! > sleeper)";
    desk.shell(prepared);
    let fixture = root().join("corpus/imports");
    let copied = format!(
        "cp -r {0}/plans . ; find {0}/corpus -name 'histogram.json' | head -1 | xargs -I F cp F cyclictest.json",
        root().display()
    );
    desk.shell(&copied);
    assert!(fixture.parent().is_some_and(Path::is_dir));
    let mut wrong = Vec::new();
    for example in examples(&desk) {
        if let Some((_, needs)) = NEEDS.iter().find(|(words, _)| example.contains(words)) {
            eprintln!("needs {needs}: {example}");
            continue;
        }
        if example.contains("...")
            || example.contains("--apply")
            || example.contains("--horizon")
            || example.contains("overnight")
        {
            eprintln!("no command to be typed in a test: {example}");
            continue;
        }
        let line = SHORTER.iter().fold(example.clone(), |line, (long, short)| line.replace(long, short));
        let codes = CODES.iter().find(|(words, _)| example.starts_with(words)).map_or(&[0][..], |(_, codes)| codes);
        eprintln!("run: {line}");
        let ended = desk.shell(&line);
        if !ended.code.is_some_and(|code| codes.contains(&code)) {
            wrong.push(format!("{line}: {:?}, promised {codes:?}: {}", ended.code, ended.shown()));
        }
    }
    desk.shell("kill $(cat sleeper)");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
