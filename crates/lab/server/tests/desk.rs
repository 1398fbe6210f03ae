//! The page of a desk: who sees it, what it shows, and what a browser may ask for.

mod lab;

use account::ranking::{Delayer, DelayerKind};
use archive::culprit::Culprit;
use axum::http::{Method, StatusCode};
use judge::uses::{Standing, Use, UseJudgement};
use lab::{Lab, text};
use server::access::Role;
use server::desk::{
    Change, CheckedSetting, Checks, Desk, DeskAccess, DeskCause, DeskReport, DeskSpike, DeskState, Entrance,
    ShareError, Stage,
};
use std::sync::{Arc, Mutex};

const HOSTILE: &str = "</script><script>alert(1)</script>";

/// A desk that remembers what it was asked for.
struct Recorded {
    state: Arc<DeskState>,
    asked: Mutex<Vec<String>>,
}

impl Desk for Recorded {
    fn state(&self) -> Arc<DeskState> {
        Arc::clone(&self.state)
    }

    fn report_of(&self, _: u32) -> Option<DeskReport> {
        None
    }

    fn change(&self, fingerprint: &str, change: Change) {
        self.asked.lock().unwrap().push(format!("{change:?} {fingerprint}"));
    }

    fn keep(&self, keeps: bool) {
        self.asked.lock().unwrap().push(format!("keep {keeps}"));
    }

    fn share(&self) -> Result<Vec<u8>, ShareError> {
        Ok(b"tar".to_vec())
    }

    fn entered(&self, next: &str) {
        self.asked.lock().unwrap().push(format!("link {next}"));
    }
}

fn state() -> DeskState {
    let judged = |of, standing| UseJudgement {
        of,
        standing,
        samples: 84_000,
        late: 3,
        late_is_exact: true,
        worst_ns: Some(3_000_000),
        measured_ns: 42_000_000_000,
        hours_needed: None,
        confidence: 0.95,
        sentence: "evidence".into(),
    };
    let finding = |fingerprint: &str, is_changed| CheckedSetting {
        fingerprint: fingerprint.into(),
        severity: "warning".into(),
        title: HOSTILE.into(),
        what: HOSTILE.into(),
        reason: "reason".into(),
        fixes: vec![("now".into(), HOSTILE.into())],
        can_change: true,
        is_changed,
        is_changing: false,
        refused: Some(HOSTILE.into()),
    };
    DeskState {
        host: HOSTILE.into(),
        stage: Stage::Measuring,
        uses: vec![judged(Use::Audio128, Standing::TooLate), judged(Use::Klipper, Standing::SoFar)],
        doubts: vec![HOSTILE.into()],
        delayers: vec![Delayer {
            kind: DelayerKind::Program,
            name: HOSTILE.into(),
            culprit: Culprit::OtherRtTask,
            delay_ns: 9_000_000,
            times: 3,
            worst_ns: 4_000_000,
            worst_spike: 7,
            fix: HOSTILE.into(),
        }],
        accounts: 5,
        unexplained: 1,
        pending: 2,
        without_trace: 3,
        unaccounted: 4,
        spikes: vec![DeskSpike { number: 7, cpu: 0, latency_ns: 4_000_000, cause: DeskCause::Known(HOSTILE.into()) }],
        checks: Checks {
            is_known: true,
            command: None,
            problem: None,
            findings: vec![
                finding("aaaaaaaaaaaa", false),
                finding("bbbbbbbbbbbb", true),
                CheckedSetting { is_changing: true, ..finding("dddddddddddd", false) },
            ],
        },
        archive: HOSTILE.into(),
        ..DeskState::default()
    }
}

struct AtDesk {
    lab: Lab,
    desk: Arc<Recorded>,
    secret: String,
}

impl AtDesk {
    async fn new() -> Self {
        let desk = Arc::new(Recorded { state: Arc::new(state()), asked: Mutex::default() });
        let (entrance, secret) = Entrance::new().unwrap();
        let access = DeskAccess { desk: Arc::clone(&desk) as Arc<dyn Desk>, entrance };
        let lab = Lab::described(&[], |lab| lab.desk = Some(access)).await;
        Self { lab, desk, secret }
    }

    async fn enter(&self, secret: &str) -> (StatusCode, Option<String>) {
        let answer = self.lab.page(&format!("/enter/{secret}")).await;
        let cookie = answer.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
        (answer.status(), cookie)
    }

    /// The cookie of a browser that was let in.
    async fn cookie(&self) -> String {
        self.enter(&self.secret).await.1.unwrap().split(';').next().unwrap().to_owned()
    }

    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let mut request = self.lab.request(method, path).header("accept", "text/html");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.lab.send(request).await;
        (answer.status(), text(answer).await)
    }

    fn asked(&self) -> Vec<String> {
        self.desk.asked.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn a_link_lets_one_browser_in_and_nothing_else_does() {
    let desk = AtDesk::new().await;
    for path in ["/desk", "/", "/live", "/api/v1/runs", "/metrics", "/desk/spikes/7", "/login", "/api/v1/hooks/kernels"]
    {
        assert_eq!(desk.ask(Method::GET, path, &[]).await.0, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(desk.enter("tardy-0").await, (StatusCode::UNAUTHORIZED, None));
    let (status, cookie) = desk.enter(&desk.secret).await;
    let cookie = cookie.unwrap();
    assert_eq!(status, StatusCode::OK);
    assert!(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains(&desk.secret), "{cookie}");
    assert_eq!(desk.enter(&desk.secret).await, (StatusCode::UNAUTHORIZED, None), "a second time");
    let sent = cookie.split(';').next().unwrap();
    assert_eq!(desk.ask(Method::GET, "/desk", &[("cookie", sent)]).await.0, StatusCode::OK);
    for wrong in ["tardy-desk=", "tardy-desk=x", &format!("tardy-token={}", &sent["tardy-desk=".len()..])] {
        assert_eq!(desk.ask(Method::GET, "/desk", &[("cookie", wrong)]).await.0, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let next = desk.asked()[0].trim_start_matches("link ").to_owned();
    assert_eq!(desk.enter(&next).await.0, StatusCode::OK, "the next link");
    let foreign = [("cookie", sent), ("host", "evil.example:8700")];
    assert_eq!(desk.ask(Method::GET, "/desk", &foreign).await.0, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_at_a_desk() {
    let desk = AtDesk::new().await;
    let cookie = desk.cookie().await;
    let before = desk.asked();
    for path in ["/desk/findings/aaaaaaaaaaaa/apply", "/desk/findings/bbbbbbbbbbbb/undo", "/desk/keep", "/desk/share"] {
        for foreign in [("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8701")] {
            let answer = desk.ask(Method::POST, path, &[("cookie", &cookie), foreign]).await;
            assert_eq!(answer.0, StatusCode::FORBIDDEN, "{path} {foreign:?}");
        }
        assert_eq!(desk.ask(Method::POST, path, &[]).await.0, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(
            desk.ask(Method::GET, path, &[("cookie", &cookie)]).await.0,
            StatusCode::METHOD_NOT_ALLOWED,
            "{path}"
        );
    }
    assert_eq!(desk.asked(), before);
}

#[tokio::test]
async fn a_browser_changes_what_the_check_found_and_nothing_else() {
    let desk = AtDesk::new().await;
    let cookie = desk.cookie().await;
    let own = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    assert_eq!(desk.ask(Method::POST, "/desk/findings/aaaaaaaaaaaa/apply", &own).await.0, StatusCode::SEE_OTHER);
    assert_eq!(desk.ask(Method::POST, "/desk/findings/bbbbbbbbbbbb/undo", &own).await.0, StatusCode::SEE_OTHER);
    assert_eq!(desk.ask(Method::POST, "/desk/findings/cccccccccccc/apply", &own).await.0, StatusCode::NOT_FOUND);
    assert_eq!(desk.ask(Method::POST, "/desk/keep", &own).await.0, StatusCode::SEE_OTHER);
    assert_eq!(desk.ask(Method::POST, "/desk/share", &own).await, (StatusCode::OK, "tar".into()));
    assert_eq!(desk.asked()[1..], ["Apply aaaaaaaaaaaa", "Undo bbbbbbbbbbbb", "keep true"]);
}

#[tokio::test]
async fn the_page_has_each_figure_and_names_from_the_machine_stay_text() {
    let desk = AtDesk::new().await;
    let cookie = desk.cookie().await;
    let (_, page) = desk.ask(Method::GET, "/desk", &[("cookie", &cookie)]).await;
    assert!(!page.contains("<script>alert"), "{page}");
    for part in [
        "data-use=\"audio-128\" data-standing=\"too-late\"",
        "data-use=\"klipper\" data-standing=\"so-far\"",
        "data-culprit=\"other-rt-task\"",
        "href=\"/desk/spikes/7\"",
        "action=\"/desk/findings/aaaaaaaaaaaa/apply\"",
        "action=\"/desk/findings/bbbbbbbbbbbb/undo\"",
        "http-equiv=\"refresh\"",
        "aria-live=\"polite\"",
    ] {
        assert!(page.contains(part), "{part} in\n{page}");
    }
    for part in ["1 without a known cause", "2 not explained yet", "no trace arrived of 3", "4 more have no account"] {
        assert!(page.contains(part), "{part} in\n{page}");
    }
    assert!(page.contains("data-changing") && !page.contains("dddddddddddd/"), "{page}");
    assert!(!page.contains("bbbbbbbbbbbb/apply") && !page.contains("href=\"/queue\""), "{page}");
}

#[tokio::test]
async fn a_lab_has_no_desk() {
    let lab = Lab::with_tokens(&[Role::Admin]).await;
    for path in ["/desk", "/desk/spikes/1"] {
        let answer = lab.send(lab.request(Method::GET, path).header("authorization", lab.bearer(Role::Admin))).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let secret = Entrance::new().unwrap().1;
    let answer = lab.send(lab.request(Method::GET, &format!("/enter/{secret}"))).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}
