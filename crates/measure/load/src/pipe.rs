//! Pipes: two processes send one word back and forth, with a wake-up in each direction.

use super::workers::Workers;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

const WORD: [u8; 4] = *b"word";

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        let (there, from_one) = io::pipe()?;
        let (back, from_two) = io::pipe()?;
        workers.fork("pipe-answer", |_| answer(there, from_two))?;
        workers.fork("pipe-ask", |counter| ask(from_one, back, counter))?;
    }
    Ok(())
}

fn ask(mut to: PipeWriter, mut from: PipeReader, counter: &AtomicU64) -> io::Error {
    loop {
        let mut word = [0; WORD.len()];
        match to.write_all(&WORD).and_then(|()| from.read_exact(&mut word)) {
            Ok(()) => counter.fetch_add(2, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

fn answer(mut from: PipeReader, mut to: PipeWriter) -> io::Error {
    loop {
        let mut word = [0; WORD.len()];
        if let Err(error) = from.read_exact(&mut word).and_then(|()| to.write_all(&word)) {
            return error;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_answered_until_one_side_goes() {
        let (there, from_one) = io::pipe().expect("a pipe");
        let (mut back, from_two) = io::pipe().expect("a pipe");
        let other = std::thread::spawn(move || answer(there, from_two).kind());
        let mut from_one = from_one;
        let mut word = [0; WORD.len()];
        from_one.write_all(&WORD).and_then(|()| back.read_exact(&mut word)).expect("an answer");
        assert_eq!(word, WORD);
        drop(from_one);
        assert_eq!(other.join().expect("an end"), io::ErrorKind::UnexpectedEof);
    }
}
