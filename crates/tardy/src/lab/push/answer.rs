//! Answer of a server to an upload. It is not trusted: its texts are short, and it says that it has an archive by naming it.

use hyper::StatusCode;
use serde::Deserialize;
use store::Outcome;
use words::printable::printable;

/// Longest text of a server that is shown.
const TEXT_CHARS_MAX: usize = 400;

/// The parts of an answer that matter.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// In s.
    pub retry_after: Option<u64>,
    pub body: Vec<u8>,
}

/// The next step after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Stored(Outcome),
    /// The server has no place now.
    Busy {
        wait_s: u64,
        because: String,
    },
    /// The connection was too slow; another try may be faster.
    Slow(String),
    /// The server refuses this archive.
    Refused(String),
    /// The server refuses every archive of this client.
    RefusedAll(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    digest: String,
    detail: String,
    fix: String,
    code: String,
}

impl Answer {
    /// Meaning of the answer for the archive with this address.
    pub fn reply(&self, digest: &str) -> Reply {
        let document: Document = serde_json::from_slice(&self.body).unwrap_or_default();
        let because = document.in_words(self.status);
        match self.status {
            StatusCode::OK | StatusCode::CREATED if document.digest == digest => {
                Reply::Stored(if self.status == StatusCode::OK { Outcome::Known } else { Outcome::Added })
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if self.retry_after.is_some() => {
                Reply::Busy { wait_s: self.retry_after.unwrap_or_default(), because }
            }
            StatusCode::REQUEST_TIMEOUT => Reply::Slow(because),
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
                Reply::Refused(because)
            }
            _ => Reply::RefusedAll(because),
        }
    }
}

impl Document {
    fn in_words(&self, status: StatusCode) -> String {
        let fix = match self.code.as_str() {
            "server.token-missing" => {
                "write a token of the role run into a file and name it with --token-file; `tardy lab serve --add-token \
                 run:NAME` makes one"
            }
            "server.no-such-page" | "server.method" => "update the server: it does not take archives",
            _ => &self.fix,
        };
        let text = match (self.detail.as_str(), fix) {
            ("", _) => {
                format!(
                    "the server answered {status} and does not say that it has the archive; is it `tardy lab serve`?"
                )
            }
            (detail, "") => format!("the server answered: {detail}"),
            (detail, fix) => format!("the server answered: {detail}; {fix}"),
        };
        printable(&text.chars().take(TEXT_CHARS_MAX).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, retry_after: Option<u64>, body: &str) -> Reply {
        Answer { status: StatusCode::from_u16(status).unwrap(), retry_after, body: body.into() }.reply("abc")
    }

    #[test]
    fn an_archive_is_stored_when_the_server_names_it() {
        assert_eq!(reply(201, None, r#"{"digest":"abc"}"#), Reply::Stored(Outcome::Added));
        assert_eq!(reply(200, None, r#"{"digest":"abc","more":1}"#), Reply::Stored(Outcome::Known));
        for (status, body) in [(200, "<html>"), (201, "{}"), (200, r#"{"digest":"other"}"#), (204, ""), (302, "")] {
            let Reply::RefusedAll(text) = reply(status, None, body) else { panic!("{status} {body}") };
            assert!(text.contains("is it `tardy lab serve`?"), "{text}");
        }
    }

    #[test]
    fn errors_are_shown_with_their_fix_short_and_harmless() {
        let missing =
            reply(401, None, r#"{"code":"server.token-missing","detail":"a token is required","fix":"log in"}"#);
        assert!(
            matches!(missing, Reply::RefusedAll(text) if text.contains("--token-file") && !text.contains("log in"))
        );
        let busy = reply(503, Some(5), r#"{"detail":"busy","fix":"wait"}"#);
        assert!(matches!(busy, Reply::Busy { wait_s: 5, because } if because.ends_with(": busy; wait")));
        assert!(matches!(reply(503, None, r#"{"detail":"the index does not answer"}"#), Reply::RefusedAll(_)));
        assert!(matches!(reply(422, None, r#"{"detail":"x"}"#), Reply::Refused(_)));
        assert!(matches!(reply(408, None, r#"{"detail":"x"}"#), Reply::Slow(_)));
        let hostile = format!(r#"{{"detail":"\u001b[2J{}"}}"#, "x".repeat(10_000));
        let Reply::Refused(text) = reply(400, None, &hostile) else { panic!() };
        assert!(text.len() < 1000 && !text.contains('\u{1b}'), "{text}");
    }
}
