//! Every method measures, with and without privileges, and ends cleanly.

use crate::process::{Finished, Meter, short, traced};
use archive::facts::Facts;
use archive::message::{Ending, LossKind, Message, RunPhase, Severity};
use archive::method::state::{MethodState, ObstacleKind};
use archive::method::storage::Engine;
use archive::method::{METHODS, MethodDefinition, MethodOptions, MethodRequest, Values};
use archive::settings::{Policy, RunSettings};
use meter::methods;
use prerequisites::{is_root, require};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The methods that this machine can run, each with every value of its options.
fn requests() -> Vec<MethodRequest> {
    let of = |definition: &MethodDefinition| {
        let mut requests = vec![MethodRequest::from(definition.method)];
        for option in definition.entry.options {
            let words: Vec<String> = match option.values {
                Values::OneOf(values) => values.iter().map(|value| format!("{}={value}", option.key)).collect(),
                Values::Number { least, .. } => vec![format!("{}={least}", option.key)],
                Values::Flag => vec![option.key.to_owned()],
                Values::Text => Vec::new(),
            };
            let texts = words.iter().map(|word| format!("{}:{word}", definition.name));
            requests.extend(texts.map(|text| MethodRequest::parse(&text).unwrap()));
        }
        requests
    };
    let all = METHODS.iter().flat_map(of);
    let alone = std::thread::available_parallelism().map_or(1, usize::from) < 2;
    let fits = |request: &MethodRequest| !(alone && is_busy_with_priority(request));
    all.filter(fits)
        .filter(|request| methods::method(request, devices::method).unwrap().obstacles(Path::new("/")).is_empty())
        .collect()
}

fn is_busy_with_priority(request: &MethodRequest) -> bool {
    matches!(&request.options, MethodOptions::Noise(noise) if noise.rt())
}

/// Busy threads with a real-time priority leave one CPU to the rest.
fn settings(request: &MethodRequest, base: RunSettings) -> RunSettings {
    let cpus = is_busy_with_priority(request).then(|| vec![0]);
    RunSettings { method: request.clone(), cpus, ..base }
}

/// Lengths of a run, in ms: ordinary threads of a busy machine may not run at all in the shorter ones.
const RUNS_MS: [u64; 4] = [250, 1000, 4000, 16_000];

/// The shortest of several runs in which every thread had a turn; the longest if there is none.
fn measured(request: &MethodRequest, state: &Path, settings_for: impl Fn(u64) -> RunSettings) -> Finished {
    let run = |ms: &u64| Meter::start(&settings(request, settings_for(*ms)), state).finish();
    let had_turns = |finished: &Finished| finished.totals().iter().all(|totals| totals.cycles > 0);
    let (longest, shorter) = RUNS_MS.split_last().expect("several lengths");
    shorter.iter().map(run).find(had_turns).unwrap_or_else(|| run(longest))
}

fn assert_measured(request: &MethodRequest, finished: &Finished, worst: Severity) {
    let text = request.text();
    assert_eq!(finished.ending(), Some(Ending::Complete), "{text}: {:?}", finished.problems(Severity::Notice));
    let totals = finished.totals();
    assert!(!totals.is_empty() && totals.iter().all(|totals| totals.cycles > 0), "{text}: {totals:?}");
    assert!(totals.iter().all(|totals| totals.clock_anomalies == 0), "{text}: {totals:?}");
    let bad = finished.messages.iter().filter(|message| {
        matches!(message, Message::Problem(problem) if problem.severity > worst)
            || matches!(message, Message::Loss(loss) if loss.kind != LossKind::Records)
    });
    assert_eq!(bad.count(), 0, "{text}: {:?}", finished.messages);
}

#[test]
fn every_method_measures_and_loses_no_stimulus() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for request in requests() {
        assert_measured(&request, &measured(&request, state.path(), short), Severity::Notice);
    }
    assert_eq!(std::fs::read_dir(state.path().join("journal")).map_or(0, |entries| entries.count()), 0);
}

#[test]
fn every_method_measures_without_privileges_when_degraded() {
    let state = tempfile::tempdir().unwrap();
    let policy = if is_root() { Policy::Other } else { Policy::Fifo };
    for request in requests() {
        let finished = measured(&request, state.path(), |ms| RunSettings { policy, degrade: true, ..short(ms) });
        assert_measured(&request, &finished, Severity::Degraded);
    }
}

#[test]
fn every_method_stops_when_it_is_asked_to() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for request in requests() {
        let settings = settings(&request, RunSettings { duration_ns: None, ..short(0) });
        let mut meter = Meter::start(&settings, state.path());
        meter.read_until(RunPhase::Measure);
        if matches!(&request.options, MethodOptions::Storage(storage) if storage.engine() == Engine::Fio) {
            // fio hands over its samples at the end, and takes a while to start.
            std::thread::sleep(Duration::from_secs(3));
        } else {
            meter.read_until_measured();
        }
        let asked = Instant::now();
        meter.signal(rustix::process::Signal::INT);
        let finished = meter.finish();
        assert_eq!(finished.ending(), Some(Ending::Stopped), "{}", request.text());
        assert!(asked.elapsed().as_secs() < 10, "{}: {:?}", request.text(), asked.elapsed());
    }
}

#[test]
fn every_method_keeps_the_trace_of_a_late_sample() {
    require!(Root, Tracefs);
    let state = tempfile::tempdir().unwrap();
    for definition in &METHODS {
        let request = MethodRequest::from(definition.method);
        if !requests().contains(&request) {
            continue;
        }
        let settings = settings(&request, traced(400));
        let finished = Meter::start(&settings, state.path()).finish();
        assert_measured(&request, &finished, Severity::Degraded);
        let covered = |spike: &archive::spike::Spike| spike.snapshot.as_ref().is_some_and(|taken| taken.window_covered);
        assert!(finished.spikes().iter().any(covered), "{}: {:?}", request.text(), finished.spikes());
    }
}

/// The report of a meter with these privileges about every method.
fn states(unprivileged: bool) -> Vec<MethodState> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let binary = folder.path().join("tardy-meter");
    std::fs::copy(env!("CARGO_BIN_EXE_tardy-meter"), &binary).unwrap();
    let mut command = Command::new(&binary);
    if unprivileged {
        command.uid(65534).gid(65534);
    }
    let answer = command.arg("facts").env("TARDY_STATE_DIR", folder.path()).output().unwrap();
    serde_json::from_slice::<Facts>(&answer.stdout).unwrap().methods
}

#[test]
fn the_missing_right_is_named_without_privileges_and_only_then() {
    require!(Root);
    let names: Vec<&str> = METHODS.iter().map(|definition| definition.name).collect();
    for unprivileged in [false, true] {
        let states = states(unprivileged);
        assert_eq!(states.iter().map(|state| state.method.as_str()).collect::<Vec<_>>(), names);
        let lacks = |state: &MethodState| state.obstacles.iter().any(|one| one.kind == ObstacleKind::Right);
        assert!(states.iter().all(|state| lacks(state) == unprivileged), "{states:?}");
    }
}

#[test]
fn a_method_that_lacks_something_is_refused_with_what_the_list_says() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for listed in states(false).iter().filter(|state| !state.obstacles.is_empty()) {
        let request = MethodRequest::parse(&listed.method).unwrap();
        let finished = Meter::start(&RunSettings { method: request, ..short(200) }, state.path()).finish();
        assert_eq!(finished.ending(), Some(Ending::Failed), "{}", listed.method);
        let problems = finished.problems(Severity::Invalid).join("\n");
        assert!(listed.obstacles.iter().all(|one| problems.contains(&one.text)), "{listed:?}: {problems}");
    }
}

/// The report of a meter about every method in a container with an empty /dev.
fn states_without_devices() -> Vec<MethodState> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs none /dev && exec \"$0\" facts"]);
    let answer = command.arg(env!("CARGO_BIN_EXE_tardy-meter")).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    serde_json::from_slice::<Facts>(&answer.stdout).unwrap().methods
}

#[test]
fn a_container_without_devices_lacks_what_needs_one_and_nothing_else() {
    require!(Root, Program("unshare"));
    let (here, there) = (states(false), states_without_devices());
    for (here, there) in here.iter().zip(&there) {
        let definition = METHODS.iter().find(|one| one.name == there.method).unwrap();
        match definition.entry.needs.contains("/dev/") {
            true => assert!(!there.obstacles.is_empty(), "{there:?}"),
            false => assert_eq!(there, here),
        }
    }
    let runs = |name: &str| there.iter().any(|state| state.method == name && state.obstacles.is_empty());
    assert!(runs("timer") && runs("semaphore") && !runs("serial") && !runs("gpio"), "{there:?}");
}

/// Keys of the System V semaphores of this machine that meters made.
fn semaphores() -> Vec<i32> {
    let listed = std::fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    let keys = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()?.parse().ok());
    keys.filter(|key: &i32| key >> 16 == 0x7464).collect()
}

#[test]
fn a_semaphore_of_a_killed_meter_is_removed_by_restore() {
    require!(Root, Prepared("System V semaphores", Path::new("/proc/sysvipc/sem").exists()));
    let state = tempfile::tempdir().unwrap();
    let method = MethodRequest::parse("semaphore:kind=sysv").unwrap();
    let settings = RunSettings { method, cpus: Some(vec![0]), ..short(20_000) };
    let before = semaphores();
    let mut meter = Meter::start(&settings, state.path());
    meter.read_until_measured();
    let made: Vec<i32> = semaphores().into_iter().filter(|key| !before.contains(key)).collect();
    assert_eq!(made.len(), 1, "{made:?}");
    meter.signal(rustix::process::Signal::KILL);
    meter.finish();
    assert!(semaphores().contains(&made[0]), "nothing but the kernel could have removed it");
    let mut restore = Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    let restored = restore.arg("restore").env("TARDY_STATE_DIR", state.path()).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    assert!(!semaphores().contains(&made[0]), "{restored:?}");
}

/// Half of all samples are at most this.
fn median_ns(request: &str) -> i64 {
    let state = tempfile::tempdir().unwrap();
    let settings = RunSettings {
        method: MethodRequest::parse(request).unwrap(),
        interval_ns: 20_000_000,
        cpus: Some(vec![0]),
        ..short(2_000)
    };
    let finished = Meter::start(&settings, state.path()).finish();
    let histogram = finished.messages.iter().rev().find_map(|message| match message {
        Message::Thread { histogram, .. } => Some(histogram.clone()),
        _ => None,
    });
    histogram.and_then(|histogram| histogram.quantile_ns(0.5)).expect("samples")
}

#[test]
fn a_known_delay_of_the_answer_shows_within_5_percent() {
    require!(Root);
    const DELAY_NS: i64 = 8_000_000;
    for method in ["udp", "serial", "ethernet"] {
        let without_ns = median_ns(method);
        let with_ns = median_ns(&format!("{method}:delay_us={}", DELAY_NS / 1_000));
        let shown_ns = with_ns - without_ns;
        assert!((shown_ns - DELAY_NS).abs() <= DELAY_NS / 20, "{method}: {without_ns} ns, {with_ns} ns");
    }
}
