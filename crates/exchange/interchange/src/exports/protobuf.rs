//! Writes protocol buffers without a schema, as far as a trace needs.

use archive::leb128::put;

/// Wire types.
const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;

/// A message under construction. Fields may come in any order and repeat.
#[derive(Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// An unsigned integer, boolean or enum.
    pub fn unsigned(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, VARINT);
        put(&mut self.bytes, value);
        self
    }

    /// An `int32` or `int64`; negative values take ten bytes.
    pub fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.unsigned(field, value as u64)
    }

    pub fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    /// Bytes, or an encoded message.
    pub fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.tag(field, LENGTH_DELIMITED);
        put(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A message inside this one.
    pub fn message(&mut self, field: u32, write: impl FnOnce(&mut Message)) -> &mut Self {
        self.tag(field, LENGTH_DELIMITED);
        let start = self.bytes.len();
        write(self);
        // The length is known only now; for most messages only one byte must be inserted before them.
        let mut length = Vec::with_capacity(4);
        put(&mut length, (self.bytes.len() - start) as u64);
        self.bytes.splice(start..start, length);
        self
    }

    fn tag(&mut self, field: u32, kind: u64) {
        put(&mut self.bytes, u64::from(field) << 3 | kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let mut message = Message::default();
        message.unsigned(1, 150).text(2, "testing").message(3, |inner| {
            inner.unsigned(1, 150);
        });
        assert_eq!(
            message.into_bytes(),
            [&[0x08, 0x96, 0x01, 0x12, 0x07][..], b"testing", &[0x1a, 0x03, 0x08, 0x96, 0x01]].concat()
        );
    }

    #[test]
    fn a_long_inner_message_and_a_negative_number_are_whole() {
        let mut message = Message::default();
        message.message(1, |inner| {
            inner.text(2, &"x".repeat(300));
        });
        message.signed(3, -1);
        let bytes = message.into_bytes();
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02]);
        assert_eq!(bytes[306..], [0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }
}
