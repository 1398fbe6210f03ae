//! Absences in the guest's time; and the detection of a stopped process.

use super::*;
use protocol::guest::GuestWord;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;

const MS: i64 = 1_000_000;

fn seen(aways: impl IntoIterator<Item = (u32, Away)>) -> Seen {
    let mut seen = Seen::default();
    // The guest's clock is 5 s behind; it was asked from its first second to its tenth.
    for guest_ms in (1000..=10_000).step_by(250) {
        let at_ns = (guest_ms + 5000) * MS;
        let exchange = Exchange { asked_ns: at_ns - 100_000, received_ns: at_ns + 100_000, guest_ns: guest_ms * MS };
        seen.clocks.take(exchange);
    }
    aways.into_iter().for_each(|(cpu, away)| seen.keep(cpu, away));
    seen
}

/// At the instant of an answered question.
fn seen_outside(absences: &[Absence]) -> Outside {
    let absences = absences.to_vec();
    Outside::Seen(SpikeAbsences {
        absences,
        host_minus_guest_ns: 5000 * MS,
        slack_ns: 100_000,
        ..SpikeAbsences::default()
    })
}

fn away(cpu: u32, start_ms: i64, end_ms: i64, stopped: bool) -> (u32, Away) {
    (cpu, Away { start_ns: start_ms * MS, end_ns: end_ms * MS, slack_ns: 50_000, stopped })
}

#[test]
fn absences_are_reported_in_the_guests_time() {
    let seen = seen([away(1, 7000, 7020, true), away(0, 7001, 7004, false), away(1, 9000, 9001, false)]);
    let expected = [
        Absence { cpu: 1, start_ns: 2000 * MS, end_ns: 2020 * MS, slack_ns: 150_000, stopped: true },
        Absence { cpu: 0, start_ns: 2001 * MS, end_ns: 2004 * MS, slack_ns: 150_000, stopped: false },
    ];
    assert_eq!(seen.outside(2010 * MS, 2250 * MS, false), seen_outside(&expected[..1]));
    assert_eq!(seen.outside(1990 * MS, 2250 * MS, false), seen_outside(&expected));
    assert_eq!(seen.outside(3000 * MS, 3250 * MS, false), seen_outside(&[]));
}

#[test]
fn an_instant_is_waited_for_until_the_clocks_are_known_around_it() {
    let seen = seen([]);
    assert_eq!(seen.outside(9000 * MS, 9010 * MS, false), Outside::Later);
    assert_eq!(seen.outside(9000 * MS, 9250 * MS, true), seen_outside(&[]));
    assert_eq!(Seen::default().outside(9000 * MS, 9250 * MS, true), Outside::Unknown);
}

#[test]
fn of_very_many_the_longest_stay_and_the_others_are_counted() {
    let many = (0..ABSENCES_MAX as i64 + 10).map(|number| away(0, 7000 + 2 * number, 7001 + 2 * number, false));
    let seen = seen(many.chain([away(1, 7000, 7900, true)]));
    let Outside::Seen(found) = seen.outside(2000 * MS, 3000 * MS, false) else { panic!() };
    assert_eq!((found.absences.len(), found.left_out), (ABSENCES_MAX, 11));
    assert!(found.absences.iter().any(|absence| absence.stopped));
}

#[test]
fn dropped_records_are_unknown_and_not_absent() {
    let mut seen = seen([]);
    let (cpu, away) = away(0, 7000, 7001, false);
    (0..=AWAYS_MAX).for_each(|_| seen.keep(cpu, away));
    assert_eq!(seen.outside(1990 * MS, 2010 * MS, false), Outside::Unknown);
    assert_eq!(seen.outside(2002 * MS, 2250 * MS, false), seen_outside(&[]));
}

#[test]
fn the_summary_names_each_processor() {
    let seen = seen([away(1, 7000, 7020, true), away(0, 7001, 7004, false), away(1, 9000, 9001, false)]);
    let text = seen.summary().unwrap().to_string();
    let processors = "CPU 1 was stopped for 20 ms and waited for a CPU of the host for 1 ms, CPU 0 waited for a CPU of the host \
                      for 3 ms";
    assert!(text.contains(processors), "{text}");
}

/// Name of the thread that acts as a virtual CPU.
const STAND_IN: &str = "CPU 1/TEST";

#[test]
#[ignore = "it is the process that another test starts and stops"]
fn stand_in_for_an_emulator() {
    let sleeper = || (0..20_000).for_each(|_| thread::sleep(Duration::from_millis(1)));
    thread::Builder::new().name(STAND_IN.into()).spawn(sleeper).unwrap().join().unwrap();
}

/// Stops and continues a process with a thread named like a virtual CPU, beside a guest that reports its clock.
#[test]
fn a_stopped_processor_is_seen() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "qemu::absences::tests::stand_in_for_an_emulator"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while Processor::all_of(child.id(), 2).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it is gone");
        thread::sleep(Duration::from_millis(5));
    }
    let (host, guest) = UnixStream::pair().unwrap();
    let reports = Arc::new(Mutex::new(GuestReports::default()));
    let (lines, kept) = (host.try_clone().unwrap(), Arc::clone(&reports));
    let ear = thread::spawn(move || crate::qemu::guest_reports::listen(&lines, &kept, |_| {}));
    let booted_ns = monotonic_ns() - 1_000_000_000;
    let guest_clock = move |asked_ns| {
        let word = GuestWord::Clock { asked_ns, monotonic_ns: monotonic_ns() - booted_ns };
        serde_json::to_string(&word).unwrap() + "\n"
    };
    let mut mouth = guest.try_clone().unwrap();
    let mouthpiece = thread::spawn(move || {
        mouth.write_all(guest_clock(0).as_bytes()).unwrap();
        for line in BufReader::new(mouth.try_clone().unwrap()).lines().map_while(Result::ok) {
            let line: HostLine = serde_json::from_str(&line).unwrap();
            let HostWord::Clock { asked_ns } = line.word else { panic!("{line:?}") };
            mouth.write_all(guest_clock(asked_ns).as_bytes()).unwrap();
        }
    });
    let watch = AbsenceWatch::start(child.id(), 2, host.try_clone().unwrap(), reports).unwrap();
    let signal = |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    let thread = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten().map(|entry| entry.path());
    let is_processor = |thread: &PathBuf| std::fs::read_to_string(thread.join("comm")).unwrap().starts_with(STAND_IN);
    let thread = thread.into_iter().find(is_processor).unwrap();
    let state = || std::fs::read_to_string(thread.join("stat")).unwrap();
    thread::sleep(Duration::from_millis(600));
    signal("-STOP");
    // A sleeping thread must be switched in to stop. However long that takes: it was stopped in between.
    while !state().contains(") T ") {
        thread::sleep(Duration::from_millis(1));
    }
    let from_ns = monotonic_ns() - booted_ns;
    thread::sleep(Duration::from_millis(50));
    let to_ns = monotonic_ns() - booted_ns;
    signal("-CONT");
    thread::sleep(Duration::from_millis(100));
    let outside = watch.outside(from_ns, to_ns, true);
    let summary = watch.summary();
    drop(watch);
    child.kill().unwrap();
    child.wait().unwrap();
    host.shutdown(std::net::Shutdown::Both).unwrap();
    ear.join().unwrap();
    mouthpiece.join().unwrap();
    let Outside::Seen(SpikeAbsences { absences, left_out: 0, .. }) = outside else { panic!("{outside:?}") };
    let covers = |absence: &&Absence| {
        absence.stopped
            && absence.cpu == 1
            && absence.start_ns - absence.slack_ns <= from_ns
            && absence.end_ns + absence.slack_ns >= to_ns
    };
    assert!(absences.iter().any(|absence| covers(&absence)), "{from_ns} to {to_ns}: {absences:?}");
    let Some(MachineEvent::Absent { processors, .. }) = summary else { panic!("{summary:?}") };
    assert!(processors.iter().any(|one| one.cpu == 1 && one.stopped_ns > 0), "{processors:?}");
}

#[test]
fn a_thread_that_executes_all_processors_is_away_for_each() {
    let (end, over) = std::sync::mpsc::channel::<()>();
    let named = thread::Builder::new().name("ALL CPUs/TEST".into()).spawn(move || over.recv().is_ok()).unwrap();
    let (host, _guest) = UnixStream::pair().unwrap();
    let start = || AbsenceWatch::start(std::process::id(), 3, host.try_clone().unwrap(), Arc::default()).ok();
    // A thread sets its name after its creation.
    let watch = std::iter::repeat_with(start).flatten().find(|watch| lock(&watch.seen).in_turns).unwrap();
    drop((watch, end));
    named.join().unwrap();
    let mut seen = Seen { in_turns: true, ..seen([]) };
    let (_, gone) = away(0, 7000, 7020, false);
    (0..3).for_each(|cpu| seen.keep(cpu, gone));
    let Outside::Seen(found) = seen.outside(2000 * MS, 2030 * MS, false) else { panic!() };
    let cpus: Vec<u32> = found.absences.iter().map(|absence| absence.cpu).collect();
    assert_eq!((cpus, found.in_turns), (vec![0, 1, 2], true));
}

#[test]
fn an_emulator_without_named_threads_cannot_be_watched() {
    let (host, _guest) = UnixStream::pair().unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let why = AbsenceWatch::start(child.id(), 2, host, Arc::default()).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(why, WatchError::NoThreads), "{why}");
}
