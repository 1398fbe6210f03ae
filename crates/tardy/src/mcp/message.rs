//! Messages of JSON-RPC 2.0: what a client sends, and the replies.

use serde_json::{Map, Value, json};

/// Bytes of an identifier that is a string.
const ID_BYTES_MAX: usize = 256;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;

/// The identifier of a request: a string or a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Id(Value);

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// A reply to a request of the server, which sends none.
    Reply,
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// `None` if the request has none that can be read.
    id: Option<Id>,
    code: i64,
    text: &'static str,
    data: Option<Value>,
}

impl Fault {
    pub fn new(code: i64, text: &'static str) -> Self {
        Self { id: None, code, text, data: None }
    }

    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// As the reply to a request.
    pub fn to(self, id: Id) -> Self {
        Self { id: Some(id), ..self }
    }

    pub fn reply(self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.text });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        json!({ "jsonrpc": "2.0", "id": self.id.map(|Id(id)| id), "error": error })
    }
}

impl Id {
    /// `None` if the value does not identify a request.
    pub fn of(value: &Value) -> Option<Self> {
        let is_id = match value {
            Value::Number(_) => true,
            Value::String(text) => text.len() <= ID_BYTES_MAX,
            _ => false,
        };
        is_id.then(|| Self(value.clone()))
    }

    /// The reply with a result.
    pub fn reply(self, result: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.0, "result": result })
    }
}

/// The message of a line.
///
/// # Errors
/// If it is no message of JSON-RPC.
pub fn message(line: &[u8]) -> Result<Message, Fault> {
    let value = serde_json::from_slice(line).map_err(|_| Fault::new(PARSE_ERROR, "the line is not JSON"))?;
    let Value::Object(mut fields) = value else {
        return Err(Fault::new(INVALID_REQUEST, "a message is one JSON object a line; batches are not answered"));
    };
    let id = fields.remove("id");
    let known = id.as_ref().and_then(Id::of);
    let refused = |text| Err(Fault { id: known.clone(), ..Fault::new(INVALID_REQUEST, text) });
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refused("`jsonrpc` must be \"2.0\"");
    }
    let Some(Value::String(method)) = fields.remove("method") else {
        let is_reply = fields.contains_key("result") || fields.contains_key("error");
        return if is_reply { Ok(Message::Reply) } else { refused("`method` must be a string") };
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return refused("`params` must be an object"),
    };
    match (id, known.clone()) {
        (None, _) => Ok(Message::Notification { method, params }),
        (Some(_), Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (Some(_), None) => refused("`id` must be a number or a string of at most 256 bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(line: &str) -> (i64, Value) {
        let reply = message(line.as_bytes()).unwrap_err().reply();
        (reply["error"]["code"].as_i64().unwrap(), reply["id"].clone())
    }

    #[test]
    fn requests_notifications_and_replies_differ_by_their_fields() {
        let read = |line: &str| message(line.as_bytes()).unwrap();
        let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        assert!(matches!(request, Message::Request(Request { method, .. }) if method == "ping"));
        let notification = read(r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#);
        assert!(matches!(notification, Message::Notification { .. }));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Message::Reply);
    }

    #[test]
    fn each_wrong_message_has_its_code_and_the_identifier_where_one_can_be_read() {
        assert_eq!(code("{"), (PARSE_ERROR, Value::Null));
        assert_eq!(code("\u{feff}"), (PARSE_ERROR, Value::Null));
        assert_eq!(code(&"[".repeat(100_000)), (PARSE_ERROR, Value::Null));
        assert_eq!(code("[]"), (INVALID_REQUEST, Value::Null));
        assert_eq!(code(r#"{"id":7,"method":"ping"}"#), (INVALID_REQUEST, json!(7)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7}"#), (INVALID_REQUEST, json!(7)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#), (INVALID_REQUEST, json!(7)));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), (INVALID_REQUEST, Value::Null));
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(1000));
        assert_eq!(code(&long), (INVALID_REQUEST, Value::Null));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_get_an_error(bytes: Vec<u8>) {
            if let Err(fault) = message(&bytes) {
                prop_assert!(fault.reply()["error"]["code"].is_i64());
            }
        }

        #[test]
        fn any_fields_are_a_message_or_get_an_error(
            version in "2.0|1.0", method in "\"ping\"|7|null", id in "1|\"x\"|\\{\\}|null|1e999", params in "\\{\\}|\\[\\]|3"
        ) {
            let line = format!(r#"{{"jsonrpc":"{version}","id":{id},"method":{method},"params":{params}}}"#);
            let is_right = version == "2.0" && method == "\"ping\"" && (id == "1" || id == "\"x\"") && params == "{}";
            prop_assert_eq!(message(line.as_bytes()).is_ok(), is_right);
        }
    }
}
