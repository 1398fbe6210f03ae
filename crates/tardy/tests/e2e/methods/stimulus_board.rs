//! An external board that speaks latmon gives falling edges on a line of a virtual machine, which answers with rising ones.

use super::responses::{GPIO, Gpio, in_front};
use super::{Case, SAMPLES_LEAST, losses};
use archive::loss::LossKind;
use archive::stimulus::StimulusBoard;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stimulus_board::{Board, Conduct, Wire};

/// The lines of the machine, once it runs.
struct Lines {
    lab: PathBuf,
    gpio: Option<Gpio>,
}

impl Wire for Lines {
    fn stimulate(&mut self) -> Option<Duration> {
        let gpio = self.gpio.get_or_insert_with(|| {
            let mut gpio = Gpio::connect(&self.lab);
            gpio.set(true);
            gpio
        });
        let started = Instant::now();
        gpio.set(false);
        // The machine lowers the line again when the pulse ends, which is no answer.
        let answered = gpio.qtest.line("IRQ raise 1").is_some();
        let took = started.elapsed();
        gpio.set(true);
        answered.then_some(took)
    }
}

/// Results of the board about a machine that answers, and the mean that the machine measured, in us.
fn measured(method: &str, words: &[&str]) -> (StimulusBoard, f64) {
    let lab = super::lab(&Case { machine: GPIO, ..Case::default() });
    let board = Board::start(Lines { lab: lab.path(""), gpio: None }, Conduct::Proper).unwrap();
    let request = board.request();
    let words = [&["--method", method, "--stimulus", &request, "--trace", "off"][..], words].concat();
    let (child, qemu) = lab.measuring(&words);
    in_front(&qemu.to_string());
    in_front(&std::process::id().to_string());
    let (run, said) = lab.ended_well(child, &words);
    let seen = board.seen().unwrap();
    let kept = run.stimulus_board.clone().expect("the board measured");
    assert!(
        kept.complete && run.problems.iter().all(|problem| !problem.code.as_str().starts_with("stimulus.")),
        "{said}"
    );
    assert!(said.contains("Measured by the stimulus board"), "{said}");
    assert_eq!((kept.answers, kept.overruns, kept.latency_ns_sum), (seen.answers, 0, seen.sum_ns));
    let totals = || run.threads.values().map(|thread| &thread.totals);
    let (samples, sum_ns) = totals().fold((0, 0.0), |(n, sum), of| (n + of.cycles, sum + of.latency_ns_sum as f64));
    let stimuli: u64 = kept.cells.iter().map(|count| u64::from(*count)).sum();
    assert_eq!(losses(&run, LossKind::Answers), 0, "{said}");
    assert_eq!(samples, stimuli, "the machine answered every falling edge once, and no rising one");
    (kept, sum_ns / samples as f64 / 1000.0)
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_board_gives_the_stimuli_and_both_ends_measure() {
    let (board, inside_us) = measured("gpio:in=0,out=1", &["--duration", "25s"]);
    let outside_us = board.mean_ns().unwrap() / 1000.0;
    println!("latmon: {} answers, mean {outside_us:.1} us; the machine itself {inside_us:.1} us", board.answers);
    assert!(board.answers >= SAMPLES_LEAST, "{} answers", board.answers);
    assert!(inside_us < outside_us, "the board also sees the way to the interrupt handler");
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_known_delay_of_the_answer_shows_at_the_board() {
    const DELAY_US: f64 = 40_000.0;
    let of = |method: &str| {
        let (board, inside_us) = measured(method, &["--duration", "15s", "--interval", "100ms"]);
        (board.mean_ns().unwrap() / 1000.0, inside_us)
    };
    let (outside, inside) = of("gpio:in=0,out=1");
    let delayed = of(&format!("gpio:in=0,out=1,delay_us={DELAY_US}"));
    println!("latmon: {outside:.0} and {inside:.0} us become {:.0} and {:.0}", delayed.0, delayed.1);
    for added_us in [delayed.0 - outside, delayed.1 - inside] {
        assert!((added_us / DELAY_US - 1.0).abs() <= 0.05, "{added_us} us");
    }
}

/// The wire from the machine to the board: its edges do not arrive.
struct CutAnswers(Lines);

impl Wire for CutAnswers {
    fn stimulate(&mut self) -> Option<Duration> {
        self.0.stimulate().and(None)
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_board_that_sees_no_answer_is_no_signal() {
    let lab = super::lab(&Case { machine: GPIO, ..Case::default() });
    let board = Board::start(CutAnswers(Lines { lab: lab.path(""), gpio: None }), Conduct::Proper).unwrap();
    let request = board.request();
    let words = ["--method", "gpio:in=0,out=1", "--stimulus", &request, "--trace", "off", "--duration", "15s"];
    let ended = lab.run(&words);
    board.seen().unwrap();
    let (run, said) = (lab.archive(), String::from_utf8_lossy(&ended.stdout).into_owned());
    let samples: u64 = run.threads.values().map(|thread| thread.totals.cycles).sum();
    assert!(samples > 0 && losses(&run, LossKind::Answers) > 0, "{samples} samples; {said}");
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("no signal"), "{said}");
}
