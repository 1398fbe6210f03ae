//! Output of the report: figures without a script, no markup from a target, pictures as files.

use archive::chain::{Activity, ChainAccount, ChainInstance, Segment, StagePart, StageSpan, StageTimes};
use archive::culprit::{ForeignText, Holder, TaskName};
use archive::method::{METHODS, MethodRequest};
use archive::policy::Policy;
use archive::second_records::SecondRecords;
use archive::summary::CpuSummary;
use archive::watched::{WatchedKind, WatchedSeries};
use fixtures::report_sample::{Shape, named, report_data};
use report::account::tracing;
use report::render_html;
#[cfg(feature = "png")]
use report::render_pngs;

const NOTHING_MEASURED: &str = "data-note=\"nothing-measured\"";

/// The page without its data block, script and style: the rest came through the renderer.
fn markup(page: &str) -> String {
    let body = page.split_once("<body>").expect("the page has a body").1;
    let (before, rest) = body.split_once("<script type=\"application/json\"").expect("the page has a data block");
    let after = rest.split_once("</script>").expect("the data block ends").1;
    format!("{before}{after}")
}

fn data_block(page: &str) -> &str {
    let rest = page.split_once("id=\"tardy-data\">").expect("the page has a data block").1;
    rest.split_once("</script>").expect("the data block ends").0
}

#[test]
fn every_figure_is_readable_without_a_script() {
    let data = report_data(&Shape::default());
    let html = markup(&render_html(&data, &[]));
    let micros = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
    for cpu in &data.summary.cpus {
        for value in [cpu.latency_ns.min, cpu.latency_ns.p50, cpu.latency_ns.p99_9, cpu.latency_ns.max] {
            assert!(html.contains(&micros(value.unwrap())), "CPU {} lacks {value:?}", cpu.cpu);
        }
    }
    for spike in &data.summary.spikes {
        assert!(html.contains(&format!("id=\"spike-{}\"", spike.spike.number)));
        for held in spike.explanation.iter().flat_map(|e| &e.functions).flat_map(|functions| &functions.held) {
            assert!(html.contains(&held.chain.join(" &lt; ")), "spike {} lacks {held:?}", spike.spike.number);
        }
        for owner in spike.explanation.iter().flat_map(|e| &e.phases).flat_map(|phase| &phase.owners) {
            assert!(html.contains(&micros(owner.ns)), "the ledger of spike {} lacks {owner:?}", spike.spike.number);
        }
    }
}

/// An instance whose second stage could run and did not.
fn late_chain() -> ChainAccount {
    let thread = |comm: &str| TaskName { tid: 7, comm: comm.into() };
    let part = |start_ns, end_ns, stage, comm: &str, activity| Segment {
        start_ns,
        end_ns,
        stage,
        part: StagePart::Work,
        thread: Some(thread(comm)),
        awaited: Vec::new(),
        cpu: Some(0),
        activity,
    };
    let hog = Holder::Task { task: thread("<b>hog"), function: None };
    let span = |start_ns, end_ns, comm: &str| StageSpan { thread: thread(comm), start_ns, woken_ns: start_ns, end_ns };
    let stage = |name: &str, max_ns| StageTimes { name: ForeignText(name.into()), median_ns: 1000, max_ns };
    let runnable = Activity::Runnable { holder: Some(hog), priority: None };
    ChainAccount {
        name: ForeignText("sensor to <script>".into()),
        deadline_ns: Some(5_000_000),
        instances: vec![ChainInstance {
            stimulus_ns: 1_000_000,
            end_ns: 8_123_456,
            is_open: false,
            stages: vec![span(1_000_000, 1_200_000, "sensor"), span(1_200_000, 8_123_456, "motor")],
            segments: vec![
                part(1_000_000, 1_200_000, 0, "sensor", Activity::Running { function: None }),
                part(1_200_000, 8_000_000, 1, "motor", runnable),
                part(8_000_000, 8_123_456, 1, "motor", Activity::Running { function: None }),
            ],
        }],
        unlinked: 0,
        stages: vec![stage("sensor", 200_000), stage("motor", 6_923_456)],
        findings: Vec::new(),
        limits: Vec::new(),
    }
}

#[test]
fn a_chain_has_its_path_as_a_picture_and_in_numbers() {
    let mut data = report_data(&Shape { spikes: 0, ..Shape::default() });
    assert!(!markup(&render_html(&data, &[])).contains("id=\"chains\""), "no chain was followed");
    data.summary.chains = vec![late_chain()];
    let html = markup(&render_html(&data, &[]));
    let section = html.split("<section id=\"chains\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("<svg") && section.contains("deadline</text>"), "{section}");
    // The sums of the ledger, its total, and a stretch of the path.
    for micros in ["800.000", "323.456", "123.456", "200.000"] {
        assert!(section.contains(micros), "{micros} in {section}");
    }
    assert!(!html.contains("<script>") && !section.contains("<b>"), "{section}");
    #[cfg(feature = "png")]
    {
        let folder = tempfile::tempdir().unwrap();
        assert!(render_pngs(&data, folder.path()).unwrap().iter().any(|path| path.ends_with("chain-1.png")));
    }
}

#[test]
fn an_audit_refers_to_its_findings_and_does_not_call_its_trace_off() {
    let mut data = report_data(&Shape { spikes: 0, ..Shape::default() });
    data.summary.tracing = Some("off".into());
    let watch = archive::watched::WatchSettings { command: vec!["./robot".into()], ..Default::default() };
    data.summary.settings.as_mut().unwrap().watch = Some(watch);
    let watch = markup(&render_html(&data, &[]));
    let off = tracing(&data.summary);
    assert!(watch.contains(&off) && watch.contains("class=\"why\""), "{watch}");
    data.summary.settings.as_mut().unwrap().audit = Some(archive::audit::AuditSettings::default());
    let audit = markup(&render_html(&data, &[]));
    assert!(audit.contains("data-note=\"audit\"") && audit.contains(&tracing(&data.summary)), "{audit}");
    assert!(!audit.contains(&off) && !audit.contains("class=\"why\""), "{audit}");
    data.summary.cpus.clear();
    assert!(!markup(&render_html(&data, &[])).contains(NOTHING_MEASURED), "an audit measures nothing");
}

#[test]
fn the_report_of_a_watch_is_about_the_threads_that_decide() {
    let mut data = report_data(&Shape { spikes: 0, ..Shape::default() });
    let watch = archive::watched::WatchSettings { command: vec!["./robot".into()], ..Default::default() };
    let settings = data.summary.settings.as_mut().unwrap();
    (settings.watch, settings.limit_ns) = (Some(watch), Some(1_000_000));
    let one = data.summary.cpus[0].clone();
    let series = |thread: u32, kind, name: &str, policy, max: i64| {
        let watched = WatchedSeries {
            thread,
            kind,
            tid: 100,
            name: name.into(),
            policy: Some(policy),
            priority: 0,
            slack_ns_max: 0,
            late_arms: 0,
            page_faults: None,
            ended: false,
        };
        let mut cpu = CpuSummary { thread, cycles: 500, over_limit: 3, worst: None, ..one.clone() };
        cpu.latency_ns.max = Some(max);
        CpuSummary { watched: Some(watched), aside: policy == Policy::Other, ..cpu }
    };
    data.summary.cpus = vec![
        series(0, WatchedKind::Timer, "urgent", Policy::Fifo, 4_010_000),
        series(1, WatchedKind::Cycle, "urgent", Policy::Fifo, 9_000_000),
        series(2, WatchedKind::Timer, "helper", Policy::Other, 4_020_000),
    ];
    let page = render_html(&data, &[]);
    let html = markup(&page);
    let title = page.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    assert!(title.contains("4.01 ms") && !title.contains("4.02 ms"), "{title}");
    let why = html.split_once("Why the worst").unwrap().1.split_once("</p>").unwrap().0;
    assert!(why.contains("urgent-100 timer") && !why.contains("helper"), "{why}");
    assert!(html.contains("3 of 500 "), "cycles and threads that do not decide are not counted: {html}");
    assert!(!html.contains("one CPU") && !html.contains("on each CPU") && html.contains(" data-aside"), "{html}");
}

#[test]
fn kernel_counters_are_drawn_and_in_a_table() {
    let data = report_data(&Shape::default());
    let html = markup(&render_html(&data, &[]));
    assert!(html.contains("id=\"counters\"") && html.contains("<svg"));
    for figure in data.summary.counters.iter().filter(|figure| figure.max > 0.0) {
        assert!(html.contains(&format!("<bdi>{}</bdi>", figure.name)), "{figure:?}");
    }
    let without = archive::summary::ReportData { counters: Vec::new(), ..data };
    assert!(!markup(&render_html(&without, &[])).contains("id=\"counters\""));
}

#[test]
fn the_page_holds_the_data_the_pictures_draw() {
    let data = report_data(&Shape::default());
    let page = render_html(&data, &[]);
    let read: archive::summary::ReportData = serde_json::from_str(data_block(&page)).unwrap();
    // `assert_eq` would print both completely.
    assert!(read.summary.spikes == data.summary.spikes);
    assert!(read.histograms == data.histograms);
    assert!(read.seconds == data.seconds);
}

#[test]
fn text_of_a_target_stays_text_on_the_page() {
    let page = render_html(&report_data(&named("hostile").unwrap()), &[]);
    let html = markup(&page);
    for markup in ["<script", "<img", "<svg onload", "<!--"] {
        assert!(!html.contains(markup), "{markup} got through");
    }
    // There are only the page's own two script elements.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!data_block(&page).contains(['<', '>', '&', '\u{2028}']));
}

#[test]
fn the_page_names_nothing_outside_itself() {
    for shape in ["two-cpus", "invalid", "no-spikes", "empty"] {
        let page = render_html(&report_data(&named(shape).unwrap()), &[]);
        for outside in ["http:", "https:", " src=", "@import", "url(\"", "url(//", "href=\"/"] {
            assert!(!page.contains(outside), "the report of {shape} holds {outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn an_invalid_run_says_so_before_any_figure() {
    let html = markup(&render_html(&report_data(&named("invalid").unwrap()), &[]));
    let warning = html.find("data-note=\"invalid\"").expect("the report says that the run is not valid");
    assert!(warning < html.find("<table").unwrap());
    let reasons = &report_data(&named("invalid").unwrap()).summary.invalid_because;
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| html.contains(&reason.text)), "{reasons:?}");
    assert!(!markup(&render_html(&report_data(&Shape::default()), &[])).contains("data-note=\"invalid\""));
}

#[test]
fn an_emulated_machine_says_so_before_any_figure() {
    let mut data = report_data(&Shape::default());
    assert!(!markup(&render_html(&data, &[])).contains("emulated"));
    data.summary.emulated = true;
    let html = markup(&render_html(&data, &[]));
    let warning = html.find("data-note=\"emulated\"").expect("the report says that the machine was emulated");
    assert!(warning < html.find("The worst of").unwrap() && warning < html.find("<table").unwrap());
    assert!(!html.contains("data-note=\"valid\""));
}

#[test]
fn a_run_without_anything_still_makes_a_page() {
    let html = markup(&render_html(&report_data(&named("empty").unwrap()), &[]));
    assert!(html.contains(NOTHING_MEASURED));
    assert!(html.contains("<p class=\"empty\">") && !html.contains("data-picture="));
}

#[test]
fn long_runs_keep_their_maximum_in_a_bounded_page() {
    let data = report_data(&Shape { seconds: 9000, spikes: 3, ..Shape::default() });
    let page = render_html(&data, &[]);
    let read: archive::summary::ReportData = serde_json::from_str(data_block(&page)).unwrap();
    assert!(read.seconds.len() <= 2 * 4000, "{} points", read.seconds.len());
    let max = |seconds: &SecondRecords| seconds.iter().map(|second| second.latency_ns_max).max();
    assert_eq!(max(&read.seconds), max(&data.seconds));
    let cycles = |seconds: &SecondRecords| seconds.iter().map(|second| u64::from(second.cycles)).sum::<u64>();
    assert_eq!(cycles(&read.seconds), cycles(&data.seconds));
}

#[test]
fn an_hour_of_many_cpus_is_joined_to_as_many_points_as_a_day_of_few() {
    let mut data = report_data(&Shape { seconds: 1, spikes: 1, ..Shape::default() });
    let seconds = (0..512).flat_map(|thread| (0..1000).map(move |second| (thread, second)));
    data.seconds = seconds
        .map(|(thread, second)| archive::sample::Second {
            thread,
            second,
            cycles: 1000,
            latency_ns_max: i64::from(thread * 7 + second * 13 % 997),
            ..Default::default()
        })
        .collect();
    let page = render_html(&data, &[]);
    let read: archive::summary::ReportData = serde_json::from_str(data_block(&page)).unwrap();
    assert!((50_000..=100_000).contains(&read.seconds.len()), "{} points", read.seconds.len());
    let of_thread = |seconds: &SecondRecords, thread| {
        let own = seconds.iter().filter(|second| second.thread == thread);
        own.map(|second| (second.latency_ns_max, u64::from(second.cycles)))
            .fold((0, 0), |(max, cycles), (latency, count)| (latency.max(max), cycles + count))
    };
    for thread in [0, 511] {
        assert_eq!(of_thread(&read.seconds, thread), of_thread(&data.seconds, thread));
    }
}

#[test]
fn a_machine_with_many_cpus_makes_a_bounded_page_that_says_what_it_leaves_out() {
    let data = report_data(&Shape { cpus: 96, seconds: 3, spikes: 40, ..Shape::default() });
    let page = render_html(&data, &[]);
    assert!(page.len() < 20 << 20, "{} bytes", page.len());
    let read: archive::summary::ReportData = serde_json::from_str(data_block(&page)).unwrap();
    let lanes = |entry: &archive::summary::SpikeSummary| entry.explanation.as_ref().map_or(0, |e| e.lanes.len());
    assert_eq!(lanes(&read.summary.spikes[0]), 96);
    let cut = read.summary.spikes.iter().filter(|entry| lanes(entry) == 1).count();
    assert!(cut > 0);
    assert_eq!(markup(&page).matches("leaves out 95 other CPUs").count(), cut);
}

#[test]
fn a_page_of_many_spikes_has_the_accounts_of_the_worst_and_the_number_of_the_others() {
    let mut data = report_data(&Shape { seconds: 3, spikes: 3, ..Shape::default() });
    let late = data.summary.spikes.iter().find(|entry| entry.late).unwrap().clone();
    let smaller = (0..5000).map(|number| {
        let mut entry = late.clone();
        entry.spike.number = 1000 + number;
        entry.latency_ns = 1000;
        entry
    });
    data.summary.spikes.retain(|entry| entry.late);
    let worst = data.summary.spikes.len();
    data.summary.spikes.extend(smaller);
    let page = render_html(&data, &[]);
    let html = markup(&page);
    let number = |account: &str| account.split('"').next().unwrap().parse::<usize>().unwrap();
    let accounts: Vec<usize> = html.split("id=\"spike-").skip(1).map(number).collect();
    assert_eq!((accounts.len(), accounts.last()), (200, Some(&(1000 + 199 - worst))));
    let left_out = 5000 + worst - 200;
    let said = format!("leaves out {},{:03} smaller", left_out / 1000, left_out % 1000);
    assert!(html.replace(['\u{202f}', '\u{2009}'], ",").contains(&said), "{said}");
    let read: archive::summary::ReportData = serde_json::from_str(data_block(&page)).unwrap();
    assert_eq!(read.summary.spikes.len(), 200);
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
}

#[cfg(feature = "png")]
#[test]
fn pictures_become_png_files() {
    let directory = tempfile::tempdir().unwrap();
    let data = report_data(&named("hostile").unwrap());
    let paths = render_pngs(&data, &directory.path().join("new")).unwrap();
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    for wanted in ["histogram.png", "latency.png", "spike-0001.png"] {
        assert!(names.contains(&wanted), "{wanted} is not among {names:?}");
    }
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
        // A blank drawing compresses to almost nothing.
        assert!(bytes.len() > 5_000, "{} has {} bytes", path.display(), bytes.len());
    }
    assert!(render_pngs(&report_data(&named("empty").unwrap()), directory.path()).unwrap().is_empty());
}

/// Archives are untrusted: no figure in one may crash the report.
#[test]
fn extreme_numbers_make_a_page_and_pictures() {
    for extreme in [i64::MIN, -1, 0, 1, i64::MAX] {
        let mut data = report_data(&Shape::default());
        let summary = &mut data.summary;
        summary.measured_ns = Some(extreme);
        summary.measure_start_ns = Some(extreme);
        summary.started_unix_ns = Some(extreme);
        summary.all_cpus.max = Some(extreme);
        summary.settings.as_mut().unwrap().limit_ns = Some(extreme);
        for cpu in &mut summary.cpus {
            (cpu.cycles, cpu.over_limit, cpu.missed) = (u64::MAX, u64::MAX, Some(u64::MAX));
            cpu.latency_ns.max = Some(extreme);
        }
        for entry in &mut summary.spikes {
            entry.latency_ns = extreme;
            entry.spike.sample.latency_ns = extreme;
            let Some(explanation) = &mut entry.explanation else { continue };
            explanation.latency_ns = extreme;
            explanation.spans[0].start_ns = extreme;
            for lane in &mut explanation.lanes {
                lane.segments[0].start_ns = i64::MIN;
                lane.segments[0].end_ns = extreme;
                lane.segments.last_mut().unwrap().end_ns = i64::MAX;
            }
        }
        data.histograms[0].bars[0].low_ns = extreme;
        data.histograms[0].bars[0].count = u64::MAX;
        data.histograms[1].bars.last_mut().unwrap().high_ns = extreme;
        let mut seconds: Vec<_> = data.seconds.iter().collect();
        seconds[0].latency_ns_max = extreme;
        seconds.last_mut().unwrap().second = u32::MAX;
        data.seconds = seconds.into();
        let page = render_html(&data, &[]);
        assert!(!page.contains("NaN") && !markup(&page).contains("inf,"), "{extreme}");
        #[cfg(feature = "png")]
        render_pngs(&data, tempfile::tempdir().unwrap().path()).unwrap();
    }
}

#[cfg(feature = "png")]
#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = render_pngs(&report_data(&Shape::default()), &file.path().join("in")).unwrap_err().to_string();
    assert!(error.contains(file.path().to_str().unwrap()), "{error}");
}

#[test]
fn only_the_page_of_a_timer_has_wake_ups() {
    let mut data = report_data(&named("no-spikes").unwrap());
    assert!(markup(&render_html(&data, &[])).contains("wake-up"));
    for definition in &METHODS[1..] {
        let settings = data.summary.settings.as_mut().expect("the run has settings");
        settings.method = MethodRequest::from(definition.method);
        let word = settings.method.sample();
        let html = markup(&render_html(&data, &[]));
        let at = html.find("wake-up").map(|at| &html[at.saturating_sub(200)..at + 20]);
        assert_eq!(at, None, "{}", definition.name);
        assert!(html.contains(&format!("The {} of ", word.worst)), "{}", definition.name);
        assert!(html.contains(&format!("The worst {}", word.many)), "{}", definition.name);
    }
}
