//! Reads a console as lines and as text, and keeps the output of other programs.

use super::error::PortError;
use super::port::{Port, Received};
use crate::board::traffic::ConsoleTraffic;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Prefixes of the board's lines.
const KINDS: [&str; 3] = ["~A ", "~B ", "~R "];
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// Starts the time stamp of a kernel message.
const STAMP: char = '[';

/// The port, and the incomplete next line.
pub struct ConsoleReader {
    pub port: Port,
    unread: Vec<u8>,
    traffic: Rc<RefCell<ConsoleTraffic>>,
    /// Whether output of other programs is kept: before the session there are prompts and echoes.
    keeps: bool,
}

impl ConsoleReader {
    pub fn new(port: Port, traffic: Rc<RefCell<ConsoleTraffic>>) -> Self {
        Self { port, unread: Vec::new(), traffic, keeps: false }
    }

    /// The lines that are complete after at most this time.
    ///
    /// # Errors
    /// The line is gone.
    pub fn lines(&mut self, wait: Duration) -> Result<Vec<String>, PortError> {
        match self.port.read(wait) {
            Received::Nothing => return Ok(Vec::new()),
            Received::Gone(why) => return Err(why),
            Received::Bytes(bytes) => self.unread.extend(bytes),
        }
        let whole = self.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text: Vec<u8> = self.unread.drain(..whole).collect();
        if self.unread.len() > UNREAD_BYTES_MAX {
            self.unread.clear();
        }
        Ok(String::from_utf8_lossy(&text).lines().map(|line| line.trim_end().to_owned()).collect())
    }

    /// From now on, foreign lines come from the kernel or another program and are kept.
    pub fn keep(&mut self) {
        self.keeps = true;
    }

    /// Keeps a foreign line. If other output interrupted one of the session's lines, that line is counted and the
    /// output kept.
    pub fn overhear(&self, line: &str) {
        if !self.keeps {
            return;
        }
        let mut traffic = self.traffic.borrow_mut();
        // A prompt contains that character, too.
        let begun = KINDS.iter().find_map(|kind| line.find(kind));
        let spoken = match begun {
            None => line,
            Some(at) => {
                traffic.damage.damaged += 1;
                let (before, ours) = line.split_at(at);
                let others = ours.find(STAMP).map_or("", |at| &ours[at..]);
                if before.trim().is_empty() { others } else { before }
            }
        };
        if !spoken.trim().is_empty() && !is_rest(spoken) {
            traffic.console.push(spoken.as_bytes());
            traffic.console.push(b"\n");
        }
    }

    /// Counts lines with results that arrived, and those requested again.
    pub fn count(&self, arrived: usize, repeated: usize) {
        let damage = &mut self.traffic.borrow_mut().damage;
        damage.arrived += arrived as u64;
        damage.repeated += repeated as u64;
    }
}

/// Whether this is the second half of a session line: data and a checksum.
fn is_rest(line: &str) -> bool {
    let Some((letters, sum)) = line.rsplit_once(' ') else { return false };
    let checksum = sum.len() == 8 && sum.bytes().all(|digit| digit.is_ascii_hexdigit());
    checksum && letters.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"+/= ".contains(&letter))
}

/// Removes kernel messages from a text, each from its time stamp to the end of its line; this rejoins lines that they
/// interrupted.
pub fn without_kernel(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(at) = rest.find(STAMP) {
        kept.push_str(&rest[..at]);
        let from = &rest[at..];
        let inside = from[1..].split_once(']').map_or("", |(inside, _)| inside).trim_start();
        if inside.contains('.') && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            rest = from.find('\n').map_or("", |end| &from[end + 1..]);
        } else {
            kept.push(STAMP);
            rest = &from[1..];
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use protocol::console::line::sealed;
    use std::os::unix::net::UnixStream;

    #[test]
    fn kernel_messages_are_kept_and_lines_that_they_cut_are_counted() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let traffic = Rc::<RefCell<ConsoleTraffic>>::default();
        let mut reader = ConsoleReader::new(Port::of_socket(ours.into()).unwrap(), Rc::clone(&traffic));
        reader.overhear("board login: root");
        reader.keep();
        let line = sealed("A 1 0/1 QUJDREVGR0hJSktM");
        let (first, second) = line.split_at(14);
        for line in ["[    1.0] one", &format!("{first}[    2.0] two"), second.trim_end(), "root@pi:~# ", ""] {
            reader.overhear(line);
        }
        let traffic = traffic.borrow();
        assert_eq!(String::from_utf8(traffic.console.text()).unwrap(), "[    1.0] one\n[    2.0] two\nroot@pi:~# \n");
        assert_eq!(traffic.damage.damaged, 1);
    }

    #[test]
    fn a_prompt_that_the_kernel_spoke_into_is_whole_again() {
        assert_eq!(without_kernel("log[   12.345678] usb 1-1: new [x]\r\nin: "), "login: ");
        assert_eq!(without_kernel("board login: [12.3] x"), "board login: ");
        assert_eq!(without_kernel("[root@pi ~]# ["), "[root@pi ~]# [");
    }

    proptest! {
        #[test]
        fn any_text_is_heard(text in ".{0,200}") {
            without_kernel(&text);
            without_kernel(&format!("[1.{text}"));
            is_rest(&text);
        }
    }
}
