//! Checks of every request: host, token, role, origin, size, rate, time; and the headers of every answer.

mod lab;

use axum::http::{Method, StatusCode};
use lab::{Lab, text};
use server::access::Role;

#[tokio::test]
async fn a_lab_without_runs_shows_how_to_fill_it() {
    let lab = Lab::new().await;
    let answer = lab.page("/").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let page = text(answer).await;
    assert!(page.contains("No run yet") && page.contains("<bdi>--duration</bdi> <bdi>30s</bdi>"), "{page}");
}

#[tokio::test]
async fn every_answer_forbids_what_the_pages_do_not_need() {
    let lab = Lab::new().await;
    for path in ["/", "/nowhere", "/api/v1/health", "/api/v1/nowhere", "/assets/lab.js", "/login"] {
        let answer = lab.page(path).await;
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let policy = header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("http"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options").as_deref(), Some("nosniff"), "{path}");
        assert_eq!(header("x-frame-options").as_deref(), Some("DENY"), "{path}");
        assert_eq!(header("referrer-policy").as_deref(), Some("no-referrer"), "{path}");
        assert!(header("cache-control").is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_foreign_host_gets_nothing() {
    let lab = Lab::new().await;
    for path in ["/", "/api/v1/health", "/login", "/assets/lab.js"] {
        let request = lab.request(Method::GET, path).header("host", "evil.example:8700");
        let answer = lab.send(request).await;
        assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST, "{path}");
        let document: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
        assert_eq!(document["code"], "server.host-not-served");
        assert!(document["fix"].as_str().unwrap().contains("--host"), "{document}");
    }
}

#[tokio::test]
async fn errors_are_problem_documents_for_programs_and_pages_for_people() {
    let lab = Lab::new().await;
    let answer = lab.api("/api/v1/nowhere").await;
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let document: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
    assert_eq!(document["type"], "urn:tardy:problem:server.no-such-page");
    assert_eq!((&document["status"], &document["title"]), (&404.into(), &"Not Found".into()));
    let answer = lab.page("/%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    assert_eq!(answer.headers()["content-type"], "text/html; charset=utf-8");
    let page = text(answer).await;
    assert!(page.contains("server.no-such-page") && !page.contains("<script>alert"), "{page}");
    let answer = lab.send(lab.request(Method::DELETE, "/api/v1/health").header("accept", "*/*")).await;
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(text(answer).await.contains("server.method"));
}

#[tokio::test]
async fn without_a_token_a_lab_with_tokens_shows_its_login_and_nothing_else() {
    let lab = Lab::with_tokens(&[Role::Read]).await;
    let answer = lab.page("/").await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    let page = text(answer).await;
    assert!(page.contains("name=\"token\"") && !page.contains("No run yet"), "{page}");
    for path in ["/api/v1/health", "/api/v1/openapi.json", "/nowhere"] {
        let answer = lab.api(path).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    }
    assert_eq!(lab.page("/login").await.status(), StatusCode::OK);
    assert_eq!(lab.page("/assets/lab.css").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn wrong_tokens_are_refused_and_limited() {
    let lab = Lab::with_tokens(&[Role::Read]).await;
    for wrong in ["", "tardy-", "tardy-00", &"x".repeat(5000)] {
        let request = lab.request(Method::GET, "/api/v1/health").header("authorization", format!("Bearer {wrong}"));
        assert_eq!(lab.send(request).await.status(), StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let mut last = StatusCode::OK;
    for _ in 0..20 {
        let request = lab.request(Method::GET, "/api/v1/health").header("authorization", "Bearer guess");
        last = lab.send(request).await.status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let right = lab.request(Method::GET, "/api/v1/health").header("authorization", lab.bearer(Role::Read));
    assert_eq!(lab.send(right).await.status(), StatusCode::OK, "a holder is not locked out by a guesser");
}

#[tokio::test]
async fn a_login_gives_a_cookie_that_no_script_reads_and_no_other_site_sends() {
    let lab = Lab::with_tokens(&[Role::Read]).await;
    let form = |body: String| {
        lab.request(Method::POST, "/login")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.into())
    };
    let answer = lab.send_whole(form("token=wrong&then=/".into()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert!(answer.headers().get("set-cookie").is_none());
    assert!(text(answer).await.contains("server.token-unknown"));
    let answer = lab.send_whole(form(format!("token={}&then=//evil.example", lab.token(Role::Read))).unwrap()).await;
    assert_eq!((answer.status(), answer.headers()["location"].to_str().unwrap()), (StatusCode::SEE_OTHER, "/"));
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let kept = cookie.split(';').next().unwrap();
    let answer = lab.send(lab.request(Method::GET, "/").header("cookie", kept).header("accept", "text/html")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(text(answer).await.contains("Log out"));
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let lab = Lab::new().await;
    for (name, value) in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let answer = lab.send(lab.request(Method::POST, "/logout").header(name, value)).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{name}: {value}");
        assert!(text(answer).await.contains("server.other-site"));
    }
    let own = lab.request(Method::POST, "/logout").header("origin", "http://127.0.0.1:8700");
    assert_eq!(lab.send(own).await.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_with_and_without_its_length() {
    let lab = Lab::new().await;
    let long = format!("token={}", "x".repeat(70 << 10));
    let form = lab.request(Method::POST, "/login").header("content-type", "application/x-www-form-urlencoded");
    let declared = form.header("content-length", long.len()).body(long.clone().into()).unwrap();
    let form = lab.request(Method::POST, "/login").header("content-type", "application/x-www-form-urlencoded");
    let undeclared = form.body(long.into()).unwrap();
    for request in [declared, undeclared] {
        let answer = lab.send_whole(request).await;
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(text(answer).await.contains("65536 bytes"));
    }
}

#[tokio::test]
async fn an_address_that_sends_too_many_requests_waits() {
    let lab = Lab::new().await;
    let mut refused = None;
    for _ in 0..400 {
        let answer = lab.api("/api/v1/health").await;
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("400 requests at once are refused at some point");
    assert_eq!(refused.headers()["retry-after"], "1");
}
