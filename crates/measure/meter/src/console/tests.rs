//! A host asks over a socket that damages questions and answers.

use super::*;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

/// The board's answers to these questions; every `spoil`-th line of an answer is damaged on its first transmission.
fn asked(place: &Path, spoil: usize, questions: &[(Question, &[u8])]) -> Vec<(Answer, Vec<u8>)> {
    let (host, board) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let desk = scope.spawn(move || Desk::new(place, board.as_fd(), &board).serve());
        let mut lines_of = BufReader::new(host.try_clone().unwrap()).lines().map_while(Result::ok);
        let mut said = move || Line::parse(&lines_of.next().expect("the board speaks"));
        assert_eq!(said(), Some(Line::Ready { version: CONSOLE_VERSION }));
        let mut answers = Vec::new();
        for (letter, (question, bytes)) in (1..).zip(questions) {
            let lines = lines(Side::Host, letter, &pack(question, bytes));
            (&host).write_all(lines.concat().as_bytes()).unwrap();
            let mut gathered = Gathered::default();
            // Lines until everything requested has come; in the first pass all of them.
            let (mut first, mut seen, mut awaited) = (true, 0, 0);
            let answer = loop {
                let Some(Line::Piece(piece)) = said() else { continue };
                assert_eq!((piece.from, piece.letter), (Side::Board, letter));
                awaited = if first && seen == 0 { piece.count as usize } else { awaited } - 1;
                seen += 1;
                if !(first && seen % spoil == 0) {
                    gathered.take(piece);
                }
                if awaited > 0 {
                    continue;
                }
                if let Some(whole) = gathered.whole() {
                    break unpack(&whole).unwrap();
                }
                (first, awaited) = (false, gathered.missing().len());
                let missing = Line::Missing { letter, numbers: gathered.missing() };
                (&host).write_all(missing.text().as_bytes()).unwrap();
            };
            answers.push(answer);
        }
        host.shutdown(std::net::Shutdown::Both).unwrap();
        // It ends with the connection, or when the host ends the conversation.
        let _ = desk.join().unwrap();
        answers
    })
}

fn shell(script: &str) -> Question {
    Question::Run { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
}

#[test]
fn a_program_gets_its_input_and_gives_its_output_its_complaints_and_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let input = b"one\n".repeat(3000);
    let asked = asked(folder.path(), 1000, &[(shell("cat; echo bad >&2; exit 7"), &input), (Question::Bye, b"")]);
    let complaints = vec!["bad".to_owned()];
    assert_eq!(asked[0], (Answer::Ended { code: Some(7), signal: None, complaints }, input));
    assert_eq!(asked[1].0, Answer::Done);
}

#[test]
fn damaged_lines_are_sent_again_and_nothing_is_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    let noise: Vec<u8> = (0..40_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(folder.path().join("noise"), &noise).unwrap();
    let script = format!("cd '{}'; echo run >> runs; cat noise", folder.path().display());
    let asked = asked(folder.path(), 3, &[(shell(&script), b"")]);
    assert_eq!(asked[0].1, noise);
    assert_eq!(fs::read_to_string(folder.path().join("runs")).unwrap(), "run\n");
}

#[test]
fn a_question_that_comes_twice_is_answered_twice_and_acted_upon_once() {
    let folder = tempfile::tempdir().unwrap();
    let (host, board) = UnixStream::pair().unwrap();
    let script = format!("cd '{}'; echo run >> runs", folder.path().display());
    let question = lines(Side::Host, 1, &pack(&shell(&script), b"")).concat();
    let bye = lines(Side::Host, 2, &pack(&Question::Bye, b"")).concat();
    thread::scope(|scope| {
        let place = folder.path();
        let desk = scope.spawn(move || Desk::new(place, board.as_fd(), &board).serve());
        (&host).write_all(format!("{question}{question}{bye}").as_bytes()).unwrap();
        assert!(desk.join().unwrap().is_ok());
    });
    let said = BufReader::new(&host).lines().map_while(Result::ok);
    let first = said.filter(|line| matches!(Line::parse(line), Some(Line::Piece(Piece { letter: 1, .. })))).count();
    assert!(first >= 2, "{first}");
    assert_eq!(fs::read_to_string(folder.path().join("runs")).unwrap(), "run\n");
}

#[test]
fn a_stream_is_read_in_stretches_until_its_end_and_then_it_is_known_to_be_over() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    fs::create_dir(&spool).unwrap();
    fs::write(spool.join(format!("{:020}.part", 0)), b"the stream").unwrap();
    ledger::write_end(&spool, "code 0", 10, &["well".to_owned()]).unwrap();
    let read = |offset| (Question::Read { offset, bytes_max: 4 }, &b""[..]);
    let answers = asked(folder.path(), 1000, &[read(0), read(8), read(10)]);
    let end = Some(StreamEnd { how: "code 0".into(), bytes: 10, words: vec!["well".into()] });
    let bytes: Vec<&[u8]> = answers.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    assert_eq!(bytes, [&b"the "[..], b"am", b""]);
    assert!(answers.iter().all(|(answer, _)| *answer == Answer::Stretch { written: 10, end: end.clone() }));
    fs::remove_dir_all(&spool).unwrap();
    let gone = asked(folder.path(), 1000, &[read(0)]);
    assert!(matches!(&gone[0].0, Answer::Refused { why } if why.contains("no spool")), "{gone:?}");
}

#[test]
fn another_host_ends_the_conversation_and_what_runs_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (host, board) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let place = folder.path();
        let desk = scope.spawn(move || Desk::new(place, board.as_fd(), &board).serve());
        let question = lines(Side::Host, 1, &pack(&shell("exec sleep 1000"), b"")).concat();
        (&host).write_all(question.as_bytes()).unwrap();
        let mut said = BufReader::new(&host).lines().map_while(Result::ok);
        assert!(said.any(|line| Line::parse(&line) == Some(Line::Busy { letter: 1 })));
        (&host).write_all(b"\x03\r").unwrap();
        assert!(matches!(desk.join().unwrap(), Err(ConsoleError::Replaced)));
    });
}
