//! The first page: what changed since yesterday, and a line for each board.

mod lab;

use archive::manifest::RunState;
use axum::http::StatusCode;
use lab::{Lab, nightly, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::queries::board_state::Differs;
use store::queue::Ended;
use synthetic_run::{Latencies, SyntheticRun};
use words::culprits::named;

const HOUR_NS: i64 = 3_600_000_000_000;
const LIMIT_NS: i64 = 100_000;

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// A run of a board some hours ago, with its largest latency and its cause.
struct At {
    board: &'static str,
    kernel: &'static str,
    hours: i64,
    max_ns: i64,
    cause: Option<&'static str>,
    load: Option<&'static str>,
}

fn at(board: &'static str, kernel: &'static str, hours: i64, max_ns: i64, cause: Option<&'static str>) -> At {
    At { board, kernel, hours, max_ns, cause, load: None }
}

async fn with(runs: &[At]) -> Lab {
    let lab = Lab::new().await;
    for (number, of) in runs.iter().enumerate() {
        let mut latencies = Latencies::default();
        latencies.add(5_000, 1000);
        latencies.add(of.max_ns.min(50_000), 1);
        let spikes = of.cause.map(|cause| (of.max_ns, Some(cause.to_owned()))).into_iter().collect();
        let run = SyntheticRun {
            limit_ns: Some(LIMIT_NS),
            latencies,
            spikes,
            load: of.load.map(str::to_owned),
            ..SyntheticRun::of(of.board, of.kernel, now() - of.hours * HOUR_NS)
        };
        run.write(&lab.directory.path().join(format!("run-{number:03}")));
    }
    server::add_new_archives(&lab.site).await;
    lab
}

async fn page(lab: &Lab, path: &str) -> String {
    let answer = lab.page(path).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    text(answer).await
}

async fn news(lab: &Lab, days: u32) -> Value {
    let answer = lab.api(&format!("/api/v1/news?days={days}")).await;
    serde_json::from_str(&text(answer).await).unwrap()
}

/// Text of a group of the first page, without marks.
fn group(page: &str, name: &str) -> String {
    let group = page.split(&format!("<h2>{name} ")).nth(1).unwrap_or_default().split("</section>").next().unwrap();
    group.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_that_became_bad_stands_first_with_last_good_first_bad_cause_and_what_differs() {
    let runs = [
        at("pi", "6.12.1", 60, 20_000, None),
        at("pi", "6.12.1", 30, 21_000, None),
        at("pi", "6.12.2", 5, 162_000, Some("irqs-off")),
        at("pi", "6.12.2", 1, 150_000, Some("irqs-off")),
        at("amd", "6.12.1", 30, 30_000, Some("softirq")),
        at("amd", "6.12.1", 2, 30_000, Some("softirq")),
    ];
    let lab = with(&runs).await;
    let today = page(&lab, "/").await;
    let bad = group(&today, "Newly bad");
    assert!(bad.contains(&format!("pi no load: 162.0 µs, {}", named("irqs-off"))), "{bad}");
    assert!(bad.contains("first bad 6.12.2 (") && bad.contains("last good 6.12.1 ("), "{bad}");
    assert!(bad.contains(Differs::Kernel.words()) && today.contains("href=\"/compare?a="), "{bad}");
    assert!(!bad.contains("amd") && today.contains("<p class=\"note\">"), "{today}");
    for other in ["Newly good", "New culprit", "New maximum", "Silent", "Failed jobs"] {
        assert_eq!(group(&today, other), "", "{other}");
    }
    assert!(bad.contains("new culprit") && bad.contains("new maximum"), "its entry has them: {bad}");
    assert!(today.contains("title=\"before 21.0 µs on 6.12\""), "{today}");
    let first = today.split("<tr data-board=\"").nth(1).unwrap();
    assert!(first.starts_with("pi\" data-state=\"bad\""), "bad boards come first: {first}");
    // The same as JSON.
    let found = news(&lab, 1).await;
    assert_eq!(found["newly_bad"][0]["first"]["kernel"], "6.12.2");
    assert_eq!(found["newly_bad"][0]["before"]["kernel"], "6.12.1");
    assert_eq!(
        (&found["new_culprits"][0]["culprit"], &found["new_culprits"][0]["spikes"]),
        (&"irqs-off".into(), &2.into())
    );
    assert_eq!(found["new_maxima"].as_array().unwrap().len(), 1, "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_and_the_figure_of_a_cell_are_of_one_run() {
    let lab = with(&[at("pi", "6.12.1", 5, 162_000, Some("irqs-off"))]).await;
    let invalid = SyntheticRun {
        limit_ns: Some(LIMIT_NS),
        spikes: vec![(627_000, None)],
        state: RunState::Failed,
        ..SyntheticRun::of("pi", "6.12.1", now() - HOUR_NS)
    };
    invalid.write(&lab.directory.path().join("invalid"));
    server::add_new_archives(&lab.site).await;
    for path in ["/", "/?by=kernel"] {
        let shown = page(&lab, path).await;
        let line = shown.split("<tr data-board=\"pi\"").nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(line.contains("data-state=\"bad\"") && line.contains("162.0 µs"), "{path}: {line}");
    }
    // An invalid run has no figure.
    for path in ["/", "/?by=kernel", "/fleet", "/boards/pi", "/culprits"] {
        let shown = page(&lab, path).await;
        assert!(!shown.contains("627.0 µs"), "{path}: {shown}");
    }
    let metrics = text(lab.api("/metrics").await).await;
    assert!(!metrics.contains("0.000627"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_culprit_and_a_new_maximum_of_a_good_board_are_news_of_their_own() {
    let runs = [at("pi", "6.12.1", 30, 20_000, Some("softirq")), at("pi", "6.12.2", 5, 90_000, Some("irqs-off"))];
    let lab = with(&runs).await;
    let today = page(&lab, "/").await;
    let culprit = group(&today, "New culprit");
    assert!(culprit.contains(&format!("pi: {}1 spike, ", named("irqs-off"))), "{culprit}");
    assert!(culprit.contains(" 90.0 µs"), "{culprit}");
    let maximum = group(&today, "New maximum");
    assert!(maximum.contains("pi no load: 90.0 µs") && maximum.contains("before 20.0 µs on 6.12"), "{maximum}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_page_opens_with_its_worst_load_at_the_span_of_its_runs() {
    let runs = [
        at("pi", "6.12.1", 60, 20_000, None),
        at("pi", "6.12.2", 50, 162_000, Some("irqs-off")),
        At { load: Some("messaging"), ..at("pi", "6.12.2", 1, 20_000, None) },
    ];
    let lab = with(&runs).await;
    let shown = page(&lab, "/boards/pi").await;
    let head = shown.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
    assert!(head.contains("data-state=\"bad\""), "a bad load makes a bad board: {head}");
    let columns = shown.matches("<rect class=\"part\"").count();
    assert_eq!(columns, 7, "{shown}");
    let last = shown.split("<tr data-part=\"6\">").nth(1).unwrap().split("</tr>").next().unwrap();
    let first = shown.split("<tr data-part=\"0\">").nth(1).unwrap().split("</tr>").next().unwrap();
    let days = ["1970", "2025"];
    assert!(days.iter().all(|year| !first.contains(year) && !last.contains(year)), "{first} {last}");
    let chosen = shown.split("aria-current=\"true\"").nth(1).unwrap().split("</a>").next().unwrap();
    assert!(chosen.contains("no load") && chosen.contains("bad"), "{chosen}");
    let year = page(&lab, "/boards/pi?days=366").await;
    assert!(year.matches("<rect class=\"part\"").count() > columns, "a year is there to choose");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_kernel_on_both_sides_is_not_blamed() {
    let lab = with(&[at("pi", "6.12.1", 30, 20_000, None), at("pi", "6.12.1", 5, 162_000, Some("irqs-off"))]).await;
    for path in ["/", "/fleet"] {
        let shown = page(&lab, path).await;
        assert!(
            shown.contains(Differs::Neither.words()) && !shown.contains(Differs::Kernel.words()),
            "{path}: {shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_that_became_good_leaves_the_news_of_yesterday_on_the_next_day() {
    let runs = [
        at("pi", "6.12.1", 200, 162_000, Some("irqs-off")),
        at("pi", "6.12.2", 50, 20_000, None),
        at("pi", "6.12.2", 3, 19_000, None),
    ];
    let lab = with(&runs).await;
    let week = group(&page(&lab, "/?days=7").await, "Newly good");
    assert!(
        week.contains("pi no load: ") && week.contains("first good 6.12.2 (") && week.contains("last bad 6.12.1 ("),
        "{week}"
    );
    assert!(week.contains(&named("irqs-off")), "{week}");
    assert_eq!(news(&lab, 1).await["newly_good"].as_array().unwrap().len(), 0, "the first good run is older");
    let day = page(&lab, "/").await;
    assert_eq!((group(&day, "Newly bad"), group(&day, "Newly good")), (String::new(), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_boards_and_failed_jobs_are_news() {
    let runs: Vec<At> = (0..6).map(|run| at("pi", "6.12.1", 100 + 24 * run, 20_000, None)).collect();
    let lab = with(&runs).await;
    let store = lab.site.store();
    let request = nightly("pi");
    store.queue(&request, now()).await.unwrap();
    let claim = store.claim("bench", &["pi".to_owned()], Duration::from_secs(60), now()).await.unwrap().unwrap();
    let ended = Ended::Failed { message: "<b>no route</b> to host".into() };
    assert!(store.end(&claim, &ended, now()).await.unwrap());
    let today = page(&lab, "/").await;
    let silent = group(&today, "Silent");
    assert!(silent.contains("pi") && silent.contains(" 4 days ago, "), "{silent}");
    let failed = group(&today, "Failed jobs");
    assert!(failed.contains("nightly on pi") && failed.contains("&lt;b&gt;no route"), "{failed}");
    assert!(today.contains(&format!("href=\"/queue#job-{}\"", claim.job.job)));
    assert_eq!(news(&lab, 1).await["failed_jobs"][0]["plan_name"], "nightly");
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_stand_beside_loads_or_beside_kernels_one_line_each() {
    let lab = Lab::of_a_year().await;
    for (path, column) in [("/", "messaging"), ("/?by=kernel", "6.12-rt")] {
        let shown = page(&lab, path).await;
        let boards: Vec<&str> =
            shown.split("<tr data-board=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(boards.len(), boards.iter().collect::<BTreeSet<_>>().len(), "{path}: {boards:?}");
        assert!(fixtures::year::BOARDS.iter().all(|board| boards.contains(&board.name)), "{path}: {boards:?}");
        let head = shown.split("<thead>").nth(1).unwrap().split("</thead>").next().unwrap();
        assert!(head.contains(&format!("<bdi>{column}</bdi>")), "{path}: {head}");
        let bad = shown.split("data-board=\"imx8mp-evk\"").nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(bad.contains("data-state=\"bad\"") && bad.contains("irqs-off"), "{path}: {bad}");
    }
}
