//! Text of unknown origin in the addresses of pages.

/// A text as one segment of a path: no separator, no query, and no directory.
pub fn path_segment(text: &str) -> String {
    let mut segment = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => segment.push(char::from(byte)),
            // A segment of dots alone is a directory.
            b'.' if text.bytes().any(|byte| byte != b'.') => segment.push('.'),
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_text_outside_of_its_segment() {
        assert_eq!(path_segment("a/b?c#d>(x) é"), "a%2Fb%3Fc%23d%3E%28x%29%20%C3%A9");
        assert_eq!((path_segment("pi-4.lab"), path_segment("..")), ("pi-4.lab".into(), "%2E%2E".into()));
    }
}
