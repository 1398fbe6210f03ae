//! The packets of MQTT 3.1.1 that publish: those to the broker as bytes, and those from it, which are short.

use alerts::Secret;

const CONNECT: u8 = 0x10;
const CONNACK: u8 = 0x20;
/// With quality of service 1.
const PUBLISH: u8 = 0x32;
const PUBACK: u8 = 0x40;
pub const DISCONNECT: [u8; 2] = [0xe0, 0];

/// Version 3.1.1.
const LEVEL: u8 = 4;
const CLEAN_SESSION: u8 = 0x02;
const HAS_PASSWORD: u8 = 0x40;
const HAS_USERNAME: u8 = 0x80;
/// The broker ends a connection that is silent for one and a half times this long.
const KEEP_ALIVE_S: u16 = 60;

/// Bytes of each packet that a broker sends to a client that only publishes.
pub const ANSWER_BYTES: usize = 4;

/// Who connects.
pub struct Login {
    pub client_id: String,
    pub username: Option<String>,
    pub password: Option<Secret>,
}

/// The packet that opens a session.
pub fn connect(login: &Login) -> Vec<u8> {
    let mut flags = CLEAN_SESSION;
    let mut texts = vec![login.client_id.as_str()];
    if let Some(username) = &login.username {
        flags |= HAS_USERNAME;
        texts.push(username);
    }
    if let Some(password) = &login.password {
        flags |= HAS_PASSWORD;
        texts.push(password.shown());
    }
    let mut body = Vec::new();
    text(&mut body, b"MQTT");
    body.extend([LEVEL, flags]);
    body.extend(KEEP_ALIVE_S.to_be_bytes());
    texts.iter().for_each(|part| text(&mut body, part.as_bytes()));
    packet(CONNECT, &body)
}

/// A message whose acknowledgement has its number.
pub fn publish(topic: &str, number: u16, payload: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    text(&mut body, topic.as_bytes());
    body.extend(number.to_be_bytes());
    body.extend(payload);
    packet(PUBLISH, &body)
}

/// Whether the broker accepts the session.
///
/// # Errors
/// Its reason, or that it sent something else.
pub fn accepted(answer: [u8; ANSWER_BYTES]) -> Result<(), &'static str> {
    match answer {
        [CONNACK, 2, _, 0] => Ok(()),
        [CONNACK, 2, _, 1] => Err("the broker does not speak MQTT 3.1.1"),
        [CONNACK, 2, _, 2] => Err("the broker refuses `client_id`"),
        [CONNACK, 2, _, 3] => Err("the broker is not available"),
        [CONNACK, 2, _, 4 | 5] => Err("the broker refuses `username` and `password`"),
        _ => Err("the answer to the connection is not MQTT 3.1.1"),
    }
}

/// Whether the broker has the message of this number.
///
/// # Errors
/// If it sent something else.
pub fn acknowledged(answer: [u8; ANSWER_BYTES], number: u16) -> Result<(), &'static str> {
    let [high, low] = number.to_be_bytes();
    if answer == [PUBACK, 2, high, low] {
        Ok(())
    } else {
        Err("the broker sent something else than its acknowledgement")
    }
}

fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    let mut rest = body.len();
    loop {
        // Seven bits each, the lowest first.
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        bytes.push(if rest > 0 { low | 0x80 } else { low });
        if rest == 0 {
            break;
        }
    }
    bytes.extend(body);
    bytes
}

/// A text with its length. The settings bound every text far below what two bytes count.
fn text(into: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    into.extend(length.to_be_bytes());
    into.extend(&bytes[..length.into()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_those_of_the_standard() {
        let login = Login { client_id: "ab".into(), username: Some("me".into()), password: None };
        let expected = b"\x10\x12\0\x04MQTT\x04\x82\0\x3c\0\x02ab\0\x02me";
        assert_eq!(connect(&login), expected);
        assert_eq!(publish("t", 258, b"hi"), b"\x32\x07\0\x01t\x01\x02hi");
        let long = publish("t", 1, &[b'x'; 2000]);
        assert_eq!(long[..3], [0x32, 0xd5, 0x0f], "2005 bytes");
        assert_eq!(long.len(), 2008);
    }

    #[test]
    fn only_the_right_answer_is_an_acknowledgement() {
        assert_eq!(acknowledged([0x40, 2, 1, 2], 258), Ok(()));
        for answer in [[0x40, 2, 1, 3], [0x40, 3, 1, 2], [0x50, 2, 1, 2], *b"HTTP"] {
            assert!(acknowledged(answer, 258).is_err(), "{answer:?}");
        }
        assert_eq!(accepted([0x20, 2, 0, 0]), Ok(()));
        let refusals: Vec<_> = (0..=255).filter_map(|code| accepted([0x20, 2, 0, code]).err()).collect();
        assert_eq!(refusals.len(), 255);
    }
}
