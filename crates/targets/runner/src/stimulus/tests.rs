//! Conversations with a scripted board: nothing waits.

use super::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Events on the line, in order; after the last one the line is silent.
#[derive(Debug, Default)]
struct Script {
    pieces: VecDeque<io::Result<Vec<u8>>>,
    sent: Vec<u8>,
    paused: Duration,
}

#[derive(Debug, Clone, Default)]
struct Scripted(Rc<RefCell<Script>>);

impl Scripted {
    fn says(&self, bytes: impl Into<Vec<u8>>) {
        self.0.borrow_mut().pieces.push_back(Ok(bytes.into()));
    }
}

impl Line for Scripted {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().sent.extend(bytes);
        Ok(())
    }

    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.borrow_mut().pieces.pop_front().unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))?;
        bytes[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }

    fn pause(&self, time: Duration) {
        self.0.borrow_mut().paused += time;
    }
}

const SECOND: Duration = Duration::from_secs(1);

fn record(min_ns: u32, max_ns: u32, answers: u32, overruns: u32) -> Vec<u8> {
    let sum_ns = u64::from(answers) * u64::from(min_ns + max_ns) / 2;
    Record { sum_ns, min_ns, max_ns, overruns, answers }.bytes().to_vec()
}

fn empty(overruns: u32) -> Vec<u8> {
    Record { sum_ns: 0, min_ns: u32::MAX, max_ns: 0, overruns, answers: 0 }.bytes().to_vec()
}

fn cells() -> Vec<u8> {
    (0..CELLS_MAX).flat_map(|cell| u32::from(cell == 30).to_be_bytes()).collect()
}

/// A board that was asked for stimuli at 0 s, for 20 s.
fn started() -> (Board, Scripted) {
    let line = Scripted::default();
    let mut board = Board::new(Box::new(line.clone()), "board:2306".into(), 1_000_000);
    board.start(Duration::ZERO, Some(20 * SECOND));
    (board, line)
}

fn code(board: &mut Board) -> Option<String> {
    board.problem().map(|problem| problem.code.to_string())
}

#[test]
fn a_board_is_started_followed_and_ended_before_the_target() {
    let (mut board, line) = started();
    assert_eq!(line.0.borrow().sent, [0, 0, 3, 0xe8, 0, 0, 3, 0xe8]);
    line.says(record(26_000, 30_000, 1000, 1));
    board.advance(2 * SECOND);
    assert_eq!(board.figures(2 * SECOND), None, "only once a minute, and at the end");
    line.says(record(20_000, 40_000, 1000, 0));
    board.advance(16 * SECOND + SECOND / 2);
    assert_eq!(line.0.borrow().sent.len(), 8);
    board.advance(17 * SECOND);
    assert_eq!(line.0.borrow().sent[8..], STOP);
    line.says(record(27_000, 29_000, 10, 0));
    line.says([empty(2), cells()].concat()[..100].to_vec());
    board.advance(18 * SECOND);
    assert!(!board.is_over());
    line.says([empty(2), cells()].concat()[100..].to_vec());
    board.advance(18 * SECOND);
    assert!(board.is_over());
    let figures = board.figures(18 * SECOND).unwrap();
    assert_eq!((figures.records, figures.answers, figures.overruns, figures.period_us), (3, 2010, 3, 1000));
    assert_eq!((figures.latency_ns_min, figures.latency_ns_max), (Some(20_000), Some(40_000)));
    assert_eq!(figures.latency_ns_sum, 28_000_000 + 30_000_000 + 280_000);
    assert_eq!((figures.cells.len(), figures.cells[30], figures.complete), (1000, 1, true));
    assert_eq!((board.figures(99 * SECOND), board.problem()), (None, None));
}

#[test]
fn figures_are_stored_once_a_minute() {
    let (mut board, line) = started();
    line.says(record(26_000, 30_000, 1000, 1));
    board.advance(9 * SECOND);
    line.says(record(26_000, 30_000, 1000, 1));
    assert!(board.figures(60 * SECOND).is_some_and(|figures| figures.answers == 1000 && !figures.complete));
    board.advance(9 * SECOND);
    assert_eq!(board.figures(61 * SECOND), None);
}

#[test]
fn a_board_without_any_answer_is_no_signal() {
    let (mut board, line) = started();
    board.advance(11 * SECOND);
    assert_eq!(line.0.borrow().sent.len(), 8);
    board.advance(12 * SECOND);
    assert_eq!(line.0.borrow().sent[8..], STOP, "what it counted may still come");
    line.says([empty(1), cells()].concat());
    board.advance(13 * SECOND);
    let problem = board.problem().unwrap();
    assert_eq!((problem.code.as_str(), problem.severity), ("stimulus.no-signal", Severity::Invalid));
    assert!(problem.text.contains("counts 1 stimuli"), "{}", problem.text);
    assert_eq!(board.unanswered().map(|loss| (loss.kind, loss.count)), Some((LossKind::Answers, 1)));
}

#[test]
fn a_board_that_stops_to_send_is_silent_and_its_answers_stay() {
    let (mut board, line) = started();
    line.says(record(26_000, 30_000, 1000, 0));
    board.advance(SECOND);
    board.advance(13 * SECOND);
    board.advance(25 * SECOND);
    assert_eq!(code(&mut board).as_deref(), Some("stimulus.silent"));
    assert!(board.figures(25 * SECOND).is_some_and(|figures| figures.answers == 1000 && !figures.complete));
}

#[test]
fn a_cut_connection_a_wrong_answer_and_an_early_end_have_names() {
    for (said, expected) in [
        (Ok(Vec::new()), "stimulus.cut"),
        (Err(io::ErrorKind::ConnectionReset.into()), "stimulus.cut"),
        (Ok(b"HTTP/1.1 400 Bad Request\r\n".to_vec()), "stimulus.wrong-answer"),
        (Ok([record(1, 2, 7, 0), empty(0), cells()].concat()[..4000].to_vec()), "stimulus.ended-early"),
    ] {
        let (mut board, line) = started();
        line.0.borrow_mut().pieces.push_back(said);
        line.says([empty(0), cells()].concat()[..4048 - 4000].to_vec());
        board.advance(SECOND);
        assert!(board.is_over(), "{expected}");
        assert_eq!(code(&mut board).as_deref(), Some(expected));
        assert_eq!(code(&mut board), None, "it is said once");
    }
}

#[test]
fn a_target_that_ended_waits_a_few_seconds_for_the_rest_of_a_board() {
    let (mut board, line) = started();
    line.says(record(26_000, 30_000, 1000, 0));
    line.says([empty(0), cells()].concat());
    board.finish(9 * SECOND);
    assert!(board.figures(9 * SECOND).is_some_and(|figures| figures.complete));
    let (mut board, line) = started();
    board.finish(9 * SECOND);
    let problem = board.problem().unwrap();
    assert_eq!((problem.code.as_str(), problem.severity), ("stimulus.silent", Severity::Invalid));
    assert!(problem.text.starts_with("no signal"), "{}", problem.text);
    assert_eq!((line.0.borrow().paused, board.unanswered()), (REST, None));
}

#[test]
fn a_run_that_never_measured_asks_nothing_of_its_board() {
    let line = Scripted::default();
    let mut board = Board::new(Box::new(line.clone()), "board:2306".into(), 1_000_000);
    board.advance(99 * SECOND);
    board.finish(99 * SECOND);
    assert!(board.is_over() && line.0.borrow().sent.is_empty());
    assert_eq!((board.figures(99 * SECOND), board.problem()), (None, None));
}
