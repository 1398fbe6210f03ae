//! A run in progress: as a page without a script, as JSON, and as server-sent events; bounded in number and time.

mod lab;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use fixtures::growing::Growing;
use http_body_util::BodyExt;
use lab::{Lab, text};
use server::Limits;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// A lab that has noticed a run in progress, the run, and its name.
async fn measuring(limits: Limits) -> (Lab, Growing, String) {
    let lab = Lab::with(&[], limits).await;
    let mut run = Growing::start(&lab.directory.path().join("now"), "pi-4<b>", 5);
    run.grow(30_000, None);
    server::add_new_archives(&lab.site).await;
    let list: serde_json::Value = serde_json::from_str(&text(lab.api("/api/v1/live").await).await).unwrap();
    assert_eq!((list.as_array().unwrap().len(), &list[0]["samples"]), (1, &30_000.into()), "{list}");
    let name = list[0]["run"].as_str().unwrap().to_owned();
    (lab, run, name)
}

async fn next(body: &mut Body) -> Option<String> {
    let frame = tokio::time::timeout(PATIENCE, body.frame()).await.expect("an event within 30 s")?;
    Some(String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap())
}

/// The next event with this text.
async fn event_with(body: &mut Body, wanted: &str) -> String {
    loop {
        let event = next(body).await.unwrap_or_else(|| panic!("the stream ended before {wanted}"));
        if event.contains(wanted) {
            return event;
        }
    }
}

async fn stream(lab: &Lab, name: &str) -> Response {
    lab.api(&format!("/api/v1/live/{name}/events")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_progress_is_followed_to_its_end() {
    let (lab, mut run, name) = measuring(Limits::default()).await;
    let answer = stream(&lab, &name).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut events = answer.into_body();
    let first = event_with(&mut events, "\"samples\":30000").await;
    assert!(first.starts_with("event: state\ndata: {") && first.ends_with("}\n\n"), "{first}");
    run.grow(20_000, Some(250_000));
    let second = event_with(&mut events, "\"samples\":50000").await;
    assert!(second.contains("\"latency_ns_max\":250000") && second.contains("\"over_limit\":1"), "{second}");
    assert!(second.contains("\"cause\":\"") && !second.contains("\"cause\":null"), "{second}");
    run.end();
    event_with(&mut events, "\"goes_on\":false").await;
    event_with(&mut events, "event: end").await;
    assert_eq!(next(&mut events).await, None);
    server::add_new_archives(&lab.site).await;
    assert_eq!(text(lab.api("/api/v1/live").await).await, "[]");
    let gone = lab.api(&format!("/api/v1/live/{name}")).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_script_the_page_has_the_numbers_and_loads_again() {
    let (lab, mut run, name) = measuring(Limits::default()).await;
    run.grow(20_000, Some(250_000));
    let list = text(lab.page("/live").await).await;
    assert!(list.contains(&format!("/live/{name}")) && !list.contains("pi-4<b>"), "{list}");
    for _ in 0..300 {
        let page = text(lab.page(&format!("/live/{name}")).await).await;
        assert!(page.contains("<noscript><meta http-equiv=\"refresh\"") && !page.contains("pi-4<b>"), "{page}");
        if page.contains("50 000") {
            assert!(page.contains("250.0 µs") || page.contains("250 µs"), "{page}");
            assert!(page.contains("<rect class=\"live-bar\"") && page.contains("limit 100"), "{page}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the page does not show what came");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_bounded_in_number_and_time_and_names_lead_to_runs_only() {
    let limits = Limits { streams: 1, stream: Duration::from_millis(1500), ..Limits::default() };
    let (lab, _run, name) = measuring(limits).await;
    let mut first = stream(&lab, &name).await.into_body();
    event_with(&mut first, "event: state").await;
    let refused = stream(&lab, &name).await;
    assert_eq!(
        (refused.status(), refused.headers().contains_key("retry-after")),
        (StatusCode::SERVICE_UNAVAILABLE, true)
    );
    assert!(text(refused).await.contains("server.streams-busy"));
    while next(&mut first).await.is_some() {}
    // Its place is free, also where a client reads nothing of what it asked for.
    for _ in 0..3 {
        let mut answer = stream(&lab, &name).await;
        for _ in 0..100 {
            if answer.status() == StatusCode::OK {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer = stream(&lab, &name).await;
        }
        assert_eq!(answer.status(), StatusCode::OK);
    }
    for foreign in ["now", "..%2Fnow", "%2E%2E", "0000000000000000"] {
        assert_eq!(
            lab.api(&format!("/api/v1/live/{foreign}/events")).await.status(),
            StatusCode::NOT_FOUND,
            "{foreign}"
        );
        assert_eq!(lab.page(&format!("/live/{foreign}")).await.status(), StatusCode::NOT_FOUND, "{foreign}");
    }
}
