//! Any bytes are refused in one line, or become an archive whose spikes agree with its figures.

use archive::layout::FileKind;
use archive::message::Message;
use evidence::archived::{Archived, Origin, archived};
use evidence::file::unpacked;
use evidence::problem::Refusal;
use evidence::request::Request;
use fixtures::repository::repository_path;
use proptest::prelude::*;
use std::sync::LazyLock;
use wakeups::pattern::Pattern;

static SOUND: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let plain = |name: &&str| {
        let bytes = std::fs::read(repository_path(format!("corpus/foreign/{name}.gz"))).unwrap();
        unpacked(&bytes).unwrap().into_owned()
    };
    let of_ftrace =
        ["hog-version6.dat", "hog-sched.dat", "overrun-local.dat", "stopped.dat", "stopped-report.txt", "hog-cat.txt"];
    let others = [
        "stopped-perf.data",
        "overrun-perf-packed.data",
        "overrun-perf-pipe.data",
        "stopped-typed.pftrace",
        "stopped-compact.pftrace",
    ];
    of_ftrace.iter().chain(&others).map(plain).collect()
});

fn read(bytes: &[u8], request: &Request) -> Result<Archived, Refusal> {
    archived(bytes, request, Origin { file_name: "trace.dat", clock: "", imported_unix_ns: 1 })
}

fn check(bytes: &[u8], request: &Request) {
    let archived = match read(bytes, request) {
        Ok(archived) => archived,
        Err(why) => return assert!(!why.to_string().contains('\n'), "one line: {why}"),
    };
    let spikes = archived.messages.iter().filter_map(|message| match message {
        Message::Spike(spike) => Some(spike),
        _ => None,
    });
    let numbers: Vec<u32> = spikes.clone().map(|spike| spike.number).collect();
    let is_stretch = archived.messages.iter().any(|message| matches!(message, Message::LatencyTrace(_)));
    assert!(is_stretch || !numbers.is_empty());
    let traces = archived.files.iter().filter_map(|(kind, _)| match kind {
        FileKind::SpikeTrace { spike } => Some(*spike),
        _ => None,
    });
    assert_eq!(numbers, traces.collect::<Vec<_>>());
    let series = archived.messages.iter().filter(|message| matches!(message, Message::Thread { .. })).count();
    assert!(spikes.clone().all(|spike| (spike.thread as usize) < series));
}

/// Events of texts, with and without fields that matter.
const NAMES: &[&str] = &["sched_switch", "sched_waking", "hrtimer_start", "local_timer_entry", "print", "unheard_of"];

fn requests() -> impl Strategy<Value = Request> {
    let comm = prop_oneof![Just(None), Just(Pattern::new("c*").ok())];
    let tid = prop_oneof![4 => Just(None), 1 => any::<i32>().prop_map(Some)];
    (tid, comm, 0..20usize).prop_map(|(tid, comm, worst)| Request { tid, comm, worst, ..Request::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 96 } else { 1000 }))]

    #[test]
    fn any_bytes_are_refused_or_become_an_archive(bytes in prop::collection::vec(any::<u8>(), 0..2000), request in requests()) {
        check(&bytes, &request);
        check(&[&b"\x1f\x8b\x08"[..], &bytes].concat(), &request);
        check(&[&b"PERFILE2\x10\0\0\0\0\0\0\0"[..], &bytes].concat(), &request);
        check(&[&b"\x0a\x02\x08\0"[..], &bytes].concat(), &request);
        check(&[&b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0"[..], &bytes].concat(), &request);
    }

    #[test]
    fn any_lines_are_refused_or_become_an_archive(
        lines in prop::collection::vec(("[ -~]{0,20}", 0..3u32, 0..5u64, prop::sample::select(NAMES), "[ -~]{0,60}"), 0..40),
        request in requests(),
    ) {
        let line = |(comm, cpu, ns, name, fields): (String, u32, u64, &str, String)| {
            format!("{comm}-7 [{cpu:03}] 1.00000000{ns}: {name}: {fields}\n")
        };
        check(lines.into_iter().map(line).collect::<String>().as_bytes(), &request);
    }

    #[test]
    fn a_damaged_recording_is_refused_or_becomes_an_archive(
        which in 0..SOUND.len(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1..9usize), 0..30),
        cut in prop::option::of(any::<prop::sample::Index>()),
        request in requests(),
    ) {
        let mut bytes = SOUND[which].clone();
        for (at, value, length) in damages {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes[at..end].fill(value);
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        check(&bytes, &request);
    }
}
