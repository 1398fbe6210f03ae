//! Metrics of a lab as Prometheus reads them; the dashboard and the alerts that come with tardy read no others.

mod lab;

use axum::http::StatusCode;
use fixtures::repository::repository_path;
use lab::{Lab, nightly, text};
use std::collections::BTreeSet;

/// Values of a metric: its labels as they are written, and its value.
fn values<'a>(metrics: &'a str, name: &str) -> Vec<(&'a str, f64)> {
    let of_name = |line: &'a str| {
        let rest = line.strip_prefix(name)?;
        let (labels, value) = match rest.strip_prefix('{') {
            Some(labelled) => labelled.rsplit_once("} ")?,
            None => ("", rest.strip_prefix(' ')?),
        };
        Some((labels, value.parse().ok()?))
    };
    metrics.lines().filter_map(of_name).collect()
}

fn of_board(metrics: &str, name: &str, board: &str) -> Vec<f64> {
    let label = format!("board=\"{board}\"");
    values(metrics, name).into_iter().filter(|(labels, _)| labels.contains(&label)).map(|(_, value)| value).collect()
}

async fn metrics(lab: &Lab) -> String {
    let answer = lab.api("/metrics").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    text(answer).await
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_jobs_workers_and_requests_are_there_with_their_units() {
    let lab = Lab::of_a_year().await;
    lab.site.store().heartbeat("bench \"1\"\n", &["pi".into()], "0", 5_000_000_000).await.unwrap();
    let found = metrics(&lab).await;
    assert!(found.ends_with("# EOF\n") && found.contains("tardy_build_info{version="), "{found}");
    assert!(of_board(&found, "tardy_board_bad", "imx8mp-evk").contains(&1.0));
    let good = of_board(&found, "tardy_board_bad", "rock-5b");
    assert!(!good.is_empty() && good.iter().all(|bad| *bad == 0.0), "{good:?}");
    let latest = lab.site.store().fleet().await.unwrap();
    for row in &latest.rows {
        let board = &row.newest.board;
        let seconds = row.newest.latency_max_ns.map(|ns| ns as f64 / 1e9);
        let shown = values(&found, "tardy_newest_run_latency_max_seconds");
        let own = shown.iter().find(|(labels, _)| labels.contains(&row.scenario)).map(|(_, value)| *value);
        assert_eq!(own, seconds, "{board}");
    }
    let runs = values(&found, "tardy_runs");
    assert_eq!(runs, [("", lab.site.store().counts().await.unwrap().runs as f64)]);
    assert_eq!(values(&found, "tardy_jobs").len(), 5, "a state without a job is a zero");
    let (worker, reported) = values(&found, "tardy_worker_report_timestamp_seconds")[0];
    assert!(worker.contains(r#"worker="bench \"1\""#) && !worker.contains('\n') && reported == 5.0, "{worker}");

    lab.api("/api/v1/runs/none").await;
    let again = metrics(&lab).await;
    let of_status = |status: &str| {
        let status = format!("status=\"{status}\"");
        let all = values(&again, "tardy_http_requests_total").into_iter();
        all.filter(|(labels, _)| labels.contains(&status)).map(|(_, count)| count).sum::<f64>()
    };
    assert_eq!((of_status("200"), of_status("404")), (1.0, 1.0));
    assert_eq!(values(&again, "tardy_http_request_duration_seconds_count"), [("", 2.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_series_is_written_once_and_names_of_boards_cannot_add_lines() {
    let lab = Lab::of_a_year().await;
    let found = metrics(&lab).await;
    let mut series = BTreeSet::new();
    for line in found.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("tardy_"), "{line}");
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok() && series.insert(name), "{line}");
    }
}

/// Names of metrics in the expressions of a dashboard or of rules.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("tardy_")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_and_the_alerts_read_metrics_that_exist() {
    let lab = Lab::of_a_year().await;
    lab.site.store().heartbeat("bench", &[], "0", 5).await.unwrap();
    let request = nightly("pi");
    lab.site.store().queue(&request, 7).await.unwrap();
    metrics(&lab).await;
    let found = metrics(&lab).await;
    for file in ["grafana.json", "alerts.yml"] {
        let text = std::fs::read_to_string(repository_path("packaging/lab").join(file)).unwrap();
        let used = names(&text);
        assert!(used.len() >= 4, "{file}: {used:?}");
        for name in used {
            let is_there = !values(&found, name).is_empty();
            assert!(is_there, "{file} reads {name}");
        }
    }
    let dashboard = std::fs::read(repository_path("packaging/lab/grafana.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_slice(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().iter().all(|panel| panel["title"].is_string()));
}
