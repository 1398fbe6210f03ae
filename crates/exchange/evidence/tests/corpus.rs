//! Recordings of `corpus/foreign`: each names its planted cause, and without a group of events no other cause above a hint.
//! `UPDATE_GOLDEN=1` rewrites `expected.txt`.

use account::{Account, ExplanationSource};
use archive::explanation::{Confidence, Explanation, Finding};
use archive::frame::Item;
use archive::manifest::{Manifest, RunState};
use archive::message::Message;
use archive::reader::Run;
use archive::spike::Spike;
use archive::watched::WatchedKind;
use archive::writer::RunWriter;
use evidence::archived::{Archived, Origin, archived};
use evidence::file::{Contents, contents, unpacked};
use evidence::problem::Refusal;
use evidence::request::Request;
use fixtures::lacking::{Lacking, without};
use fixtures::repository::repository_path;
use std::fmt::Write;
use std::path::Path;
use wakeups::pattern::Pattern;

/// A recording: its file, the thread that was delayed, the planted cause, and whether its events can show that cause.
struct Planted {
    name: String,
    comm: Option<&'static str>,
    cause: &'static str,
    shows: bool,
}

/// Recordings of trace-cmd and ftrace.
const OF_FTRACE: [(&str, &str); 29] = [
    ("hog.dat", "other-rt-task"),
    ("hog-local.dat", "other-rt-task"),
    ("hog-no-irq.dat", "other-rt-task"),
    ("hog-sched.dat", "other-rt-task"),
    ("hog-version6.dat", "other-rt-task"),
    ("overrun.dat", "own-work"),
    ("overrun-local.dat", "own-work"),
    ("stopped.dat", "thread-stopped"),
    ("hog-report.txt", "other-rt-task"),
    ("stopped-report.txt", "thread-stopped"),
    ("hog-cat.txt", "other-rt-task"),
    ("hog-raw.dat", "other-rt-task"),
    ("hog-global.dat", "other-rt-task"),
    ("hog-report-ns.txt", "other-rt-task"),
    ("rival.dat", "other-rt-task"),
    ("rival-local.dat", "other-rt-task"),
    ("rival-sched.dat", "other-rt-task"),
    ("rival-version6.dat", "other-rt-task"),
    ("rival-report.txt", "other-rt-task"),
    ("rival-report-ns.txt", "other-rt-task"),
    ("rival-cat.txt", "other-rt-task"),
    ("overrun-version6.dat", "own-work"),
    ("overrun-report.txt", "own-work"),
    ("overrun-report-ns.txt", "own-work"),
    ("overrun-cat.txt", "own-work"),
    ("stopped-local.dat", "thread-stopped"),
    ("stopped-version6.dat", "thread-stopped"),
    ("stopped-report-ns.txt", "thread-stopped"),
    ("stopped-cat.txt", "thread-stopped"),
];
/// Causes that `record-perf` plants: the name, the delayed thread, and the cause.
const CAUSES: [(&str, &str, &str); 4] = [
    ("hog", "cyclictest", "other-rt-task"),
    ("rival", "cyclictest", "other-rt-task"),
    ("overrun", "control", "own-work"),
    ("stopped", "cyclictest", "thread-stopped"),
];
/// Files of `record-perf` for each cause. Machines that record nothing else are busy: their threads are named.
const FORMS: [&str; 8] = [
    "perf.data",
    "perf-script.txt",
    "perf-clock.data",
    "perf-packed.data",
    "perf-pipe.data",
    "perf-sched.data",
    "typed.pftrace",
    "compact.pftrace",
];
/// Files of `record-vm` for each of these causes, from a machine of arm64.
const FORMS_ARM64: [&str; 3] = ["arm64.dat", "arm64-version6.dat", "arm64-cat.txt"];
/// Traces that `rtla timerlat` saved, with events that were named. The thread is its own.
const OF_TIMERLAT: [&str; 2] = ["hog-timerlat-events.txt", "hog-arm64-timerlat-events.txt"];
/// The same without such events.
const WITHOUT_SWITCHES: [&str; 4] =
    ["hog-timerlat.txt", "hog-timerlat-hist.txt", "hog-arm64-timerlat.txt", "hog-arm64-timerlat-hist.txt"];
/// Recordings that cannot show their cause: `perf sched record` has neither timers nor signals.
const NOT_SHOWN: [&str; 2] = ["overrun-perf-sched.data", "stopped-perf-sched.data"];

fn planted() -> Vec<Planted> {
    let of_ftrace = OF_FTRACE.map(|(name, cause)| Planted { name: name.into(), comm: None, cause, shows: true });
    let of_perf = CAUSES.iter().flat_map(|(what, comm, cause)| {
        FORMS.map(|form| {
            let name = format!("{what}-{form}");
            let shows = !NOT_SHOWN.contains(&&*name);
            Planted { name, comm: Some(comm), cause, shows }
        })
    });
    let of_arm64 = CAUSES.iter().flat_map(|(what, comm, cause)| {
        FORMS_ARM64.map(|form| Planted { name: format!("{what}-{form}"), comm: Some(comm), cause, shows: true })
    });
    let of_timerlat = OF_TIMERLAT.map(|name| Planted {
        name: name.into(),
        comm: Some("timerlat/1"),
        cause: "other-rt-task",
        shows: true,
    });
    of_ftrace.into_iter().chain(of_perf).chain(of_arm64).chain(of_timerlat).collect()
}

/// Two instants closer than this are of one wake-up.
const SAME_NS: u64 = 500_000;
/// Parts that recordings lack.
const LACKING: [Lacking; 22] = [
    Lacking::Events(&["irq"]),
    Lacking::Events(&["irq_vectors"]),
    Lacking::Events(&["timer"]),
    Lacking::Events(&["signal"]),
    Lacking::Events(&["irq", "irq_vectors"]),
    Lacking::Events(&["irq", "irq_vectors", "timer"]),
    Lacking::Events(&["irq/softirq_entry", "irq/softirq_exit", "irq/softirq_raise"]),
    Lacking::Events(&["irq/irq_handler_entry", "irq/irq_handler_exit"]),
    Lacking::Events(&["irq_vectors/local_timer_exit"]),
    Lacking::Events(&["irq_vectors/reschedule_entry", "irq_vectors/reschedule_exit"]),
    Lacking::Events(&["timer/hrtimer_start"]),
    Lacking::Events(&["timer/hrtimer_expire_entry", "timer/hrtimer_expire_exit"]),
    Lacking::Events(&["sched/sched_waking"]),
    Lacking::Events(&["sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new"]),
    Lacking::Events(&["sched/sched_migrate_task"]),
    Lacking::Events(&["sched/sched_process_fork", "sched/sched_process_exit"]),
    Lacking::SwitchesOf(0),
    Lacking::SwitchesOf(1),
    Lacking::Cpu(0),
    Lacking::Cpu(1),
    Lacking::Priorities,
    Lacking::Stretches,
];

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(repository_path(format!("corpus/foreign/{name}.gz"))).unwrap()
}

fn recording_text(name: &str) -> String {
    String::from_utf8(unpacked(&bytes(name)).unwrap().into_owned()).unwrap()
}

fn archive(bytes: &[u8], comm: Option<&str>) -> Result<Archived, Refusal> {
    archive_of(bytes, comm, 10)
}

fn archive_of(bytes: &[u8], comm: Option<&str>, worst: usize) -> Result<Archived, Refusal> {
    let comm = comm.map(|comm| Pattern::new(comm).unwrap());
    let request = Request { worst, comm, ..Request::default() };
    archived(bytes, &request, Origin { file_name: "trace.dat", clock: "", imported_unix_ns: 1 })
}

/// Writes an archive and explains it, as the command line does.
fn explained(archived: Archived, directory: &Path) -> Account {
    let manifest = Manifest { imported: Some(archived.imported), ..Manifest::new("foreign", "test", "board") };
    let mut writer = RunWriter::create(directory, manifest).unwrap();
    archived.messages.iter().for_each(|message| writer.append(message).unwrap());
    for (file, (kind, data)) in (1..).zip(archived.files) {
        let bytes = data.len() as u64;
        writer.store(&Item::Message(Message::FileBegin { file, kind })).unwrap();
        writer.store(&Item::Chunk { file, offset: 0, data }).unwrap();
        writer.store(&Item::Message(Message::FileEnd { file, bytes })).unwrap();
    }
    writer.finish(RunState::Complete, None, 2).unwrap();
    Account::of(Run::open(directory).unwrap(), ExplanationSource::Traces)
}

/// The largest spike of a real-time thread.
fn largest(account: &Account) -> &Spike {
    let run = account.run();
    let urgent = |spike: &&Spike| run.watched.get(&spike.thread).is_some_and(|series| series.priority > 0);
    run.spikes.iter().filter(urgent).max_by_key(|spike| spike.sample.latency_ns).unwrap()
}

/// Its explanation.
fn worst(account: &Account) -> Explanation {
    account.explanation_of(largest(account).number).unwrap().clone()
}

/// Names other than the planted one, above a hint.
fn wrong(explanation: &Explanation, planted: &str) -> Vec<String> {
    let above = explanation.findings.iter().filter(|finding| finding.confidence > Confidence::Hint);
    // Two causes may share a wake-up; only one has most of it.
    let most = above.filter(|finding| finding.ns * 2 > explanation.latency_ns && named(finding) != planted);
    most.map(|finding| finding.sentence.clone()).collect()
}

fn named(finding: &Finding) -> &str {
    finding.culprit.id()
}

/// The account, and the folder of its archive, which it reads when it is asked.
fn account_of(archived: Archived) -> (tempfile::TempDir, Account) {
    let folder = tempfile::tempdir().unwrap();
    let account = explained(archived, folder.path());
    (folder, account)
}

#[test]
fn each_recording_names_its_planted_cause() {
    let (mut text, mut table) = (String::new(), String::new());
    let (mut shown, mut right) = (0, 0);
    for planted in planted() {
        let Planted { name, cause, .. } = &planted;
        let archived = archive(&bytes(name), planted.comm).unwrap_or_else(|why| panic!("{name}: {why}"));
        let lost: Vec<String> = archived.imported.lost.iter().map(|lost| lost.text.clone()).collect();
        let (_folder, account) = account_of(archived);
        let worst = worst(&account);
        let sum: i64 = worst.phases.iter().map(|phase| phase.ns).sum();
        assert_eq!(sum, worst.latency_ns, "{name}");
        let wrong = wrong(&worst, cause);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let first = worst.findings.first().filter(|first| first.confidence > Confidence::Hint);
        let says = first.map_or("not explained", named);
        writeln!(table, "{name:28} planted {cause:15} says {says}").unwrap();
        shown += u32::from(planted.shows);
        right += u32::from(planted.shows && says == *cause);
        describe(&mut text, name, &worst, &lost, &account);
    }
    println!("{table}{right} of {shown} right first");
    assert!(right * 10 >= shown * 9, "{table}{right} of {shown} right first");
    let path = repository_path("corpus/foreign/expected.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
}

#[test]
fn a_trace_of_timerlat_without_switches_is_refused() {
    for name in WITHOUT_SWITCHES {
        let refusal = archive(&bytes(&format!("without-switches/{name}")), None).err();
        assert_eq!(refusal, Some(Refusal::NoSwitches), "{name}");
    }
}

/// Appends what is said of the worst wake-up of a recording.
fn describe(text: &mut String, name: &str, worst: &Explanation, lost: &[String], account: &Account) {
    writeln!(text, "{name}: {} ns", worst.latency_ns).unwrap();
    for finding in &worst.findings {
        let confidence = explain::confidence_word(finding.confidence);
        writeln!(text, "  {} ({confidence}, {} ns): {}", named(finding), finding.ns, finding.sentence).unwrap();
    }
    worst.caveats.iter().for_each(|caveat| writeln!(text, "  but {}", caveat.text).unwrap());
    lost.iter().for_each(|lost| writeln!(text, "  unknown: {lost}").unwrap());
    account.run().problems.iter().for_each(|problem| writeln!(text, "  {}", problem.text).unwrap());
}

/// The recording without that.
fn lacking(bytes: &[u8], what: Lacking) -> Vec<u8> {
    let Ok(Contents::Events(mut plain)) = contents(bytes, "") else { panic!("it holds events") };
    without(&mut plain.open(), what)
}

/// The largest latency in a text.
fn latency_ns(text: &str) -> i64 {
    let (_folder, account) = account_of(archive(text.as_bytes(), None).unwrap());
    worst(&account).latency_ns
}

/// The form of `perf script`, of a line of ftrace.
fn as_perf(line: &str) -> String {
    let (thread, rest) = line.split_once('[').unwrap_or((line, ""));
    let (cpu, rest) = rest.split_once("] ").unwrap_or_default();
    let words: Vec<&str> = rest.splitn(3, ' ').collect();
    let (Some((comm, tid)), [_flags, time, event]) = (thread.trim().rsplit_once('-'), words.as_slice()) else {
        return String::new();
    };
    format!("{comm:>16} {tid:>6} [{cpu}] {time} group:{event}")
}

#[test]
fn a_quoted_text_a_log_and_perf_script_show_the_same_wake_up() {
    let plain = recording_text("hog-cat.txt");
    let expected_ns = latency_ns(&plain);
    let with = |prefix: &str| plain.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>();
    for prefix in ["> ", "> > ", "[   12.345678] board kernel: "] {
        assert_eq!(latency_ns(&with(prefix)), expected_ns, "{prefix}");
    }
    let perf: String = plain.lines().filter(|line| !line.starts_with('#')).map(|line| as_perf(line) + "\n").collect();
    assert_eq!(latency_ns(&perf), expected_ns);
}

/// The explanation of the same wake-up, if it is still a spike. After a late one several follow at once, each due at another instant.
fn of_same(account: &Account, whole: &Spike) -> Option<Explanation> {
    let near = |one: i64, other: i64| one.abs_diff(other) < SAME_NS;
    let is_same = |spike: &&Spike| {
        let timed = [spike.watched, whole.watched] == [Some(WatchedKind::Timer); 2];
        let (sample, other) = (spike.sample, whole.sample);
        spike.tid == whole.tid
            && near(sample.seen_ns(), other.seen_ns())
            && (!timed || near(sample.due_ns, other.due_ns))
    };
    let spike = account.run().late_spikes().find(is_same)?;
    account.explanation_of(spike.number).cloned()
}

/// The same events in another form lack the same.
const SAME_EVENTS: [&str; 7] = [
    "perf-script.txt",
    "perf-packed.data",
    "perf-pipe.data",
    "typed.pftrace",
    "report.txt",
    "report-ns.txt",
    "version6.dat",
];

/// Wrong names above a hint when each recording of a group lacks something, and how many were checked.
fn wrong_without(is_of_group: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
    let (mut checked, mut failures) = (0, Vec::new());
    let of_group = planted().into_iter().filter(|planted| {
        planted.shows && is_of_group(&planted.name) && !SAME_EVENTS.iter().any(|form| planted.name.ends_with(form))
    });
    for Planted { name, comm, cause, .. } in of_group {
        // Without nothing: the same as a trace.dat.
        let plain = lacking(&bytes(&name), Lacking::Events(&[]));
        // Ordinary threads of the same name may have been later.
        let (_folder, account) = account_of(archive(&plain, comm).unwrap());
        let whole = largest(&account).clone();
        for what in LACKING {
            let Ok(archived) = archive_of(&lacking(&plain, what), comm, 2) else { continue };
            let (_folder, account) = account_of(archived);
            let Some(explanation) = of_same(&account, &whole) else { continue };
            failures.extend(wrong(&explanation, cause).iter().map(|wrong| format!("{name}, {what:?}: {wrong}")));
            checked += 1;
        }
    }
    (checked, failures)
}

fn assert_none_wrong((checked, failures): (usize, Vec<String>), checked_min: usize) {
    println!("{checked} recordings still have the wake-up, {} wrong names", failures.len());
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
    assert!(checked >= checked_min, "only {checked} recordings still had the wake-up");
}

#[test]
fn without_a_group_of_events_no_wrong_name_stands_above_a_hint() {
    assert_none_wrong(wrong_without(|name| !name.contains("perf") && !name.contains("pftrace")), 120);
}

#[test]
fn without_a_group_of_events_no_wrong_name_stands_above_a_hint_in_recordings_of_perf() {
    assert_none_wrong(wrong_without(|name| name.contains("perf") || name.contains("pftrace")), 120);
}
