//! The queue by API and page: roles, plans with mistakes, cancelling, webhooks, and the kernels around a change.

mod lab;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use fixtures::growing::Growing;
use lab::{Lab, nightly, text};
use serde_json::{Value, json};
use server::access::Role;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::hmac::signature;
use store::queue::{Ended, TriggerRequest, job_directory};

async fn send(lab: &Lab, method: Method, path: &str, role: Option<Role>, body: Option<Value>) -> Response {
    let mut request = lab.request(method, path).header("content-type", "application/json");
    if let Some(role) = role {
        request = request.header("authorization", lab.bearer(role));
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    lab.send_whole(request.body(body).unwrap()).await
}

async fn document(answer: Response) -> Value {
    serde_json::from_str(&text(answer).await).unwrap()
}

fn trigger(plan: &str) -> TriggerRequest {
    TriggerRequest {
        name: "kernels".into(),
        boards: vec!["pi-4".into()],
        plan_name: "kernels".into(),
        plan: plan.into(),
        kernels: ["6.6.30-rt30", "6.9.1-rt1", "6.11.2-rt4", "6.12.8-rt5"].map(str::to_owned).into(),
        attempts_max: 3,
        secret: Some("key".into()),
        ..TriggerRequest::default()
    }
}

#[tokio::test]
async fn the_commands_of_an_empty_queue_name_the_index() {
    let lab = Lab::new().await;
    let page = text(lab.page("/queue").await).await;
    let store = format!("<bdi>--store</bdi> <bdi>{}</bdi>", lab.directory.path().display());
    assert_eq!(page.matches(&store).count(), 3, "worker, job and trigger: {page}");
}

#[tokio::test]
async fn a_plan_is_queued_and_cancelled_with_the_role_run_only() {
    let lab = Lab::with_tokens(&[Role::Read, Role::Run]).await;
    let plan = json!({ "boards": ["pi", "amd"], "plan_name": "smoke", "plan": "about = 'x'" });
    let refused = send(&lab, Method::POST, "/api/v1/jobs", Some(Role::Read), Some(plan.clone())).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let queued = send(&lab, Method::POST, "/api/v1/jobs", Some(Role::Run), Some(plan.clone())).await;
    assert_eq!(queued.status(), StatusCode::CREATED);
    let jobs = document(queued).await;
    assert_eq!((jobs.as_array().unwrap().len(), &jobs[0]["because"]), (2, &"API, run".into()));
    let again = send(&lab, Method::POST, "/api/v1/jobs", Some(Role::Run), Some(plan)).await;
    assert_eq!(document(again).await, json!([]), "they wait already");
    let list = document(send(&lab, Method::GET, "/api/v1/jobs", Some(Role::Read), None).await).await;
    assert_eq!((list.as_array().unwrap().len(), &list[0]["plan"]), (2, &"".into()));
    let path = format!("/api/v1/jobs/{}", jobs[0]["job"].as_str().unwrap());
    let one = document(send(&lab, Method::GET, &path, Some(Role::Read), None).await).await;
    assert_eq!(one["plan"], "about = 'x'");
    assert_eq!(send(&lab, Method::DELETE, &path, Some(Role::Read), None).await.status(), StatusCode::FORBIDDEN);
    let cancelled = document(send(&lab, Method::DELETE, &path, Some(Role::Run), None).await).await;
    assert_eq!(cancelled["state"], "cancelled");
    let twice = send(&lab, Method::DELETE, &path, Some(Role::Run), None).await;
    assert_eq!(
        (twice.status(), &document(twice).await["code"]),
        (StatusCode::CONFLICT, &"server.job-not-queued".into())
    );
    let unknown = send(&lab, Method::DELETE, "/api/v1/jobs/x", Some(Role::Run), None).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    let log = lab.site.store().actions(10).await.unwrap();
    let mut said: Vec<(&str, &str)> = log.iter().map(|action| (action.who.as_str(), action.what.as_str())).collect();
    said.sort_unstable();
    assert_eq!(said, [("run", "cancel"), ("run", "queue"), ("run", "queue")]);
}

#[tokio::test]
async fn a_text_that_is_not_a_plan_for_a_board_is_refused_with_its_reason() {
    let lab = Lab::new().await;
    for (body, code) in [
        (json!({ "boards": ["pi"], "plan_name": "x", "plan": "a mistake" }), "server.plan-refused"),
        (json!({ "boards": [], "plan_name": "x", "plan": "" }), "server.body"),
        (json!({ "boards": ["pi"], "plan_name": "x", "plan": "", "attempts_max": 0 }), "server.body"),
        (json!({ "boards": ["pi"] }), "server.body"),
    ] {
        let answer = send(&lab, Method::POST, "/api/v1/jobs", None, Some(body)).await;
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(document(answer).await["code"], code);
    }
    let large = json!({ "boards": ["pi"], "plan_name": "x", "plan": "#".repeat(100_000) });
    let answer = send(&lab, Method::POST, "/api/v1/jobs", None, Some(large)).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    for count in ["0", "1001", "x"] {
        let answer = lab.api(&format!("/api/v1/jobs?count={count}")).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{count}");
    }
}

async fn push(lab: &Lab, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut request = lab.request(Method::POST, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    lab.send_whole(request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn a_signed_message_queues_its_plan_once_without_a_token() {
    let lab = Lab::with_tokens(&[Role::Read]).await;
    lab.site.store().add_trigger(&trigger("{kernel}"), "me").await.unwrap();
    let hook = "/api/v1/hooks/kernels";
    let body = r#"{"ref":"refs/heads/main","after":"0a1b2c3d"}"#;
    let signed = signature("key", body.as_bytes());
    let taken = push(&lab, hook, &[("x-hub-signature-256", &signed)], body).await;
    assert_eq!(taken.status(), StatusCode::ACCEPTED);
    let first = document(taken).await;
    let again = push(&lab, hook, &[("x-hub-signature-256", &signed)], body).await;
    assert_eq!(again.status(), StatusCode::OK);
    let again = document(again).await;
    assert_eq!((&again["jobs"], &again["repeated"]), (&first["jobs"], &true.into()));
    let job = lab.site.store().job(first["jobs"][0].as_str().unwrap()).await.unwrap().unwrap();
    assert_eq!((job.plan.as_str(), job.because.as_str()), ("0a1b2c3d", "webhook kernels"));
    let by_token = push(&lab, hook, &[("x-gitlab-token", "key")], r#"{"kernel":"6.13.1"}"#).await;
    assert_eq!(by_token.status(), StatusCode::ACCEPTED);
    let ping = "{}";
    let headers = [("x-hub-signature-256", &*signature("key", ping.as_bytes())), ("x-github-event", "ping")];
    assert_eq!(document(push(&lab, hook, &headers, ping).await).await["ignored"], "a ping");
    assert_eq!(lab.site.store().jobs(10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_message_without_the_secret_queues_nothing_and_may_not_guess() {
    let lab = Lab::new().await;
    lab.site.store().add_trigger(&trigger("{kernel}"), "me").await.unwrap();
    let body = r#"{"kernel":"6.13.1"}"#;
    let wrong = signature("kez", body.as_bytes());
    for (path, headers) in [
        ("/api/v1/hooks/kernels", vec![]),
        ("/api/v1/hooks/kernels", vec![("x-hub-signature-256", wrong.as_str())]),
        ("/api/v1/hooks/kernels", vec![("x-gitlab-token", "kez")]),
        ("/api/v1/hooks/nowhere", vec![("x-gitlab-token", "key")]),
    ] {
        let answer = push(&lab, path, &headers, body).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(document(answer).await["code"], "server.not-signed");
    }
    let mut last = StatusCode::UNAUTHORIZED;
    for _ in 0..20 {
        last = push(&lab, "/api/v1/hooks/kernels", &[("x-gitlab-token", "kez")], body).await.status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let large = "x".repeat(5 << 20);
    assert_eq!(push(&lab, "/api/v1/hooks/kernels", &[], &large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(lab.site.store().jobs(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_button_of_the_board_queues_the_kernels_around_a_change() {
    let lab = Lab::of_a_year().await;
    let store = lab.site.store();
    let mut all = store.changes(None).await.unwrap();
    if all.is_empty() {
        for scenario in store.scenario_keys().await.unwrap() {
            store.find_changes(&scenario, 1).await.unwrap();
        }
        all = store.changes(None).await.unwrap();
    }
    let mut of_pi = Vec::new();
    for change in all {
        if store.change(&change.change).await.unwrap().unwrap().1 == "pi-4" {
            of_pi.push(change);
        }
    }
    let by_kernel = |change: &&store::changes::Change| {
        change.differences.iter().any(|difference| difference.b.as_deref() == Some("6.12.8-rt5"))
    };
    let change = of_pi.iter().find(by_kernel).expect("the step of pi-4");
    let path = format!("/api/v1/changes/{}/backfill", change.change);
    let nothing = send(&lab, Method::POST, &path, None, None).await;
    assert_eq!(
        (nothing.status(), &document(nothing).await["code"]),
        (StatusCode::CONFLICT, &"server.nothing-between".into())
    );
    store.add_trigger(&trigger("{kernel}"), "me").await.unwrap();
    let board = text(lab.page(&format!("/boards/pi-4?scenario={}", change.scenario)).await).await;
    assert!(board.contains("Measure 2 kernels between"), "{board}");
    let queued = send(&lab, Method::POST, &path, None, None).await;
    assert_eq!(queued.status(), StatusCode::CREATED);
    let kernels: Vec<String> =
        document(queued).await.as_array().unwrap().iter().map(|job| job["kernel"].as_str().unwrap().into()).collect();
    assert_eq!(kernels, ["6.9.1-rt1", "6.11.2-rt4"]);
    let pressed = lab.request(Method::POST, &format!("/backfill/{}", change.change)).header("accept", "text/html");
    assert_eq!(lab.send(pressed).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(store.jobs(10).await.unwrap().len(), 2, "they wait already");
    let page = text(lab.page("/queue").await).await;
    assert!(page.contains("2 waiting") && page.contains("6.9.1-rt1") && page.contains("<p class=\"empty\">"), "{page}");
    let unknown = send(&lab, Method::POST, "/api/v1/changes/x/backfill", None, None).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_reader_sees_the_queue_and_no_buttons() {
    let lab = Lab::with_tokens(&[Role::Read, Role::Run]).await;
    let plan = json!({ "boards": ["<b>pi"], "plan_name": "<i>smoke", "plan": "x" });
    send(&lab, Method::POST, "/api/v1/jobs", Some(Role::Run), Some(plan)).await;
    lab.site.store().heartbeat("<s>worker", &["pi".into()], "0.1", 5).await.unwrap();
    let as_role = |role| {
        lab.request(Method::GET, "/queue").header("accept", "text/html").header("authorization", lab.bearer(role))
    };
    let page = text(lab.send(as_role(Role::Read)).await).await;
    assert!(
        page.contains("&lt;i&gt;smoke") && !page.contains("<i>") && !page.contains("<b>pi") && !page.contains("<s>")
    );
    assert!(page.contains("silent") && !page.contains("/cancel"), "{page}");
    assert!(text(lab.send(as_role(Role::Run)).await).await.contains("/cancel"));
}

/// The row of a job on the page of the queue.
async fn row(lab: &Lab, job: &str) -> String {
    let page = text(lab.page("/queue").await).await;
    page.split(&format!("id=\"job-{job}\"")).nth(1).unwrap().split("</tr>").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_done_leads_to_its_runs_with_their_states_and_is_not_good_itself() {
    let lab = Lab::of_a_year().await;
    let store = lab.site.store();
    let fleet = store.fleet().await.unwrap();
    let of = |board: &str| fleet.rows.iter().find(|row| row.newest.board == board).unwrap().newest.clone();
    let (bad, undecided) = (of("imx8mp-evk"), of("old-atom"));
    store.queue(&nightly("pi"), 1).await.unwrap();
    let claim = store.claim("bench", &["pi".to_owned()], Duration::from_secs(60), 2).await.unwrap().unwrap();
    let runs = vec![bad.digest.clone(), undecided.digest.clone()];
    assert!(store.end(&claim, &Ended::Done { runs, message: "not enough data".into() }, 3).await.unwrap());
    let shown = row(&lab, &claim.job.job).await;
    assert!(
        shown.contains("data-state=\"undecided\">done</span>") && !shown.contains("data-state=\"good\""),
        "{shown}"
    );
    for run in [&bad, &undecided] {
        let link = format!("data-state=\"{0}\" href=\"/runs/{1}\"", run.standing.word(), run.digest);
        assert!(shown.contains(&link), "{link}: {shown}");
    }
    assert!(shown.contains("title=\"no limit\""), "why it is undecided: {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_leads_to_its_live_page_with_the_time_left_and_a_board_without_a_worker_is_marked() {
    let lab = Lab::new().await;
    let store = lab.site.store();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    store.queue(&nightly("pi"), now).await.unwrap();
    let waiting = store.queue(&nightly("nosuchboard"), now).await.unwrap();
    let claim = store.claim("bench", &["pi".to_owned()], Duration::from_secs(60), now).await.unwrap().unwrap();
    let directory = job_directory(lab.directory.path(), &claim.job.job).join("01");
    let mut run = Growing::start(&directory, "pi", now);
    run.grow(1000, None);
    server::add_new_archives(&lab.site).await;
    let shown = row(&lab, &claim.job.job).await;
    let address = shown.split("href=\"/live/").nth(1).unwrap_or_else(|| panic!("{shown}")).split('"').next().unwrap();
    for path in [format!("/live/{address}"), "/live".to_owned()] {
        let live = text(lab.page(&path).await).await;
        assert!(live.contains("<progress max=") && live.contains(" left of "), "{path}: {live}");
    }
    assert!(row(&lab, &waiting.job).await.contains("class=\"mark\""));
}
