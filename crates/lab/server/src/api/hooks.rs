//! Webhooks: a forge or a build server says that there is a new kernel, and its plan is queued.

use crate::guard::{Peer, is_signed};
use crate::problem::{ProblemDocument, Refusal};
use crate::site::Site;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Instant;
use store::queue::plan_kernel::is_kernel_name;
use store::queue::{Delivery, Trigger};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Addresses of webhooks begin with it.
pub const HOOKS: &str = "/api/v1/hooks/";
/// Largest message: a push of GitHub names up to 2048 commits.
pub const BYTES_MAX: usize = 4 << 20;
/// When a sender whose trigger has too many jobs tries again.
const FULL_WAIT_S: u64 = 600;

pub fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::new().routes(routes!(hook)).layer(DefaultBodyLimit::max(BYTES_MAX))
}

/// The parts of a message that count. GitHub, Gitea, Forgejo and GitLab have `ref` and `after`; other senders name a kernel.
#[derive(Debug, Deserialize)]
struct Message {
    kernel: Option<String>,
    after: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

/// The effect of a message.
#[derive(Debug, Serialize, ToSchema)]
struct Taken {
    /// Names of the jobs that it queued.
    jobs: Vec<String>,
    /// It came before, and queued them then.
    repeated: bool,
    /// Why it queues nothing, if it does not.
    ignored: Option<String>,
}

/// Queue the plan of a trigger. The message is signed with the secret of the trigger, or GitLab repeats it
#[utoipa::path(
    post, path = "/api/v1/hooks/{trigger}", request_body(content = String, content_type = "application/json"),
    params(
        ("trigger" = String, Path, description = "Name of the trigger"),
        ("X-Hub-Signature-256" = Option<String>, Header, description = "`sha256=` and the HMAC of the body with SHA-256, in hexadecimal"),
        ("X-Gitlab-Token" = Option<String>, Header, description = "The secret, as GitLab sends it")
    ),
    responses(
        (status = 200, body = Taken, description = "It came before, or there is nothing to queue"),
        (status = 202, body = Taken, description = "Its jobs are queued"),
        (status = 401, body = ProblemDocument, description = "No such webhook, or not signed with its secret"),
        (status = 413, body = ProblemDocument), (status = 422, body = ProblemDocument),
        (status = 429, body = ProblemDocument, description = "Too many jobs of this trigger wait, or too many messages from this address")
    )
)]
async fn hook(
    State(site): State<Arc<Site>>,
    peer: Option<Extension<Peer>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Taken>), Refusal> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge { bytes_max: BYTES_MAX as u64 },
        _ => Refusal::Body(rejection.body_text()),
    })?;
    let found = site.store().trigger(&name).await.map_err(Refusal::of_store)?;
    // Which webhooks exist is nothing that a stranger should find out.
    let signed = found.and_then(|(trigger, secret)| secret.map(|secret| (trigger, secret)));
    let Some((trigger, _)) = signed.filter(|(_, secret)| is_signed(&headers, secret, &body)) else {
        if let Some(Extension(peer)) = peer {
            site.rates().wrong_token(peer.0, Instant::now(), site.limits())?;
        }
        return Err(Refusal::NotSigned);
    };
    if headers.get("x-github-event").is_some_and(|event| event == "ping") {
        return Ok(ignored("a ping"));
    }
    let message: Message = serde_json::from_slice(&body).map_err(|error| Refusal::Body(error.to_string()))?;
    let kernel = match of_trigger(&trigger, &message) {
        Ok(kernel) => kernel,
        Err(because) => return Ok(ignored(because)),
    };
    let now = site.store().now_unix_ns().await.map_err(Refusal::of_store)?;
    let digest: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
    let delivery = site.store().deliver(&trigger, &digest, kernel, now).await.map_err(Refusal::of_store)?;
    match delivery {
        Delivery::Queued(jobs) => Ok((StatusCode::ACCEPTED, Json(Taken { jobs, repeated: false, ignored: None }))),
        Delivery::Repeated(jobs) => Ok((StatusCode::OK, Json(Taken { jobs, repeated: true, ignored: None }))),
        Delivery::Full => Err(Refusal::TooMany { wait_s: FULL_WAIT_S }),
    }
}

fn ignored(because: &str) -> (StatusCode, Json<Taken>) {
    (StatusCode::OK, Json(Taken { jobs: Vec::new(), repeated: false, ignored: Some(because.into()) }))
}

/// The kernel that a message names for a trigger, or why it queues nothing.
fn of_trigger<'a>(trigger: &Trigger, message: &'a Message) -> Result<Option<&'a str>, &'static str> {
    if let Some(branch) = &trigger.branch {
        match message.reference.as_deref() {
            Some(reference) if reference != format!("refs/heads/{branch}") => return Err("a push to another branch"),
            None if message.kernel.is_none() => return Err("it names no branch"),
            _ => {}
        }
    }
    match message.kernel.as_deref().or(message.after.as_deref()) {
        Some(commit) if message.kernel.is_none() && commit.bytes().all(|byte| byte == b'0') => {
            Err("the branch was removed")
        }
        Some(kernel) if is_kernel_name(kernel) => Ok(Some(kernel)),
        Some(_) => Err("the name of its kernel has other characters than letters, digits and ._+~-"),
        None if trigger.plan.contains(store::queue::plan_kernel::KERNEL) => Err("it names no kernel"),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trigger(plan: &str, branch: Option<&str>) -> Trigger {
        Trigger {
            name: "hook".into(),
            boards: vec!["pi".into()],
            plan_name: "plan".into(),
            plan: plan.into(),
            kernels: Vec::new(),
            priority: 0,
            attempts_max: 3,
            every_ns: None,
            next_unix_ns: None,
            webhook: true,
            branch: branch.map(str::to_owned),
            created_by: "me".into(),
            created_unix_ns: 0,
        }
    }

    #[test]
    fn a_push_names_its_commit_and_other_senders_their_kernel() {
        let read = |json: &str| serde_json::from_str::<Message>(json).unwrap();
        let (any, main) = (trigger("{kernel}", None), trigger("x", Some("main")));
        let push = read(r#"{"ref":"refs/heads/main","after":"0a1b"}"#);
        assert_eq!(of_trigger(&any, &push), Ok(Some("0a1b")));
        assert_eq!(of_trigger(&main, &push), Ok(Some("0a1b")));
        assert!(of_trigger(&main, &read(r#"{"ref":"refs/heads/other","after":"0a1b"}"#)).is_err());
        assert!(of_trigger(&main, &read(r#"{"after":"0a1b"}"#)).is_err());
        assert_eq!(of_trigger(&main, &read(r#"{"kernel":"6.1.5"}"#)), Ok(Some("6.1.5")), "no push at all");
        assert!(of_trigger(&any, &read(r#"{"after":"0000000000"}"#)).is_err());
        assert_eq!(of_trigger(&any, &read(r#"{"kernel":"6.1.5","after":"0a1b"}"#)), Ok(Some("6.1.5")));
        assert!(of_trigger(&any, &read(r#"{"kernel":"x\"]"}"#)).is_err());
        assert!(of_trigger(&any, &read("{}")).is_err());
        assert_eq!(of_trigger(&trigger("x", None), &read("{}")), Ok(None));
    }
}
