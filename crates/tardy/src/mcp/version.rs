//! Versions of the protocol: those that begin with a handshake, and the one whose requests stand alone.

use super::message::{Fault, INVALID_PARAMS};
use serde_json::{Map, Value, json};

/// Versions that `initialize` negotiates, the newest first.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Each request states it in its metadata.
const STATELESS: &str = "2026-07-28";
const STATED: &str = "io.modelcontextprotocol/protocolVersion";
/// The code that version 2026-07-28 defines.
const UNSUPPORTED_VERSION: i64 = -32022;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Handshake,
    Stateless,
}

/// Every version, the newest first.
pub fn supported() -> Vec<&'static str> {
    std::iter::once(STATELESS).chain(HANDSHAKE).collect()
}

/// The era of a request by its parameters.
///
/// # Errors
/// If they state a version that is not supported.
pub fn era(params: &Map<String, Value>) -> Result<Era, Fault> {
    match params.get("_meta").and_then(|meta| meta.get(STATED)) {
        None => Ok(Era::Handshake),
        Some(Value::String(version)) if version == STATELESS => Ok(Era::Stateless),
        Some(Value::String(version)) if HANDSHAKE.contains(&version.as_str()) => Ok(Era::Handshake),
        Some(other) => Err(unsupported(UNSUPPORTED_VERSION, other)),
    }
}

/// The version that answers the one of `initialize`: the same, or the newest for one that is not known.
///
/// # Errors
/// If the text does not name a version of the protocol, which is a date.
pub fn negotiated(params: &Map<String, Value>) -> Result<&'static str, Fault> {
    let asked = params.get("protocolVersion").unwrap_or(&Value::Null);
    let text = asked.as_str().filter(|text| is_date(text));
    let text = text.ok_or_else(|| unsupported(INVALID_PARAMS, asked))?;
    Ok(HANDSHAKE.into_iter().find(|known| *known == text).unwrap_or(HANDSHAKE[0]))
}

fn unsupported(code: i64, asked: &Value) -> Fault {
    let asked = asked.as_str().filter(|text| text.len() <= 64);
    Fault::new(code, "Unsupported protocol version").with_data(json!({ "requested": asked, "supported": supported() }))
}

fn is_date(text: &str) -> bool {
    let form = |(at, letter): (usize, char)| if matches!(at, 4 | 7) { letter == '-' } else { letter.is_ascii_digit() };
    text.len() == 10 && text.chars().enumerate().all(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_known_version_is_kept_and_an_unknown_date_gets_the_newest() {
        let asked = |version: Value| negotiated(&params(json!({ "protocolVersion": version })));
        assert_eq!(asked(json!("2025-03-26")), Ok("2025-03-26"));
        assert_eq!(asked(json!("2031-01-01")), Ok("2025-11-25"));
        for wrong in [json!("1.0.0"), json!(7), Value::Null] {
            assert!(asked(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_that_states_a_version_stands_alone() {
        let stated = |version: &str| era(&params(json!({ "_meta": { STATED: version } })));
        assert_eq!(stated(STATELESS), Ok(Era::Stateless));
        assert_eq!(era(&Map::new()), Ok(Era::Handshake));
        let refused = stated("2031-01-01").unwrap_err().reply();
        assert_eq!(refused["error"]["code"], UNSUPPORTED_VERSION);
        assert_eq!(refused["error"]["data"]["supported"][0], STATELESS);
    }
}
