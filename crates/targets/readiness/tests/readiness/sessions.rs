//! Rules about users' sessions, on made-up sessions.

use crate::{all, bad, facts, judged};
use archive::facts::{Fact, Facts, SessionFacts, SessionProgram, SessionThread};
use proptest::prelude::*;

const PID: i32 = 900;

/// A program of user 1000 that may lock 8 MB, with one thread beside its first.
pub fn program(name: &str, policy: &str, priority: &str) -> SessionProgram {
    let thread = |tid, policy: &str| SessionThread { tid, name: name.into(), policy: policy.into(), priority: 0 };
    let limits = format!(
        "Max locked memory         8388608              8388608              bytes\n\
         Max realtime priority     {priority}                    {priority}\n"
    );
    SessionProgram {
        pid: PID,
        name: name.into(),
        user: Some(1000),
        limits: Fact::Text(limits),
        threads: vec![thread(PID, "other"), thread(PID + 1, policy)],
    }
}

pub fn session<const N: usize>(facts: &mut Facts, programs: [SessionProgram; N], rtkit: Option<&[&str]>) {
    let rtkit_arguments = rtkit.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
    facts.sessions = Some(SessionFacts { programs: programs.to_vec(), rtkit_arguments });
}

/// A program with texts of `noise`.
pub fn any_program<S: Strategy<Value = String>>(noise: fn() -> S) -> impl Strategy<Value = SessionProgram> {
    let name = || prop_oneof![Just("jackd".to_owned()), Just("pipewire".to_owned()), Just("systemd".to_owned())];
    let limits = prop_oneof![noise().prop_map(Fact::Text), Just(Fact::Absent), noise().prop_map(Fact::Refused)];
    let threads = prop::collection::vec((any::<i32>(), noise(), noise()), 0..4);
    (any::<i32>(), name(), prop::option::of(any::<u32>()), limits, threads).prop_map(
        |(pid, name, user, limits, threads)| {
            let thread = |(tid, name, policy)| SessionThread { tid, name, policy, priority: 7 };
            SessionProgram { pid, name, user, limits, threads: threads.into_iter().map(thread).collect() }
        },
    )
}

fn found<const N: usize>(programs: [SessionProgram; N], rtkit: Option<&[&str]>) -> Vec<String> {
    let mut facts = facts(crate::WELL_SET);
    session(&mut facts, programs, rtkit);
    let readiness = judged(&facts);
    let of_sessions = readiness.findings.iter().filter(|finding| finding.id.starts_with("sessions."));
    of_sessions.map(|finding| format!("{}: {}", finding.id, finding.what)).collect()
}

#[test]
fn a_session_with_its_priorities_has_no_finding() {
    let mut pipewire = program("pipewire", "fifo", "95");
    pipewire.threads[1].name = "data-loop.0".into();
    assert_eq!(found([pipewire, program("pulseaudio", "other", "95")], None), [""; 0]);
    assert_eq!(found([], Some(&[])), [""; 0]);
}

#[test]
fn the_thread_that_moves_sound_is_the_one_that_counts() {
    let mut recent = program("pipewire", "other", "95");
    recent.threads[1].name = "data-loop.0".into();
    let expected = "sessions.sound-policy: the data loop of pipewire of user 1000 has no real-time priority";
    assert_eq!(found([recent], None), [expected]);
    // Threads of libraries move no sound.
    let mut manager = program("wireplumber", "other", "95");
    manager.threads[1].name = "gdbus".into();
    assert_eq!(found([manager], None), [""; 0]);
    // All threads of JACK's server have one name, and one of them moves sound.
    let mut server = program("jackd", "fifo", "unlimited");
    server.threads.push(SessionThread { tid: PID + 2, name: "jackd".into(), policy: "other".into(), priority: 0 });
    assert!(!found([server], None).iter().any(|what| what.contains("sound-policy")));
}

#[test]
fn root_needs_no_limits_and_rtkit_helps_pipewire_but_not_jack() {
    let mut of_root = program("pipewire", "fifo", "0");
    of_root.user = Some(0);
    assert_eq!(found([of_root], None), [""; 0]);
    let judged_bad = |program: SessionProgram, rtkit: Option<&[&str]>| {
        let mut facts = facts(crate::WELL_SET);
        session(&mut facts, [program], rtkit);
        bad(&judged(&facts)).contains(&"sessions.real-time-priority")
    };
    assert!(judged_bad(program("pipewire", "fifo", "0"), None));
    assert!(!judged_bad(program("pipewire", "fifo", "0"), Some(&[])));
    assert!(judged_bad(program("jackd", "fifo", "0"), Some(&[])));
    assert!(!judged_bad(program("systemd", "other", "0"), None));
}

#[test]
fn options_of_rtkit_end_its_findings_one_by_one() {
    let with = |words: &[&str]| found([program("pipewire", "rr", "95")], Some(words)).len();
    assert_eq!(with(&[]), 3);
    assert_eq!(with(&["--no-canary"]), 2);
    assert_eq!(with(&["--no-canary", "--max-realtime-priority=89"]), 1);
    assert_eq!(with(&["--no-canary", "--max-realtime-priority=89", "--rttime-usec-max=1000000"]), 0);
}

#[test]
fn limits_that_cannot_be_read_give_no_finding() {
    let mut hidden = program("pipewire", "fifo", "0");
    hidden.limits = Fact::Refused("Permission denied".into());
    let mut facts = facts(crate::WELL_SET);
    session(&mut facts, [hidden], None);
    let readiness = judged(&facts);
    assert!(!all(&readiness).iter().any(|id| id.starts_with("sessions.")));
    let unknown: Vec<&str> = readiness.not_known.iter().map(|one| one.id.as_str()).collect();
    assert!(unknown.contains(&"sessions.real-time-priority") && unknown.contains(&"sessions.locked-memory"));
}
