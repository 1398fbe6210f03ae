//! Who sends a request: the token in its `Authorization` header or in the cookie of the login page, or the user of a proxy.

use super::proxy::Proxy;
use crate::access::{Role, Tokens};
use crate::api::hooks::HOOKS;
use crate::desk::Entrance;
use crate::problem::Refusal;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, header};
use std::net::IpAddr;

/// Cookie of the login page.
const COOKIE: &str = "tardy-token";
/// Cookie of a browser at a desk, before its port. A browser sends a cookie to each port of a host: a login at a lab and every desk
/// have their own, and replace no other.
const COOKIE_OF_DESK: &str = "tardy-desk";
/// How long a browser keeps it, in s.
const COOKIE_AGE_S: u32 = 90 * 24 * 3600;
/// Pages for everyone: without them nobody could log in, and a webhook checks a signature instead.
const PUBLIC: [&str; 3] = ["/login", "/assets/", HOOKS];
/// The same at a desk, which has no logins and takes no webhooks.
const PUBLIC_AT_DESK: [&str; 2] = ["/enter/", "/assets/"];
/// Parts for administrators only.
const OF_ADMIN: [&str; 2] = ["/api/v1/admin/", "/changes/"];

/// The sender of a request, and whether tokens are in use at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub role: Option<Role>,
    /// Name of the token, or of the user of a proxy.
    pub name: Option<String>,
    pub by_cookie: bool,
    /// Pages lead to the desk.
    pub at_desk: bool,
}

impl Identity {
    /// For the audit log. Without tokens everyone on this machine has one name.
    pub fn who(&self) -> &str {
        self.name.as_deref().unwrap_or("anyone on this machine")
    }

    /// Whether pages offer to queue and cancel measurements.
    pub fn may_run(&self) -> bool {
        self.role >= Some(Role::Run)
    }

    /// Whether pages offer what an administrator may change.
    pub fn is_admin(&self) -> bool {
        self.role == Some(Role::Admin)
    }
}

/// The sender of a request. Without tokens and proxy it may do everything: the server then listens on loopback only. A token
/// counts more than what the proxy says.
///
/// # Errors
/// If the request has a token that is not known, no login where one is needed, or one that the proxy did not make.
pub fn of(
    request: &Request,
    tokens: &Tokens,
    proxy: Option<&Proxy>,
    peer: Option<IpAddr>,
) -> Result<Identity, Refusal> {
    let user = proxy.map(|proxy| proxy.user_of(request.headers(), peer)).transpose()?.flatten();
    if let Some((name, role)) = user.filter(|_| bearer(request.headers()).is_none()) {
        return Ok(Identity { role: Some(role), name: Some(name), ..Identity::default() });
    }
    if tokens.is_empty() && proxy.is_none() {
        return Ok(Identity { role: Some(Role::Admin), ..Identity::default() });
    }
    let (token, by_cookie) = match (bearer(request.headers()), from_cookie(request.headers(), COOKIE)) {
        (Some(token), _) => (token, false),
        (None, Some(token)) => (token, true),
        (None, None) => return Err(Refusal::TokenMissing),
    };
    let holder = tokens.holder(token).ok_or(Refusal::TokenUnknown)?;
    Ok(Identity { role: Some(holder.role), name: Some(holder.name), by_cookie, at_desk: false })
}

/// The browser of a desk, which may do everything there.
///
/// # Errors
/// If it was not let in.
pub fn at_desk(request: &Request, entrance: &Entrance) -> Result<Identity, Refusal> {
    let presented = from_cookie(request.headers(), &name_of_desk(request.headers())).ok_or(Refusal::NotEntered)?;
    if !entrance.knows(presented) {
        return Err(Refusal::NotEntered);
    }
    Ok(Identity { role: Some(Role::Admin), at_desk: true, ..Identity::default() })
}

/// Whether everyone may see this at a desk.
pub fn is_public_at_desk(path: &str) -> bool {
    PUBLIC_AT_DESK.iter().any(|public| path.starts_with(public))
}

pub fn is_public(path: &str) -> bool {
    PUBLIC.iter().any(|public| path == *public || (public.ends_with('/') && path.starts_with(public)))
}

/// The role that a request needs.
pub fn needed(method: &Method, path: &str) -> Role {
    if OF_ADMIN.iter().any(|place| path.starts_with(place)) {
        Role::Admin
    } else if [Method::GET, Method::HEAD, Method::OPTIONS].contains(method) || path == "/logout" {
        Role::Read
    } else {
        Role::Run
    }
}

/// The `Set-Cookie` of a login. Scripts cannot read it, and other sites cannot make the browser send it.
pub fn cookie(token: &str, by_https: bool) -> String {
    let secure = if by_https { "; Secure" } else { "" };
    format!("{COOKIE}={token}; Path=/; Max-Age={COOKIE_AGE_S}; HttpOnly; SameSite=Strict{secure}")
}

/// The `Set-Cookie` of a browser at a desk, until the browser ends.
pub fn cookie_of_desk(headers: &HeaderMap, secret: &str) -> String {
    format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict", name_of_desk(headers))
}

/// The name of the cookie of the desk at the port that was asked.
fn name_of_desk(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    port.map_or_else(|| COOKIE_OF_DESK.to_owned(), |port| format!("{COOKIE_OF_DESK}-{port}"))
}

/// The `Set-Cookie` that ends it.
pub fn no_cookie() -> String {
    format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn from_cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, value)| *name == wanted && !value.is_empty()).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_needs_the_role_read_and_changing_more() {
        assert_eq!(needed(&Method::GET, "/api/v1/fleet"), Role::Read);
        assert_eq!(needed(&Method::GET, "/api/v1/admin/actions"), Role::Admin);
        assert_eq!(needed(&Method::POST, "/changes/x/triage"), Role::Admin);
        assert_eq!(needed(&Method::POST, "/api/v1/jobs"), Role::Run);
        assert_eq!(needed(&Method::DELETE, "/api/v1/admin/x"), Role::Admin);
    }

    #[test]
    fn only_login_assets_and_webhooks_are_public() {
        assert!(is_public("/login") && is_public("/assets/lab.css"));
        assert!(is_public("/api/v1/hooks/kernels"));
        for path in ["/", "/login/x", "/loginx", "/assets", "/api/v1/fleet", "/api/v1/openapi.json"] {
            assert!(!is_public(path), "{path}");
        }
    }

    #[test]
    fn the_desk_of_each_port_has_its_own_cookie() {
        let name = |host: &str| name_of_desk(&[(header::HOST, host.parse().unwrap())].into_iter().collect());
        assert_eq!(name("127.0.0.1:8701"), "tardy-desk-8701");
        assert_eq!(name("[::1]:8702"), "tardy-desk-8702");
        for without in ["localhost", "[::1]", "localhost:x;y"] {
            assert_eq!(name(without), "tardy-desk", "{without}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; tardy-token=xyz; c=d".parse().unwrap());
        assert_eq!(from_cookie(&headers, COOKIE), Some("xyz"));
        headers.insert(header::COOKIE, "not-tardy-token=xyz; tardy-token=".parse().unwrap());
        assert_eq!(from_cookie(&headers, COOKIE), None);
    }
}
