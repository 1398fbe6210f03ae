//! Logins of a proxy in front: who a header says the user is, if the request comes from that proxy.

use crate::access::Role;
use crate::problem::Refusal;
use axum::http::{HeaderMap, HeaderName};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use thiserror::Error;

const USER_BYTES_MAX: usize = 128;
/// The group that every user of the proxy belongs to.
const EVERYONE: &str = "*";

/// A proxy that logs people in, for example with OpenID Connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The only address that may say who a user is.
    pub address: IpAddr,
    /// Header with the name of the user.
    pub user: HeaderName,
    /// Header with the groups of the user, separated by commas.
    pub groups: Option<HeaderName>,
    /// Header to which the proxy appends the address of its client.
    pub client: Option<HeaderName>,
    /// The role of each group; `*` is everyone.
    pub roles: Vec<(String, Role)>,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum ProxyError {
    #[error("{0:?} is not a header name; write it like X-Forwarded-User")]
    Header(String),
    #[error("{0:?} gives no role to a group; write GROUP=ROLE, like lab-admins=admin, or '*=read' for everyone")]
    Role(String),
    #[error("a group other than * needs the header that names groups; give --proxy-groups")]
    NoGroups,
}

impl Proxy {
    /// A proxy as a command line describes it. Without roles, everyone may read.
    ///
    /// # Errors
    /// If a header or a role cannot be read.
    pub fn parse(address: IpAddr, user: &str, groups: Option<&str>, roles: &[String]) -> Result<Self, ProxyError> {
        let header = |name: &str| HeaderName::from_str(name).map_err(|_| ProxyError::Header(name.to_owned()));
        let role = |text: &String| {
            let parts = text.rsplit_once('=').filter(|(group, _)| !group.is_empty());
            let parts = parts.and_then(|(group, role)| Some((group.to_owned(), role.parse().ok()?)));
            parts.ok_or_else(|| ProxyError::Role(text.clone()))
        };
        let (user, groups) = (header(user)?, groups.map(header).transpose()?);
        let mut roles: Vec<(String, Role)> = roles.iter().map(role).collect::<Result<_, _>>()?;
        if roles.is_empty() {
            roles.push((EVERYONE.to_owned(), Role::Read));
        }
        if groups.is_none() && roles.iter().any(|(group, _)| group != EVERYONE) {
            return Err(ProxyError::NoGroups);
        }
        Ok(Self { address, user, groups, client: None, roles })
    }

    /// The proxy with a header to which it appends the address of its client, like X-Forwarded-For.
    ///
    /// # Errors
    /// If that is no name of a header.
    pub fn with_client(self, header: &str) -> Result<Self, ProxyError> {
        let client = HeaderName::from_str(header).map_err(|_| ProxyError::Header(header.to_owned()))?;
        Ok(Self { client: Some(client), ..self })
    }

    /// Whether this address is the proxy's.
    pub fn is(&self, peer: IpAddr) -> bool {
        peer.to_canonical() == self.address.to_canonical()
    }

    /// Whose request it is: of the proxy's client, or of the peer itself. Of several addresses the proxy wrote the last one;
    /// those before it are what its client claims.
    pub fn client_of(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let Some(name) = self.client.as_ref().filter(|_| self.is(peer)) else { return peer };
        let last = headers.get_all(name).iter().next_back().and_then(|value| value.to_str().ok());
        let last = last.and_then(|value| value.rsplit(',').next()).map(str::trim).unwrap_or_default();
        let with_port = || last.parse::<SocketAddr>().ok().map(|address| address.ip());
        last.parse().ok().or_else(with_port).unwrap_or(peer)
    }

    /// The user that a request names, with the highest role of the user's groups; `None` if it names none.
    ///
    /// # Errors
    /// If another address sent it, the headers are ambiguous, or no group of the user has a role.
    pub fn user_of(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Option<(String, Role)>, Refusal> {
        let named = headers.contains_key(&self.user);
        let grouped = self.groups.as_ref().is_some_and(|groups| headers.contains_key(groups));
        if !named && !grouped {
            return Ok(None);
        }
        if !peer.is_some_and(|peer| self.is(peer)) {
            return Err(Refusal::NotTheProxy);
        }
        let user = one(headers, &self.user).filter(|user| is_name(user)).ok_or(Refusal::ProxyHeaders)?;
        let groups = match &self.groups {
            Some(name) if headers.contains_key(name) => one(headers, name).ok_or(Refusal::ProxyHeaders)?,
            _ => "",
        };
        let groups: Vec<&str> = groups.split(',').map(str::trim).collect();
        let has = |group: &String| group == EVERYONE || groups.contains(&group.as_str());
        let role = self.roles.iter().filter(|(group, _)| has(group)).map(|(_, role)| *role).max();
        role.map(|role| Some((user.to_owned(), role))).ok_or(Refusal::NoRole)
    }
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    values.next().is_none().then_some(value)
}

fn is_name(user: &str) -> bool {
    (1..=USER_BYTES_MAX).contains(&user.len()) && user.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> Proxy {
        let roles = ["admins=admin", "lab=run", "*=read"].map(str::to_owned);
        Proxy::parse([10, 0, 0, 2].into(), "X-User", Some("X-Groups"), &roles).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_highest_role_of_the_groups_counts() {
        let of = |groups| {
            proxy().user_of(&headers(&[("x-user", "me@lab"), ("x-groups", groups)]), Some([10, 0, 0, 2].into()))
        };
        assert_eq!(of("lab, admins"), Ok(Some(("me@lab".into(), Role::Admin))));
        assert_eq!(of("lab"), Ok(Some(("me@lab".into(), Role::Run))));
        assert_eq!(of("admins2,lab admins"), Ok(Some(("me@lab".into(), Role::Read))));
    }

    #[test]
    fn headers_of_another_address_are_refused_and_not_ignored() {
        let named = headers(&[("x-user", "me")]);
        assert_eq!(proxy().user_of(&named, Some([10, 0, 0, 3].into())), Err(Refusal::NotTheProxy));
        assert_eq!(proxy().user_of(&named, None), Err(Refusal::NotTheProxy));
        let groups = headers(&[("x-groups", "admins")]);
        assert_eq!(proxy().user_of(&groups, Some([10, 0, 0, 3].into())), Err(Refusal::NotTheProxy));
        assert_eq!(proxy().user_of(&HeaderMap::new(), Some([10, 0, 0, 3].into())), Ok(None));
        assert!(proxy().user_of(&named, Some("::ffff:10.0.0.2".parse().unwrap())).unwrap().is_some());
    }

    #[test]
    fn ambiguous_headers_name_nobody() {
        let from = Some([10, 0, 0, 2].into());
        for pairs in [&[("x-user", "me"), ("x-user", "admin")][..], &[("x-user", "")], &[("x-groups", "admins")]] {
            assert_eq!(proxy().user_of(&headers(pairs), from), Err(Refusal::ProxyHeaders), "{pairs:?}");
        }
        let strict = Proxy { roles: vec![("lab".into(), Role::Run)], ..proxy() };
        assert_eq!(strict.user_of(&headers(&[("x-user", "me")]), from), Err(Refusal::NoRole));
    }

    #[test]
    fn a_request_is_of_the_client_that_the_proxy_appended_and_of_no_other() {
        let named = proxy().with_client("X-Forwarded-For").unwrap();
        let (proxy_itself, other): (IpAddr, IpAddr) = ([10, 0, 0, 2].into(), [10, 0, 0, 3].into());
        let of = |value: &str, peer| named.client_of(&headers(&[("x-forwarded-for", value)]), peer);
        assert_eq!(of("192.0.2.7", proxy_itself), IpAddr::from([192, 0, 2, 7]));
        assert_eq!(of("1.1.1.1, 192.0.2.8:4711", proxy_itself), IpAddr::from([192, 0, 2, 8]), "the first is a claim");
        assert_eq!(of("[2001:db8::1]:80", proxy_itself), "2001:db8::1".parse::<IpAddr>().unwrap());
        assert_eq!(of("192.0.2.7", other), other, "another address names no client");
        for nonsense in ["", "unknown", "192.0.2.7, "] {
            assert_eq!(of(nonsense, proxy_itself), proxy_itself, "{nonsense:?}");
        }
        let twice = headers(&[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "192.0.2.9")]);
        assert_eq!(named.client_of(&twice, proxy_itself), IpAddr::from([192, 0, 2, 9]));
        assert_eq!(proxy().client_of(&twice, proxy_itself), proxy_itself, "no header is believed unless it is named");
        assert_eq!(proxy().with_client("a b"), Err(ProxyError::Header("a b".into())));
    }

    #[test]
    fn mistakes_of_the_command_line_are_named() {
        let parse = |user: &str, groups, roles: &[&str]| {
            Proxy::parse(
                [10, 0, 0, 2].into(),
                user,
                groups,
                &roles.iter().map(|role| (*role).to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(parse("a b", None, &[]), Err(ProxyError::Header("a b".into())));
        assert_eq!(parse("x", None, &["boss"]), Err(ProxyError::Role("boss".into())));
        assert_eq!(parse("x", None, &["lab=boss"]), Err(ProxyError::Role("lab=boss".into())));
        assert_eq!(parse("x", None, &["lab=run"]), Err(ProxyError::NoGroups));
        assert_eq!(parse("x", None, &[]).unwrap().roles, [("*".to_owned(), Role::Read)]);
    }
}
