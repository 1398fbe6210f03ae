//! `gpio`: an edge on one line and its answer on another, with the kernel's time stamps of the edges.

use super::Stretch;
use super::answering::{self, Answering};
use super::unnumbered::{self, Edge, Edges, Pulses, readable};
use crate::OnDevice;
use crate::device;
use crate::kernel::gpio::Line;
use archive::method::gpio::{self, Gpio, Sample};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, WiredRole};
use meter::journal::Journal;
use meter::methods::error::MethodError;
use meter::methods::stimulus::PartnerPlace;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const CHIP: &str = "/dev/gpiochip0";

/// Needs of a line that answers; a test has no GPIO chip.
trait Level: Send + Sync {
    fn set(&self, high: bool);
}

impl Level for Line {
    fn set(&self, high: bool) {
        // A line that does not change shows as no answer.
        let _ = Line::set(self, high);
    }
}

/// A line on which every change is an edge, or only the changes in one direction.
struct Watched {
    line: Line,
    direction: Option<OneDirection>,
}

/// The edge that is a stimulus. The opposite one ends the pulse of the other machine, and with it the answer.
struct OneDirection {
    rising: bool,
    answer: Arc<Pulsed<Line>>,
}

impl Edges for Watched {
    #[inline]
    fn wait(&mut self) -> Edge {
        if let Some(without) = readable(self.line.file()) {
            return without;
        }
        let Ok(edge) = self.line.edge() else { return Edge::Closed };
        match &self.direction {
            Some(one) if one.rising != edge.rising => {
                one.answer.end();
                Edge::Nothing
            }
            _ => Edge::Seen { at_ns: Some(edge.at_ns) },
        }
    }
}

/// Every change of the line is an edge, so one system call gives it.
struct Toggled {
    line: Line,
    high: AtomicBool,
}

impl Pulses for Toggled {
    fn pulse(&self, _number: u8) {
        let high = !self.high.fetch_xor(true, Relaxed);
        Level::set(&self.line, high);
    }
}

/// Only the rising edges of the line are answers.
struct Pulsed<L> {
    line: L,
    high: AtomicBool,
}

impl<L: Level> Pulsed<L> {
    fn end(&self) {
        if self.high.swap(false, Relaxed) {
            self.line.set(false);
        }
    }
}

impl<L: Level> Pulses for Arc<Pulsed<L>> {
    fn pulse(&self, _number: u8) {
        // An answer that came after the end of the other machine's pulse is still there.
        self.end();
        self.high.store(true, Relaxed);
        self.line.set(true);
    }
}

fn chip(options: &Gpio) -> &Path {
    Path::new(options.chip().unwrap_or(CHIP))
}

fn setup(options: &Gpio, cpu: u32, place: PartnerPlace) -> io::Result<ThreadSetup> {
    let chip = chip(options);
    let line = Line::input(chip, options.r#in() as u32)?;
    let (answer, high) = (Line::output(chip, options.out() as u32)?, AtomicBool::new(false));
    if options.role() == WiredRole::Stimulus {
        let stretch = match options.sample() {
            Sample::Arrival => Stretch::Arrival,
            Sample::RoundTrip => Stretch::RoundTrip,
        };
        let edges = Watched { line, direction: None };
        let (input, output) = unnumbered::stimulating(edges, Toggled { line: answer, high });
        return Ok(super::stimulating(cpu, output, input, stretch, place));
    }
    let rising = match options.edge() {
        gpio::Edge::Rising => Some(true),
        gpio::Edge::Falling => Some(false),
        gpio::Edge::Both => None,
    };
    let (input, output) = match rising {
        None => unnumbered::answering(Watched { line, direction: None }, Toggled { line: answer, high }),
        Some(rising) => {
            let answer = Arc::new(Pulsed { line: answer, high });
            let direction = Some(OneDirection { rising, answer: answer.clone() });
            unnumbered::answering(Watched { line, direction }, answer)
        }
    };
    answering::setup(cpu, input, output, Answering::new(options.hops(), options.delay_us()), place)
}

/// Reason why a chip cannot be opened.
fn of_chip(root: &Path, chip: &Path) -> Vec<Obstacle> {
    match device::open_below(root, chip) {
        Ok(_) => Vec::new(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![Obstacle {
            kind: ObstacleKind::Device,
            text: format!("there are no GPIO lines ({})", chip.display()),
            fix: "`modprobe gpio-sim` makes a simulated one where the kernel has it; chip= names another one".into(),
        }],
        Err(error) => vec![device::obstacle("GPIO chip", chip, &error)],
    }
}

impl MeasuringMethod for OnDevice<'_, Gpio> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let obstacle =
            |text: &str, fix: &str| vec![Obstacle { kind: ObstacleKind::Wiring, text: text.into(), fix: fix.into() }];
        let of_chip = of_chip(root, chip(self));
        if !of_chip.is_empty() {
            return of_chip;
        }
        if self.edge.is_some() && self.role() != WiredRole::Answer {
            return obstacle("edge= is for role=answer", "leave out edge=, or answer with role=answer");
        }
        // Which lines are wired is known to the user alone.
        if self.r#in.is_some() && self.out.is_some() {
            return Vec::new();
        }
        obstacle("no lines are named for stimulus and answer", "add in=LINE,out=LINE; `gpioinfo` lists the lines")
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let refused = |source| MethodError::Refused { method: Method::Gpio, action: "take the GPIO lines", source };
        // One wire, so one thread.
        let setup = |cpu| setup(self, cpu, PartnerPlace::of(run, cpu, self.partner())).map_err(refused);
        super::cpu_of_wire(run, self.role().into()).into_iter().map(setup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

    #[test]
    fn lines_are_named_by_the_user() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds("gpio:in=0,out=1"), [ObstacleKind::Device]);
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/gpiochip0"), "").unwrap();
        assert_eq!(kinds("gpio:in=0"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("gpio:in=0,out=1"), []);
        assert_eq!(kinds("gpio:in=0,out=1,edge=falling"), []);
        assert_eq!(kinds("gpio:in=0,out=1,edge=falling,role=stimulus"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("gpio:in=0,out=1,chip=/dev/gpiochip1"), [ObstacleKind::Device]);
    }

    impl Level for std::sync::Mutex<Vec<bool>> {
        fn set(&self, high: bool) {
            self.lock().unwrap().push(high);
        }
    }

    #[test]
    fn every_answer_to_one_direction_is_a_rising_edge() {
        let line = Arc::new(Pulsed { line: std::sync::Mutex::default(), high: AtomicBool::new(false) });
        line.end();
        line.pulse(1);
        line.end();
        line.end();
        // The answer to 3 comes while that to 2 still stands.
        line.pulse(2);
        line.pulse(3);
        assert_eq!(*line.line.lock().unwrap(), [true, false, true, false, true]);
    }
}
