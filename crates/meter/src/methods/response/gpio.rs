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
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const CHIP: &str = "/dev/gpiochip0";

pub struct Gpio;

impl Edges for Line {
    #[inline]
    fn wait(&mut self) -> Edge {
        if let Some(without) = readable(self.file()) {
            return without;
        }
        self.edge_ns().map_or(Edge::Closed, |at_ns| Edge::Seen { at_ns: Some(at_ns) })
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
        // A line that does not change shows as no answer.
        let _ = self.line.set(high);
    }
}

fn chip(request: &MethodRequest) -> &str {
    request.value("chip").unwrap_or(CHIP)
}

fn station(site: &Site, cpu: u32) -> io::Result<Station> {
    let request = site.request();
    let chip = Path::new(chip(request));
    let edges = Line::input(chip, request.number("in") as u32)?;
    let toggled = Toggled { line: Line::output(chip, request.number("out") as u32)?, high: AtomicBool::new(false) };
    if Role::of(request) == Role::Answer {
        let (input, output) = unnumbered::answering(edges, toggled);
        return answering::station(site, cpu, input, output);
    }
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
        if request.is_some_and(wired) {
            return Vec::new();
        }
        let text = "no lines are named for stimulus and answer".to_owned();
        obstacle(ObstacleKind::Wiring, text, "add in=LINE,out=LINE; `gpioinfo` lists the lines")
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let refused = |source| MethodError::Refused { method: Method::Gpio, action: "take the GPIO lines", source };
        // One wire, so one thread.
        site.measured.iter().take(1).map(|cpu| station(site, *cpu).map_err(refused)).collect()
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
        assert_eq!(kinds("gpio:in=0,out=1,chip=/dev/gpiochip1"), [ObstacleKind::Device]);
    }
}
