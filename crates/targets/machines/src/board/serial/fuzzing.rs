//! Entry points for the fuzz target `console`: a board that sends anything.

use super::dialogue::Dialogue;
use super::exchange::{Exchange, Step};
use super::port::Port;
use super::reader::ConsoleReader;
use super::sending::Tools;
use super::{BAUD, login};
use crate::board::keeper::Greeting;
use protocol::console::Question;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// Fits into the buffer of a socket without a reader.
const SAID_BYTES_MAX: usize = 64 << 10;

/// Answers a question with these bytes, after which the board hangs up.
///
/// # Panics
/// If no socket can be created.
pub fn answered(said: &[u8]) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(&said[..said.len().min(SAID_BYTES_MAX)]).expect("room in a socket");
    theirs.shutdown(Shutdown::Write).expect("an open socket");
    let mut reader = ConsoleReader::new(Port::of_socket(ours.into()).expect("a socket"), Rc::default());
    reader.keep();
    let mut exchange = Exchange::new(Dialogue::new(reader), BAUD);
    exchange.ask(&Question::Bye, b"").expect("room in a socket");
    while matches!(exchange.step(Duration::ZERO), Step::Waiting) {}
}

/// Parses these bytes as the login and the dialogue with a keeper do.
pub fn seen(said: &[u8]) {
    let text = String::from_utf8_lossy(said);
    login::seen(said, &text);
    let mut greeting = Greeting::default();
    for line in text.lines() {
        greeting.take(line);
        Tools::parse(line);
    }
}
