//! Logins of a proxy: believed of its address alone, with the role of the user's groups, and in the log of actions.

mod lab;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use lab::{Lab, text};
use server::access::Role;
use server::{Proxy, ProxyError};

/// Requests of this lab come from 127.0.0.1.
async fn lab_behind(address: [u8; 4]) -> Lab {
    let roles = ["admins=admin", "lab=run", "*=read"].map(str::to_owned);
    let proxy: Result<Proxy, ProxyError> = Proxy::parse(address.into(), "X-User", Some("X-Groups"), &roles);
    Lab::with_proxy(&[Role::Read], proxy.unwrap()).await
}

async fn queued(lab: &Lab, headers: &[(&str, &str)]) -> Response {
    let mut request = lab.request(Method::POST, "/api/v1/jobs").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let plan = r#"{ "boards": ["pi"], "plan_name": "smoke", "plan": "x" }"#;
    lab.send_whole(request.body(Body::from(plan)).unwrap()).await
}

async fn code(answer: Response) -> String {
    let document: serde_json::Value = serde_json::from_str(&text(answer).await).unwrap();
    document["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_of_the_proxy_has_the_role_of_the_groups_and_is_in_the_log() {
    let lab = lab_behind([127, 0, 0, 1]).await;
    let reader = queued(&lab, &[("x-user", "eve"), ("x-groups", "guests")]).await;
    assert_eq!((reader.status(), code(reader).await.as_str()), (StatusCode::FORBIDDEN, "server.role-too-low"));
    assert_eq!(queued(&lab, &[("x-user", "ada"), ("x-groups", "guests, lab")]).await.status(), StatusCode::CREATED);
    let page = lab.request(Method::GET, "/queue").header("accept", "text/html").header("x-user", "ada");
    assert!(text(lab.send(page).await).await.contains("<bdi>ada</bdi> (read)"));
    let log = lab.request(Method::GET, "/api/v1/admin/actions").header("x-user", "root").header("x-groups", "admins");
    let log = text(lab.send(log).await).await;
    assert!(log.contains("\"who\":\"ada\"") && !log.contains("eve"), "{log}");
}

#[tokio::test]
async fn another_address_cannot_name_a_user_and_a_token_counts_there() {
    let lab = lab_behind([10, 0, 0, 2]).await;
    for headers in [&[("x-user", "ada"), ("x-groups", "admins")][..], &[("x-groups", "admins")]] {
        let answer = queued(&lab, headers).await;
        assert_eq!((answer.status(), code(answer).await.as_str()), (StatusCode::FORBIDDEN, "server.not-the-proxy"));
    }
    assert_eq!(code(queued(&lab, &[]).await).await, "server.token-missing");
    let read = lab.request(Method::GET, "/api/v1/fleet").header("authorization", lab.bearer(Role::Read));
    assert_eq!(lab.send(read).await.status(), StatusCode::OK);
    assert!(lab.site.store().jobs(1).await.unwrap().is_empty());
}

#[tokio::test]
async fn two_users_are_none() {
    let lab = lab_behind([127, 0, 0, 1]).await;
    let both = queued(&lab, &[("x-user", "ada"), ("x-user", "root"), ("x-groups", "admins")]).await;
    assert_eq!((both.status(), code(both).await.as_str()), (StatusCode::BAD_REQUEST, "server.proxy-headers"));
}

#[tokio::test]
async fn limits_of_rate_count_the_clients_of_a_proxy_that_names_them() {
    let proxy = Proxy::parse([127, 0, 0, 1].into(), "X-User", None, &[]).unwrap();
    let proxy = proxy.with_client("X-Forwarded-For").unwrap();
    let limits = server::Limits { requests_at_once: 3, requests_per_s: 1, ..server::Limits::default() };
    let lab = Lab::set_up(&[Role::Read], limits, Some(proxy)).await;
    let mut of_one = Vec::new();
    for client in ["192.0.2.1"; 5].into_iter().chain(["192.0.2.2"]) {
        let request = lab.request(Method::GET, "/api/v1/fleet").header("x-user", "ada");
        // What the client claims counts for nothing: it cannot choose another address for each request.
        let claimed = format!("203.0.113.{}, {client}", of_one.len());
        of_one.push(lab.send(request.header("x-forwarded-for", claimed)).await.status());
    }
    assert_eq!(of_one[..3], [StatusCode::OK; 3]);
    assert!(of_one[3..5].contains(&StatusCode::TOO_MANY_REQUESTS), "{of_one:?}");
    assert_eq!(of_one[5], StatusCode::OK, "another client");
}
