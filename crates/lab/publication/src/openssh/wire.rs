//! Numbers and strings of the SSH protocol (RFC 4251): big-endian, a string after its length.

/// Appends a string.
pub fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend(u32::try_from(bytes.len()).expect("keys and signatures are short").to_be_bytes());
    to.extend(bytes);
}

/// The unread rest of a message.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub fn string(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.bytes(count)
    }

    /// Reads a string that must be this one.
    pub fn expect(&mut self, text: &str) -> Option<()> {
        (self.string()? == text.as_bytes()).then_some(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bytes between two lines of dashes with this title.
pub fn unarmoured(text: &str, title: &str) -> Option<Vec<u8>> {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let text = text.trim().strip_prefix(&format!("-----BEGIN {title}-----"))?;
    let text = text.strip_suffix(&format!("-----END {title}-----"))?;
    let letters: String = text.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(letters).ok()
}

/// Bytes as lines of 70 letters between lines of dashes.
pub fn armoured(bytes: &[u8], title: &str) -> String {
    use base64::prelude::{BASE64_STANDARD, Engine};
    let letters = BASE64_STANDARD.encode(bytes);
    let lines: Vec<&str> =
        letters.as_bytes().chunks(70).map(|line| std::str::from_utf8(line).expect("base64 is ASCII")).collect();
    format!("-----BEGIN {title}-----\n{}\n-----END {title}-----\n", lines.join("\n"))
}
