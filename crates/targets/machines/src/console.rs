//! Output of a machine's console: its start and its end, bounded in memory.

/// Bytes kept of the start, and of the end.
const KEPT_BYTES: usize = 256 << 10;
const LINES_QUOTED: usize = 3;
const PANIC: &str = "Kernel panic - not syncing";

/// The console so far.
#[derive(Debug, Default)]
pub struct Console {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: u64,
}

impl Console {
    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * KEPT_BYTES {
            let surplus = self.tail.len() - KEPT_BYTES;
            self.tail.drain(..surplus);
            self.left_out += surplus as u64;
        }
    }

    /// Everything kept; a line states how much is missing.
    pub fn text(&self) -> Vec<u8> {
        let mut text = self.head.clone();
        if self.left_out > 0 {
            text.extend_from_slice(format!("\n[{} bytes left out here]\n", self.left_out).as_bytes());
        }
        text.extend_from_slice(&self.tail);
        text
    }

    /// The line of a kernel panic, if there was one.
    pub fn panic(&self) -> Option<String> {
        self.lines().into_iter().find(|line| line.contains(PANIC))
    }

    /// The most informative lines about a machine that went down: the panic, or the last lines.
    pub fn last_output(&self) -> Vec<String> {
        let lines = self.lines();
        match self.panic() {
            Some(panic) => vec![panic],
            None => lines[lines.len().saturating_sub(LINES_QUOTED)..].to_vec(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = self.text();
        let text = String::from_utf8_lossy(&text);
        let lines = text.split(['\n', '\r']).map(|line| visible(line).trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }
}

/// Firmware clears the screen and moves the cursor before the kernel prints anything.
fn visible(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            letters.by_ref().find(|end| end.is_ascii_alphabetic());
        } else if !letter.is_control() {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_quoted_before_anything_else() {
        let mut console = Console::default();
        console
            .push(b"\x1bc\x1b[?7l\x1b[2J[    0.1] one\r\n[    0.2] two\r\n\r\n[    0.3] three\r\n[    0.4] four\r\n");
        assert_eq!(console.last_output(), ["[    0.2] two", "[    0.3] three", "[    0.4] four"]);
        console.push(b"[    0.5] Kernel panic - not syncing\r\n[    0.6] CPU: 0\r\n[    0.7] Call Trace:\r\n");
        assert_eq!(console.last_output(), ["[    0.5] Kernel panic - not syncing"]);
    }

    #[test]
    fn an_endless_console_keeps_its_beginning_and_its_end() {
        let mut console = Console::default();
        for number in 0..200_000 {
            console.push(format!("line {number}\n").as_bytes());
        }
        let text = String::from_utf8(console.text()).unwrap();
        assert!(text.starts_with("line 0\n") && text.ends_with("line 199999\n"));
        assert!(text.contains("left out") && text.len() < 4 * KEPT_BYTES);
    }
}
