//! `gpio`: an edge on one line and its answer on another, with the kernel's time stamps of the edges.

use super::unnumbered::{self, Edge, Edges, Pulses, readable};
use super::{Role, Stretch, answering};
use crate::journal::Journal;
use crate::kernel::gpio::Line;
use crate::methods::device;
use crate::methods::error::MethodError;
use crate::methods::{MeasuringMethod, Site, Station};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const CHIP: &str = "/dev/gpiochip0";

pub struct Gpio;

/// What a line that answers needs; a test has no GPIO chip.
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

fn chip(request: &MethodRequest) -> &str {
    request.value("chip").unwrap_or(CHIP)
}

fn station(site: &Site, cpu: u32) -> io::Result<Station> {
    let request = site.request();
    let chip = Path::new(chip(request));
    let line = Line::input(chip, request.number("in") as u32)?;
    let (answer, high) = (Line::output(chip, request.number("out") as u32)?, AtomicBool::new(false));
    let rising = match request.value("edge") {
        Some("rising") => Some(true),
        Some("falling") => Some(false),
        _ => None,
    };
    if Role::of(request) == Role::Answer {
        let (input, output) = match rising {
            None => unnumbered::answering(Watched { line, direction: None }, Toggled { line: answer, high }),
            Some(rising) => {
                let answer = Arc::new(Pulsed { line: answer, high });
                let direction = Some(OneDirection { rising, answer: answer.clone() });
                unnumbered::answering(Watched { line, direction }, answer)
            }
        };
        return answering::station(site, cpu, input, output);
    }
    let (edges, toggled) = (Watched { line, direction: None }, Toggled { line: answer, high });
    let stretch = match request.value("sample") {
        Some("arrival") => Stretch::Arrival,
        _ => Stretch::RoundTrip,
    };
    let (input, output) = unnumbered::stimulating(edges, toggled);
    Ok(super::stimulating(site, cpu, output, input, stretch))
}

impl MeasuringMethod for Gpio {
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle> {
        let chip = request.map_or(CHIP, chip);
        let obstacle = |kind, text, fix: &str| vec![Obstacle { kind, text, fix: fix.into() }];
        let opened = device::open_below(root, Path::new(chip));
        if opened.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let fix = "`modprobe gpio-sim` makes a simulated one where the kernel has it; chip= names another one";
            return obstacle(ObstacleKind::Device, format!("there are no GPIO lines ({chip})"), fix);
        }
        if let Err(error) = opened {
            return vec![device::obstacle("GPIO chip", Path::new(chip), &error)];
        }
        // Which lines are wired is known to the user alone.
        let wired = |request: &MethodRequest| request.is_set("in") && request.is_set("out");
        if request.is_some_and(|request| request.is_set("edge") && Role::of(request) != Role::Answer) {
            let text = "edge= is for role=answer".to_owned();
            return obstacle(ObstacleKind::Wiring, text, "leave out edge=, or answer with role=answer");
        }
        if request.is_some_and(wired) {
            return Vec::new();
        }
        let text = "no lines are named for stimulus and answer".to_owned();
        obstacle(ObstacleKind::Wiring, text, "add in=LINE,out=LINE; `gpioinfo` lists the lines")
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let refused = |source| MethodError::Refused { method: Method::Gpio, action: "take the GPIO lines", source };
        // One wire, so one thread.
        super::cpu_of_wire(site).into_iter().map(|cpu| station(site, cpu).map_err(refused)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_by_the_user() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| {
            let request = MethodRequest::parse(text).unwrap();
            Gpio.obstacles(root.path(), Some(&request)).into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
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
