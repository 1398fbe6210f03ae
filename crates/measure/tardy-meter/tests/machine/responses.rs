//! Round trips with another machine, which a thread of the test imitates: what it answers, loses, doubles and delays.

use crate::process::{Finished, Meter, short};
use archive::message::{Ending, LossKind, Message, Severity};
use archive::method::MethodRequest;
use archive::settings::RunSettings;
use prerequisites::require;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the other machine answers the n-th number, from 0, and how long it takes.
type Manner = fn(usize) -> (usize, Duration);

/// Answers on a socket until the meter closes it.
fn echo(socket: &Path, manner: Manner) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        let (mut line, _) = listener.accept().unwrap();
        let mut number = [0];
        let mut count = 0..;
        while matches!(line.read(&mut number), Ok(1)) {
            let (times, delay) = manner(count.next().unwrap());
            std::thread::sleep(delay);
            if line.write_all(&number.repeat(times)).is_err() {
                break;
            }
        }
    })
}

fn settings(method: &str, interval_ms: u64, duration_ms: u64) -> RunSettings {
    let method = MethodRequest::parse(method).unwrap();
    RunSettings { method, interval_ns: interval_ms * 1_000_000, cpus: Some(vec![0]), ..short(duration_ms) }
}

/// A run that gives the stimulus to such a machine.
fn stimulated(manner: Manner, interval_ms: u64, duration_ms: u64) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("port");
    let echo = echo(&socket, manner);
    let method = format!("serial:role=stimulus,port={}", socket.display());
    let finished = Meter::start(&settings(&method, interval_ms, duration_ms), folder.path()).finish();
    echo.join().unwrap();
    assert_eq!(finished.ending(), Some(Ending::Complete), "{:?}", finished.problems(Severity::Notice));
    finished
}

fn lost(finished: &Finished, kind: LossKind) -> u64 {
    let counts = finished.messages.iter().filter_map(|message| match message {
        Message::Loss(loss) if loss.kind == kind => Some(loss.count),
        _ => None,
    });
    counts.max().unwrap_or(0)
}

/// Samples, stimuli without an answer, and stray answers.
fn counted(finished: &Finished) -> (u64, u64, u64) {
    let cycles = finished.totals().iter().map(|totals| totals.cycles).sum();
    (cycles, lost(finished, LossKind::Answers), lost(finished, LossKind::StrayAnswers))
}

fn median_ns(finished: &Finished) -> i64 {
    let histogram = finished.messages.iter().rev().find_map(|message| match message {
        Message::Thread { histogram, .. } => Some(histogram.clone()),
        _ => None,
    });
    histogram.and_then(|histogram| histogram.quantile_ns(0.5)).expect("samples")
}

const AT_ONCE: Duration = Duration::ZERO;

#[test]
fn another_machine_that_answers_loses_nothing() {
    require!(Root);
    let (cycles, unanswered, stray) = counted(&stimulated(|_| (1, AT_ONCE), 2, 600));
    assert!(cycles > 0, "{cycles}");
    assert_eq!((unanswered, stray), (0, 0));
}

#[test]
fn an_answer_lost_and_an_answer_doubled_are_counted_and_are_no_samples() {
    require!(Root);
    // Neither while it settles, which is not counted, nor so late that the run ends before the answer is given up, after a second.
    let lost = counted(&stimulated(|count| (usize::from(count != 60), AT_ONCE), 2, 3_000));
    assert_eq!((lost.1, lost.2), (1, 0), "{lost:?}");
    let doubled = counted(&stimulated(|count| (1 + usize::from(count == 60), AT_ONCE), 2, 1_000));
    assert_eq!((doubled.1, doubled.2), (0, 1), "{doubled:?}");
}

#[test]
fn a_cut_wire_is_no_signal_and_no_sample() {
    require!(Root);
    let (cycles, unanswered, stray) = counted(&stimulated(|_| (0, AT_ONCE), 10, 1_500));
    assert_eq!((cycles, stray), (0, 0));
    assert!(unanswered > 0);
}

/// A run of `role` with a machine that does this with the line.
fn beside(role: &str, machine: impl FnOnce(UnixStream) + Send + 'static) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("port");
    let listener = UnixListener::bind(&socket).unwrap();
    let machine = std::thread::spawn(move || machine(listener.accept().unwrap().0));
    let method = format!("serial:role={role},port={}", socket.display());
    let finished = Meter::start(&settings(&method, 2, 1_000), folder.path()).finish();
    machine.join().unwrap();
    finished
}

#[test]
fn a_machine_that_goes_away_makes_the_run_invalid() {
    require!(Root);
    let finished = beside("stimulus", |mut line| {
        let mut number = [0];
        for _ in 0..50 {
            line.read_exact(&mut number).unwrap();
            line.write_all(&number).unwrap();
        }
    });
    assert_eq!(finished.ending(), Some(Ending::Complete));
    let is_gone = |message: &Message| matches!(message, Message::Problem(problem) if problem.code.as_str() == "meter.stimulus-gone");
    assert!(finished.messages.iter().any(is_gone), "{:?}", finished.messages);
    assert!(finished.totals()[0].cycles > 0);
}

#[test]
fn a_machine_that_floods_the_line_and_reads_nothing_does_not_keep_the_run() {
    require!(Root);
    for role in ["stimulus", "answer"] {
        let finished = beside(role, |mut line| while line.write_all(&[7; 4096]).is_ok() {});
        assert_eq!(finished.ending(), Some(Ending::Complete), "{role}: {:?}", finished.problems(Severity::Invalid));
    }
}

#[test]
fn a_stimulus_faster_than_its_answer_misses_periods() {
    require!(Root);
    let finished = stimulated(|_| (1, Duration::from_millis(11)), 2, 600);
    let missed: u64 = finished.totals().iter().map(|totals| totals.missed_periods).sum();
    let (cycles, unanswered, stray) = counted(&finished);
    assert!(missed >= 4 * cycles && cycles > 0, "{missed} missed, {cycles} samples");
    assert_eq!((unanswered, stray), (0, 0));
}

#[test]
fn a_known_delay_of_another_machine_shows_within_5_percent() {
    require!(Root);
    const DELAY: Duration = Duration::from_millis(20);
    // The imitated machine shares this one, which may be busy: only the fastest answer is late by no more than the delay.
    let least_ns = |finished: &Finished| finished.totals()[0].latency_ns_min.expect("samples");
    let without_ns = least_ns(&stimulated(|_| (1, AT_ONCE), 50, 1_500));
    let with_ns = least_ns(&stimulated(|_| (1, DELAY), 50, 1_500));
    let (shown_ns, delay_ns) = (with_ns - without_ns, DELAY.as_nanos() as i64);
    assert!((shown_ns - delay_ns).abs() <= delay_ns / 20, "{without_ns} ns, {with_ns} ns");
}

/// A port whose other end the test has.
fn port() -> (std::fs::File, std::path::PathBuf) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let near: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let path = ptsname(&near, Vec::new()).unwrap().into_string().unwrap().into();
    (near.into(), path)
}

/// The settings of a port.
fn terminal(path: &Path) -> String {
    let shown = std::process::Command::new("stty").arg("-a").arg("-F").arg(path).output().unwrap();
    assert!(shown.status.success(), "{shown:?}");
    String::from_utf8(shown.stdout).unwrap()
}

/// Sends each number and waits for its answer.
fn stimulate(line: &mut std::fs::File, numbers: std::ops::Range<u8>) {
    for number in numbers {
        line.write_all(&[number]).unwrap();
        let mut answer = [0];
        loop {
            match line.read(&mut answer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break assert_eq!((read.unwrap(), answer[0]), (1, number)),
            }
        }
    }
}

#[test]
fn every_stimulus_of_another_machine_is_answered_through_every_hop() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for hops in [0, 1, 4, 8] {
        let (mut line, path) = port();
        let before = terminal(&path);
        let method = format!("serial:role=answer,port={},hops={hops}", path.display());
        let mut meter = Meter::start(&settings(&method, 1, 60_000), state.path());
        meter.read_until(archive::message::RunPhase::Measure);
        // Samples count after the settling time.
        std::thread::sleep(Duration::from_millis(100));
        assert_ne!(terminal(&path), before, "the port is raw while it is used");
        stimulate(&mut line, 0..100);
        meter.signal(rustix::process::Signal::INT);
        let finished = meter.finish();
        assert_eq!(finished.ending(), Some(Ending::Stopped), "{hops}: {:?}", finished.problems(Severity::Notice));
        assert_eq!(counted(&finished), (100, 0, 0), "{hops} hops");
        assert_eq!(terminal(&path), before, "the port is as before");
    }
}

#[test]
fn a_run_that_no_stimulus_reaches_has_no_signal() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for hops in [0, 2] {
        let (_line, path) = port();
        let method = format!("serial:role=answer,port={},hops={hops}", path.display());
        let finished = Meter::start(&settings(&method, 1, 300), state.path()).finish();
        assert_eq!(finished.ending(), Some(Ending::Complete), "{:?}", finished.problems(Severity::Notice));
        assert_eq!(counted(&finished), (0, 1, 0), "{hops} hops");
    }
}

#[test]
fn restore_puts_the_port_of_a_killed_meter_back() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    let (_line, path) = port();
    let before = terminal(&path);
    let method = format!("serial:role=answer,port={}", path.display());
    let mut meter = Meter::start(&settings(&method, 1, 20_000), state.path());
    meter.read_until(archive::message::RunPhase::Measure);
    meter.signal(rustix::process::Signal::KILL);
    meter.finish();
    assert_ne!(terminal(&path), before, "nothing but the meter could have set it back");
    let mut restore = std::process::Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    let restored = restore.arg("restore").env("TARDY_STATE_DIR", state.path()).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(terminal(&path), before);
}

#[test]
fn a_port_in_use_is_named_and_left_alone() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    let (_line, path) = port();
    let user = std::fs::File::open(&path).unwrap();
    rustix::fs::flock(&user, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let before = terminal(&path);
    let method = format!("serial:role=answer,port={}", path.display());
    let finished = Meter::start(&settings(&method, 1, 300), state.path()).finish();
    assert!(finished.problems(Severity::Invalid).iter().any(|text| text.contains("uses")), "{:?}", finished.messages);
    assert_eq!(terminal(&path), before);
}

/// Two interfaces joined by a wire, the far one in a network namespace of its own.
struct Cable {
    near: String,
    far: String,
    namespace: String,
}

fn ip(words: &[&str]) -> bool {
    std::process::Command::new("ip").args(words).stderr(std::process::Stdio::null()).status().unwrap().success()
}

impl Cable {
    /// `None` where the kernel has no such interfaces.
    fn lay(name: &str) -> Option<Self> {
        let own = std::process::id();
        let (near, far) = (format!("{name}a{own}"), format!("{name}b{own}"));
        let namespace = format!("tardy-{name}-{own}");
        let cable = Self { near, far, namespace };
        let laid = ip(&["netns", "add", &cable.namespace])
            && ip(&["link", "add", &cable.near, "type", "veth", "peer", "name", &cable.far, "netns", &cable.namespace]);
        laid.then_some(())?;
        assert!(ip(&["link", "set", &cable.near, "up"]));
        assert!(ip(&["-n", &cable.namespace, "link", "set", &cable.far, "up"]));
        Some(cable)
    }

    /// The meter in the namespace, which answers until it is interrupted: a busy machine may start the other one late.
    fn answering(&self, options: &str, state: &Path) -> Meter {
        let mut command = std::process::Command::new("ip");
        command.args(["netns", "exec", &self.namespace, env!("CARGO_BIN_EXE_tardy-meter")]);
        let method = format!("ethernet:role=answer,interface={}{options}", self.far);
        Meter::start_as(command, &settings(&method, 1, 120_000), state)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        ip(&["link", "del", &self.near]);
        ip(&["netns", "del", &self.namespace]);
    }
}

#[test]
fn a_frame_comes_back_over_a_cable_and_its_residence_is_part_of_the_round_trip() {
    require!(Root, Program("ip"));
    let cable = Cable::lay("tdy");
    require!(Prepared("veth interfaces", cable.is_some()));
    let cable = cable.unwrap();
    let (near, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut answering = cable.answering(",hops=1", far.path());
    answering.read_until(archive::message::RunPhase::Measure);
    std::thread::sleep(Duration::from_millis(100));
    let method = format!("ethernet:role=stimulus,interface={}", cable.near);
    let round_trips = Meter::start(&settings(&method, 2, 800), near.path()).finish();
    assert_eq!(round_trips.ending(), Some(Ending::Complete), "{:?}", round_trips.problems(Severity::Notice));
    answering.signal(rustix::process::Signal::INT);
    let residence = answering.finish();
    let (sent, unanswered, stray) = counted(&round_trips);
    let (answered, silent, _) = counted(&residence);
    assert_eq!((unanswered, stray, silent), (0, 0, 0));
    assert!(sent > 0 && answered >= sent, "{sent} round trips, {answered} answers");
    assert!(median_ns(&residence) < median_ns(&round_trips));
}

#[test]
fn an_interface_that_goes_down_is_no_signal() {
    require!(Root, Program("ip"));
    let cable = Cable::lay("tdc");
    require!(Prepared("veth interfaces", cable.is_some()));
    let cable = cable.unwrap();
    let (near, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut answering = cable.answering("", far.path());
    answering.read_until(archive::message::RunPhase::Measure);
    let method = format!("ethernet:role=stimulus,interface={}", cable.near);
    let mut stimulating = Meter::start(&settings(&method, 2, 2_500), near.path());
    stimulating.read_until_measured();
    assert!(ip(&["link", "set", &cable.near, "down"]));
    let finished = stimulating.finish();
    let (cycles, unanswered, _) = counted(&finished);
    assert!(cycles > 0 && unanswered > 0, "{cycles} samples, {unanswered} unanswered");
    answering.signal(rustix::process::Signal::INT);
    answering.finish();
}

#[test]
fn one_way_is_shorter_than_the_round_trip_over_the_same_interface() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    let median = |sample: &str| {
        let method = format!("ethernet:sample={sample},delay_us=5000");
        median_ns(&Meter::start(&settings(&method, 20, 1_000), state.path()).finish())
    };
    let (one_way_ns, round_trip_ns) = (median("one-way"), median("round-trip"));
    assert!(one_way_ns + 4_000_000 < round_trip_ns, "{one_way_ns} ns, {round_trip_ns} ns");
}
