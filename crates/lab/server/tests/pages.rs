//! The pages and the API of a lab with a year of runs: what is planted in it is shown, and hostile names do no harm.

mod lab;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use fixtures::postgres;
use fixtures::year::{self, BOARDS, Kind};
use lab::{Lab, text};
use prerequisites::require;
use serde_json::Value;
use server::access::Role;
use store::changes::Triage;

async fn json(lab: &Lab, path: &str) -> Value {
    let answer = lab.api(path).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    serde_json::from_str(&text(answer).await).unwrap()
}

async fn page(lab: &Lab, path: &str) -> String {
    let answer = lab.page(path).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    text(answer).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_year_show_boards_states_and_what_they_rest_on() {
    let lab = Lab::of_a_year().await;
    let fleet = page(&lab, "/fleet").await;
    for board in BOARDS {
        assert!(fleet.contains(&format!("<bdi>{}</bdi>", board.name)), "{} is in the fleet", board.name);
    }
    let bad = fleet.split("data-board=\"imx8mp-evk\"").nth(1).unwrap().split("</tbody>").next().unwrap();
    assert!(
        bad.contains("data-state=\"bad\">bad</span>")
            && bad.contains("last good")
            && bad.contains("first bad")
            && bad.contains("6.12.19-rt11")
    );
    assert!(bad.contains("irqs-off"), "the reason");
    let steady = fleet.split("data-board=\"rock-5b\"").nth(1).unwrap().split("</tbody>").next().unwrap();
    assert!(!steady.contains("first bad") && steady.contains("data-state=\"held\""), "{steady}");
    every_zero_stands_beside_what_it_is_a_zero_of(&fleet);
    let silent = fleet.split("data-board=\"old-atom\"").nth(1).unwrap().split("</tbody>").next().unwrap();
    assert!(silent.contains("data-state=\"silent\"") && silent.contains("no limit"));
    let culprits = page(&lab, "/culprits").await;
    assert!(culprits.contains("irqs-off") && culprits.contains("not explained"));

    // What an address of a run shows stays: the report, with the way back.
    let runs = json(&lab, "/api/v1/runs?count=1000").await;
    let of_pi = runs.as_array().unwrap().iter().find(|run| run["board"] == "pi-4").unwrap();
    let report = lab.page(&format!("/runs/{}", of_pi["digest"].as_str().unwrap())).await;
    let policy = report.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("script-src 'sha256-") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let report = text(report).await;
    assert!(report.contains("<bdi>pi-4</bdi>: worst wake-up ") && report.contains("href=\"/boards/pi-4\""));

    // The next list continues where the last one ended.
    let first = json(&lab, "/api/v1/runs?count=3").await;
    let last = &first[2];
    let rest = json(
        &lab,
        &format!("/api/v1/runs?count=1&before={}.{}", last["started_unix_ns"], last["digest"].as_str().unwrap()),
    )
    .await;
    assert_eq!(rest[0]["digest"], runs[3]["digest"]);
    hostile_names_do_no_harm(&lab, &fleet).await;
}

async fn hostile_names_do_no_harm(lab: &Lab, fleet: &str) {
    let fleet_data = json(lab, "/api/v1/fleet").await;
    let known: Vec<&str> = BOARDS.iter().map(|board| board.name).collect();
    let names: Vec<String> = fleet_data["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["newest"]["board"].as_str().unwrap().to_owned())
        .collect();
    let names: Vec<&String> = names.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert_eq!(names.len(), year::hostile().len());
    let culprits = page(lab, "/culprits").await;
    let today = page(lab, "/?days=7").await;
    let mut pages = vec![fleet.to_owned(), culprits, today, page(lab, "/?by=kernel").await];
    for name in names {
        let address: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        pages.push(page(lab, &format!("/boards/{address}")).await);
        for name in ["heat", "ridge"] {
            let picture = page(lab, &format!("/boards/{address}/{name}.svg")).await;
            assert!(picture.starts_with("<svg") && picture.contains("<path"), "{picture}");
            assert!(!picture.contains("<img") && !picture.contains("\u{1b}"));
        }
    }
    for page in pages {
        assert!(!page.contains("<img"));
        assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{7}', '\u{0}']));
        assert!(!page.contains("\u{301}\u{301}"), "marks pile up");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_changes_are_found_where_they_are_and_nothing_is_found_elsewhere() {
    let lab = Lab::of_a_year().await;
    for board in BOARDS.iter().filter(|board| board.name != "old-atom") {
        let mut shown = page(&lab, &format!("/boards/{}", board.name)).await;
        // The page shows the rest at once, and loads again until the changes are there.
        for _ in 0..200 {
            if !shown.contains("class=\"pending\"") {
                break;
            }
            assert!(shown.contains("http-equiv=\"refresh\""));
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            shown = page(&lab, &format!("/boards/{}", board.name)).await;
        }
        let changes = shown.matches("class=\"change\"").count();
        let found: Vec<&str> = shown.split("<ins>").skip(1).filter_map(|part| part.split("</ins>").next()).collect();
        match board.kind {
            Kind::Step => {
                assert!(changes >= 1 && shown.contains("6.12.8-rt5</bdi></ins>"), "{}: {:?}", board.name, found)
            }
            Kind::SecondMode => {
                assert!(changes >= 1 && shown.contains("6.14.0-rc3</bdi></ins>"), "{}: {:?}", board.name, found)
            }
            // No kernel brought it, and the page says so instead of naming one.
            Kind::Drift => assert!(changes == 0 && shown.contains("as on a drifting machine"), "{found:?}"),
            Kind::Steady => assert_eq!(changes, 0, "{}: {:?}", board.name, found),
            _ => {}
        }
        assert_eq!(shown.matches("data-triage=\"new\"").count() > 0, changes > 0);
        let drawn = shown.matches("data-part=").count();
        assert!(drawn >= 2 * 52, "{}: a column and a row for each stretch, {drawn}", board.name);
        assert!(!shown.contains("NaN"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_a_change_shows_on_the_next_page() {
    let lab = Lab::of_a_year().await;
    let scenario = lab.site.store().scenarios("pi-4").await.unwrap().remove(0).scenario;
    lab.site.store().find_changes(&scenario, 1).await.unwrap();
    let found = json(&lab, &format!("/api/v1/scenarios/{scenario}/changes")).await;
    let change = found[0]["change"].as_str().unwrap().to_owned();
    assert_eq!(found[0]["triage"], "new");
    let board = format!("/boards/pi-4?scenario={scenario}");
    assert!(!page(&lab, &board).await.contains("data-triage=\"noise\""));
    assert!(lab.site.store().triage(&change, Triage::Noise, "alice").await.unwrap());
    let shown = page(&lab, &board).await;
    assert_eq!(shown.matches("data-triage=\"noise\"").count(), 1, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_decides_on_the_page_or_by_the_api_and_the_log_has_who_it_was() {
    let lab = Lab::with_tokens(&[Role::Read, Role::Run, Role::Admin]).await;
    lab.add_year().await;
    let scenario = lab.site.store().scenarios("pi-4").await.unwrap().remove(0).scenario;
    lab.site.store().find_changes(&scenario, 1).await.unwrap();
    let change = lab.site.store().changes(Some(&scenario)).await.unwrap().remove(0).change;
    let board = format!("/boards/pi-4?scenario={scenario}");
    let shown = async |role: Role| {
        let request = lab.request(Method::GET, &board).header("accept", "text/html");
        text(lab.send(request.header("authorization", lab.bearer(role))).await).await
    };
    assert!(!shown(Role::Run).await.contains("Mark as"), "it may not");
    let before = shown(Role::Admin).await;
    let action = format!("action=\"/changes/{change}/triage\"");
    assert!(before.contains(&action) && before.contains("value=\"known\"") && !before.contains("value=\"new\""));

    let press = async |role: Role, headers: &[(&str, &str)], body: &'static str| {
        let mut request = lab.request(Method::POST, &format!("/changes/{change}/triage"));
        request = request.header("authorization", lab.bearer(role));
        request = request.header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        lab.send_whole(request.body(Body::from(body)).unwrap()).await
    };
    assert_eq!(press(Role::Run, &[], "triage=known").await.status(), StatusCode::FORBIDDEN);
    let foreign = [("origin", "http://evil.example")];
    assert_eq!(press(Role::Admin, &foreign, "triage=known").await.status(), StatusCode::FORBIDDEN);
    assert_eq!(press(Role::Admin, &[], "triage=bad").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(lab.site.store().actions(9).await.unwrap(), []);
    let pressed = press(Role::Admin, &[], "triage=known&days=92").await;
    assert_eq!(pressed.status(), StatusCode::SEE_OTHER);
    assert_eq!(pressed.headers()["location"], format!("/boards/pi-4?scenario={scenario}&days=92#changes"));
    assert!(shown(Role::Admin).await.contains("data-triage=\"known\""));

    let put = async |role: Role, of: &str, body: &'static str| {
        let request = lab.request(Method::PUT, &format!("/api/v1/admin/changes/{of}/triage"));
        let request = request.header("authorization", lab.bearer(role)).header("content-type", "application/json");
        lab.send_whole(request.body(Body::from(body)).unwrap()).await
    };
    let fixed = r#"{"triage": "fixed"}"#;
    assert_eq!(put(Role::Run, &change, fixed).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(put(Role::Admin, "none", fixed).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(put(Role::Admin, &change, "{}").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let answer: Value = serde_json::from_str(&text(put(Role::Admin, &change, fixed).await).await).unwrap();
    assert_eq!((&answer["triage"], &answer["change"]), (&"fixed".into(), &change.as_str().into()));

    let log = async |role: Role| {
        let request = lab.request(Method::GET, "/api/v1/admin/actions").header("accept", "application/json");
        lab.send(request.header("authorization", lab.bearer(role))).await
    };
    assert_eq!(log(Role::Run).await.status(), StatusCode::FORBIDDEN);
    let entries: Value = serde_json::from_str(&text(log(Role::Admin).await).await).unwrap();
    let details: Vec<&str> =
        entries.as_array().unwrap().iter().map(|entry| entry["detail"].as_str().unwrap()).collect();
    assert_eq!(details, ["fixed", "known"]);
    assert!(
        entries.as_array().unwrap().iter().all(|entry| entry["who"] == "admin" && entry["subject"] == change.as_str())
    );
}

#[tokio::test]
async fn wrong_parameters_and_names_are_refused_with_what_to_write() {
    let lab = Lab::new().await;
    for (path, status, code) in [
        ("/?days=0", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/?by=moon", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/news?days=x", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/culprits?days=0", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/culprits?days=x", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/culprits?days=99999999999", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/runs?before=1", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/runs?count=1001", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/scenarios/x/parts?parts=401", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/api/v1/runs/..%2F..%2Fetc%2Fpasswd", StatusCode::NOT_FOUND, "server.no-such-run"),
        ("/runs/x", StatusCode::NOT_FOUND, "server.no-such-run"),
        ("/boards/x", StatusCode::NOT_FOUND, "server.no-such-board"),
        ("/compare?a=1", StatusCode::BAD_REQUEST, "server.parameter"),
        ("/compare?a=1&b=2", StatusCode::NOT_FOUND, "server.no-such-run"),
        ("/api/v1/scenarios/x/history", StatusCode::NOT_FOUND, "server.no-such-board"),
    ] {
        let answer = lab.api(path).await;
        assert_eq!(answer.status(), status, "{path}");
        let document: Value = serde_json::from_str(&text(answer).await).unwrap();
        assert_eq!(document["code"], code, "{path}");
        assert!(!document["fix"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn an_archive_that_cannot_be_read_is_named_on_the_first_page() {
    let lab = Lab::new().await;
    let damaged = lab.directory.path().join("damaged");
    std::fs::create_dir(&damaged).unwrap();
    std::fs::write(damaged.join("manifest.json"), "{}").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", damaged.join("stream.tardy")).unwrap();
    server::add_new_archives(&lab.site).await;
    let fleet = page(&lab, "/").await;
    assert!(fleet.contains("1 archive") && fleet.contains("left out") && fleet.contains("damaged"));
}

#[tokio::test]
async fn a_link_to_an_archive_is_left_out_and_named() {
    let lab = Lab::new().await;
    let elsewhere = tempfile::tempdir().unwrap();
    fixtures::repository::copy(
        &fixtures::repository::repository_path("corpus/archives/v1"),
        &elsewhere.path().join("v1"),
    );
    std::os::unix::fs::symlink(elsewhere.path().join("v1"), lab.directory.path().join("linked")).unwrap();
    server::add_new_archives(&lab.site).await;
    let fleet = page(&lab, "/").await;
    assert!(fleet.contains("left out") && fleet.contains("linked") && fleet.contains("it is a link"), "{fleet}");
    assert_eq!(json(&lab, "/api/v1/runs").await.as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn the_described_api_is_the_served_one_and_the_one_in_the_repository() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi.json");
    let described = server::open_api() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &described).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        described,
        "UPDATE_GOLDEN=1 writes tests/openapi.json"
    );
    let document: Value = serde_json::from_str(&described).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let lab = Lab::new().await;
    assert_eq!(json(&lab, "/api/v1/openapi.json").await, document);
    for (address, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            assert!(described["summary"].is_string(), "{method} {address} has no summary");
        }
        let answer = lab.api(&address.replace(['{', '}'], "x")).await;
        let known = answer.status() == StatusCode::OK || !text(answer).await.contains("server.no-such-page");
        assert!(known, "{address} is described and not served");
    }
}

/// Cells of a column of the fleet.
fn cells<'a>(page: &'a str, column: &str) -> Vec<&'a str> {
    let start = format!("data-name=\"{column}\">");
    page.split(start.as_str()).skip(1).map(|rest| rest.split("</td>").next().unwrap()).collect()
}

fn every_zero_stands_beside_what_it_is_a_zero_of(fleet: &str) {
    let over = cells(fleet, "Over the limit");
    let zeros: Vec<&&str> = over.iter().filter(|cell| cell.starts_with('0')).collect();
    assert!(zeros.len() > 5, "{over:?}");
    assert!(zeros.iter().all(|cell| cell.starts_with("0<span class=\"beside\">of 60 ")), "{zeros:?}");
    let rest: Vec<&&str> = over.iter().filter(|cell| !cell.starts_with('0')).collect();
    assert!(rest.iter().all(|cell| cell.contains(">of ") || cell.contains("no limit")), "{rest:?}");
    let covered = cells(fleet, "On this kernel");
    assert_eq!(covered.len(), over.len());
    assert!(covered.iter().all(|cell| cell.contains(" samples, ") && cell.contains(" run")), "{covered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_experiment_leads_with_the_worst_figure_that_is_proven() {
    shows_experiments(&Lab::of_a_year().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn experiments_are_the_same_with_an_index_in_postgres() {
    require!(Prepared("PostgreSQL's initdb (Debian: postgresql)", postgres::programs().is_some()));
    let server = postgres::Server::start();
    let lab = Lab::with_index(|archives| store::Address::parse(&server.database(), archives).unwrap()).await;
    lab.add_year().await;
    shows_experiments(&lab).await;
}

/// The pages of experiments, and the same as JSON.
async fn shows_experiments(lab: &Lab) {
    let list = page(lab, "/experiments").await;
    assert!(list.contains("B is worse") && list.contains("B is better") && !list.contains("<img"), "{list}");
    let of = |name: &str| {
        let before = list.split(&format!("\"><bdi>{name}")).next().unwrap();
        before.rsplit("href=\"").next().unwrap().to_owned()
    };
    let worse = page(lab, &of("kernels/6.6-6.12")).await;
    let headline = worse.split("class=\"headline\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(headline.contains("B is worse") && headline.contains("p99 "), "{headline}");
    assert!(worse.contains("data-note=\"primary-figure\"") && worse.contains("1 round discarded"), "{worse}");
    assert!(
        worse.contains("6.6.30-rt30</bdi>, preemption ") && worse.contains("6.12.8-rt5</bdi>, preemption "),
        "kernels of the rounds"
    );
    assert_eq!(worse.matches("href=\"/compare?a=").count(), 11, "each round whose runs are in the index");
    let hostile = page(lab, &of("&lt;img")).await;
    assert!(hostile.contains("&lt;b&gt;3 rounds ") && !hostile.contains("<script>alert"), "{hostile}");
    let missing = lab.api("/experiments/0000").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);

    // The same as JSON.
    let all = json(lab, "/api/v1/experiments").await;
    let found = |name: &str| all.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    let (bad, good) = (found("kernels/6.6-6.12"), found("cpuidle"));
    assert_eq!((&bad["outcome"], &bad["worst"], &bad["rounds"]), (&"worse".into(), &"p99".into(), &12.into()), "{bad}");
    assert_eq!((&good["outcome"], &good["worst"]), (&"better".into(), &Value::Null), "{good}");
    assert_eq!(bad["b"]["options"], "--target 6.12.8-rt5");
    let one = json(lab, &format!("/api/v1/experiments/{}", bad["key"].as_str().unwrap())).await;
    assert_eq!((&one["sentence"], &one["void_rounds"]), (&bad["sentence"], &1.into()), "{one}");
    assert!(headline.contains(one["sentence"].as_str().unwrap()), "the page says the same");
    let kernels =
        |side: &str| one["runs"].as_array().unwrap().iter().filter(|round| round[side]["kernel"].is_string()).count();
    assert_eq!((kernels("a"), kernels("b")), (12, 11), "the last run is not in the index");
    assert!(one["result"]["secondary"].as_array().unwrap().len() > 2, "{one}");
    let failed = found("<img src=x onerror=document.title='owned'>");
    assert_eq!(failed["state"], "failed");
    let missing = lab.api("/api/v1/experiments/0000").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert!(text(missing).await.contains("server.no-such-experiment"));
}
