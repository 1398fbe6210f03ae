//! Against foreign sites in the user's browser: the host of the address, and where a changing request comes from.

use crate::problem::Refusal;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use std::net::IpAddr;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A name that a foreign site points at this server is not answered (DNS rebinding). An address cannot be pointed.
pub fn check(request: &Request, names: &[String]) -> Result<(), Refusal> {
    check_unambiguous(request)?;
    let authority = authority(request);
    let name = without_port(&authority);
    let known = name.eq_ignore_ascii_case("localhost")
        || name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
        || names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if known { Ok(()) } else { Err(Refusal::Host(name.to_owned())) }
}

/// RFC 9112, 3.2: a request names one host. A proxy in front may have looked at another name than this server.
fn check_unambiguous(request: &Request) -> Result<(), Refusal> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (first, more) = (hosts.next(), hosts.next());
    let of_target = request.uri().authority().map(|authority| authority.as_str());
    let differs =
        of_target.zip(first).is_some_and(|(target, host)| !host.as_bytes().eq_ignore_ascii_case(target.as_bytes()));
    if more.is_some() || differs { Err(Refusal::HostAmbiguous) } else { Ok(()) }
}

/// The rule of Go's `CrossOriginProtection`: browsers say where a changing request comes from, programs say nothing.
pub fn same_origin(request: &Request) -> Result<(), Refusal> {
    let site = text(request.headers(), &SEC_FETCH_SITE);
    if let Some(site) = site {
        return if ["same-origin", "none"].contains(&site) { Ok(()) } else { Err(Refusal::OtherSite) };
    }
    let Some(origin) = text(request.headers(), &header::ORIGIN) else { return Ok(()) };
    let from = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    if from.eq_ignore_ascii_case(&authority(request)) { Ok(()) } else { Err(Refusal::OtherSite) }
}

fn authority(request: &Request) -> String {
    let of_target = request.uri().authority().map(|authority| authority.as_str().to_owned());
    of_target.or_else(|| text(request.headers(), &header::HOST).map(str::to_owned)).unwrap_or_default()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    // A header that is no text must not pass as one that is absent.
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn request(headers: &[(&str, &str)]) -> Request {
        let mut builder = Request::builder().uri("/");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(Body::empty()).unwrap()
    }

    #[test]
    fn addresses_and_configured_names_are_answered_and_no_others() {
        let names = ["lab.example".to_owned()];
        for good in
            ["127.0.0.1:8700", "localhost", "LOCALHOST:1", "[::1]:8700", "[::1]", "192.168.1.2", "lab.example:443"]
        {
            assert_eq!(check(&request(&[("host", good)]), &names), Ok(()), "{good}");
        }
        for bad in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8700", "", "lab.example.evil", "[::1].x"]
        {
            assert!(matches!(check(&request(&[("host", bad)]), &names), Err(Refusal::Host(_))), "{bad}");
        }
        assert!(check(&request(&[]), &names).is_err());
    }

    #[test]
    fn a_request_names_one_host() {
        let twice = request(&[("host", "127.0.0.1"), ("host", "127.0.0.1")]);
        assert_eq!(check(&twice, &[]), Err(Refusal::HostAmbiguous));
        let absolute = |host: &str| {
            let builder = Request::builder().uri("http://127.0.0.1:8700/").header("host", host);
            check(&builder.body(Body::empty()).unwrap(), &[])
        };
        assert_eq!(absolute("127.0.0.1:8700"), Ok(()));
        assert_eq!(absolute("evil.example"), Err(Refusal::HostAmbiguous));
    }

    #[test]
    fn only_the_own_pages_and_programs_may_change_anything() {
        let host = ("host", "127.0.0.1:8700");
        let allowed: [&[(&str, &str)]; 4] = [
            &[],
            &[("origin", "http://127.0.0.1:8700")],
            &[("sec-fetch-site", "same-origin"), ("origin", "null")],
            &[("sec-fetch-site", "none")],
        ];
        for headers in allowed {
            assert_eq!(same_origin(&request(&[&[host], headers].concat())), Ok(()), "{headers:?}");
        }
        let refused: [&[(&str, &str)]; 5] = [
            &[("origin", "http://127.0.0.1:8701")],
            &[("origin", "null")],
            &[("origin", "http://evil.example")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:8700")],
        ];
        for headers in refused {
            assert_eq!(same_origin(&request(&[&[host], headers].concat())), Err(Refusal::OtherSite), "{headers:?}");
        }
    }
}
