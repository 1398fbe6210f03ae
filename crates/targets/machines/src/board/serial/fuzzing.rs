//! Entry points for the fuzz target `console`: a board that sends anything.

use super::dialogue::Dialogue;
use super::exchange::{Exchange, Step};
use super::port::Port;
use super::reader::ConsoleReader;
use super::sending::Tools;
use super::{BAUD, login};
use crate::board::session::Greeting;
use protocol::console::Question;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// Fits into the buffer of a socket without a reader.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Answers a question with these bytes, after which the board hangs up.
///
/// # Panics
/// If no socket can be created.
pub fn answered(bytes: &[u8]) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(&bytes[..bytes.len().min(OUTPUT_BYTES_MAX)]).expect("room in a socket");
    theirs.shutdown(Shutdown::Write).expect("an open socket");
    let mut reader = ConsoleReader::new(Port::of_socket(ours.into()).expect("a socket"), Rc::default());
    reader.keep();
    let mut exchange = Exchange::new(Dialogue::new(reader), BAUD);
    exchange.ask(&Question::Bye, b"").expect("room in a socket");
    while matches!(exchange.step(Duration::ZERO), Step::Waiting) {}
}

/// Parses these bytes as the login and the dialogue with a session do.
pub fn seen(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    login::seen(bytes, &text);
    let mut greeting = Greeting::default();
    for line in text.lines() {
        greeting.take(line);
        Tools::parse(line);
    }
}
