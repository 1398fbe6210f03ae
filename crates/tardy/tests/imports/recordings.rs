//! `tardy explain FILE`: a recording of another tool becomes an archive on which the other verbs work.

use fixtures::fake_meter::Bench;
use fixtures::repository::repository_path;

fn recording(name: &str) -> String {
    repository_path(format!("corpus/foreign/{name}")).display().to_string()
}

#[test]
fn a_recording_becomes_an_archive_and_its_cause_is_named() {
    let bench = Bench::new();
    for file in ["hog-local.dat.gz", "hog-report.txt.gz"] {
        let ended = bench.run(&["explain", &recording(file), "--more", "--out", file]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr.matches(file).count(), 2, "the recording and its archive: {}", ended.stderr);
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("priority 90; ") && text.contains("priority 80"), "{text}");
    }
    for verb in [
        &["explain", "hog-local.dat.gz", "--more", "--events"][..],
        &["report", "hog-local.dat.gz"],
        &["export", "hog-local.dat.gz", "--format", "perfetto"],
        &["export", "hog-local.dat.gz", "--format", "trace-dat"],
        &["compare", "hog-local.dat.gz", "hog-report.txt.gz"],
    ] {
        let ended = bench.run(verb);
        assert_eq!(ended.code, Some(0), "{verb:?}: {}", ended.stderr);
    }
}

#[test]
fn the_text_of_a_latency_tracer_becomes_an_archive_with_its_stretch() {
    let bench = Bench::new();
    let ended = bench.run(&["explain", &recording("wakeup_rt.txt.gz"), "--out", "stretch"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document = bench.run(&["explain", "stretch", "--json"]).json();
    let stretch = &document["latency_traces"][0];
    assert_eq!((stretch["tracer"].as_str(), stretch["latency_ns"].as_i64()), (Some("wakeup_rt"), Some(2_009_000)));
    assert_eq!(stretch["longest_function"]["name"], "lapic_next_event");
    assert!(bench.path("stretch/tracer/0001.txt").is_file());
    for verb in [&["report", "stretch"][..], &["compare", "stretch", "stretch"], &["list", "."]] {
        assert_eq!(bench.run(verb).code, Some(0), "{verb:?}");
    }
    assert_eq!(bench.run(&["judge", "stretch", "--limit", "100us"]).code, Some(3), "one stretch proves no limit");
}

#[test]
fn threads_are_chosen_by_name_and_by_number() {
    let bench = Bench::new();
    let file = recording("hog-cat.txt.gz");
    // `the worst timer wake-up was 8.06 ms late (hog-18645).`
    let worst = |arguments: &[&str]| {
        let ended = bench.run(&[&["explain", &file][..], arguments].concat());
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, rest) = text.split_once(" late (").unwrap_or_else(|| panic!("{arguments:?}: {text} {}", ended.stderr));
        rest.split_once(')').unwrap().0.to_owned()
    };
    let hog = worst(&["--comm", "ho?"]);
    let (_, tid) = hog.split_once("hog-").unwrap();
    assert_eq!(worst(&["--pid", tid]), hog);
    assert!(worst(&["--comm", "cyclictest"]).starts_with("cyclictest-"));
}

#[test]
fn what_is_no_recording_is_named_and_options_of_recordings_need_one() {
    let bench = Bench::new();
    let write = |name: &str, bytes: &[u8]| std::fs::write(bench.path(name), bytes).unwrap();
    write("perf.data", b"PERFILE2\0\0\0\0");
    write("notes", b"hello");
    std::fs::create_dir(bench.path("buffer")).unwrap();
    write("buffer/trace", b"# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n#\n");
    write("buffer/trace_clock", b"local [mono]\n");
    for (arguments, expected) in [
        (&["explain", "perf.data"][..], "perf record -a"),
        (&["explain", "notes"], "not a known kind of recording"),
        (&["explain", "buffer"], "it holds no events; record some with"),
        (
            &["explain", &recording("hog.dat.gz"), "--comm", "nobody"],
            "no wake-up of the named threads; it has wake-ups of",
        ),
        (&["explain", &recording("hog.dat.gz"), "--comm", "a_name_of_sixteen"], "1 to 15 letters"),
        (&["explain", "latest", "--pid", "7"], "name its file, or --instance"),
        (&["explain", "--instance", "nonesuch"], "nonesuch"),
    ] {
        let ended = bench.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert!(!bench.path("runs").exists(), "{arguments:?} left an archive");
    }
}
