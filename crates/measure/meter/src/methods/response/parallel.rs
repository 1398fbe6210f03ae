//! `parallel`: a strobe on a parallel port and the interrupt that answers it (lpptest).

use super::unnumbered::{self, Edge, Edges, Pulses, readable};
use super::{Role, Stretch, answering};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::kernel::parallel_port::ParallelPort;
use crate::methods::device;
use crate::methods::error::MethodError;
use crate::methods::{MeasuringMethod, Site, Station};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

const PORT: &str = "/dev/parport0";

pub struct Parallel;

/// Where edges come in.
struct Interrupts {
    port: Arc<ParallelPort>,
    /// Interrupts that came together with one that was reported.
    left: u32,
    echo: Echo,
}

/// Interrupts that a port's own strobe raises.
#[derive(Clone)]
struct Echo {
    /// They come within this time; 0: there are none.
    within_ns: i64,
    /// Until when they come; 0: none is expected.
    until_ns: Arc<AtomicI64>,
}

impl Interrupts {
    /// Waits for the echo of the last strobe and forgets it.
    fn forget_echo(&self) {
        let until_ns = self.echo.until_ns.swap(0, Relaxed);
        if until_ns > 0 {
            clock::sleep_until_ns(until_ns);
            let _ = self.port.take_interrupts();
        }
    }
}

impl Edges for Interrupts {
    #[inline]
    fn wait(&mut self) -> Edge {
        if self.left == 0 {
            self.forget_echo();
            if let Some(without) = readable(self.port.file()) {
                return without;
            }
            match self.port.take_interrupts() {
                Ok(0) => return Edge::Nothing,
                Ok(count) => self.left = count,
                Err(_) => return Edge::Closed,
            }
        }
        self.left -= 1;
        Edge::Seen { at_ns: None }
    }
}

struct Strobe {
    port: Arc<ParallelPort>,
    echo: Echo,
}

impl Pulses for Strobe {
    fn pulse(&self, number: u8) {
        // What cannot be sent shows as no answer.
        let _ = self.port.send(number);
        if self.echo.within_ns > 0 {
            self.echo.until_ns.store(clock::monotonic_ns() + self.echo.within_ns, Relaxed);
        }
    }
}

fn name(request: &MethodRequest) -> &str {
    request.value("port").unwrap_or(PORT)
}

fn station(site: &Site, cpu: u32) -> io::Result<Station> {
    let request = site.request();
    let port = Arc::new(ParallelPort::claim(Path::new(name(request)))?);
    port.take_interrupts()?;
    let echo = Echo { within_ns: request.number("echo_us") as i64 * 1_000, until_ns: Arc::default() };
    let interrupts = Interrupts { port: port.clone(), left: 0, echo: echo.clone() };
    let strobe = Strobe { port, echo };
    if Role::of(request) == Role::Answer {
        let (input, output) = unnumbered::answering(interrupts, strobe);
        return answering::station(site, cpu, input, output);
    }
    let (input, output) = unnumbered::stimulating(interrupts, strobe);
    Ok(super::stimulating(site, cpu, output, input, Stretch::RoundTrip))
}

impl MeasuringMethod for Parallel {
    fn obstacles(&self, root: &Path, request: Option<&MethodRequest>) -> Vec<Obstacle> {
        let obstacle = |kind, text: String, fix: &str| vec![Obstacle { kind, text, fix: fix.into() }];
        let name = request.map_or(PORT, name);
        match device::open_below(root, Path::new(name)) {
            Ok(_) => return Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return vec![device::obstacle("parallel port", Path::new(name), &error)],
        }
        if root.join("proc/sys/dev/parport").exists() {
            let text = format!("there is no {name}, although the kernel has parallel ports");
            return obstacle(ObstacleKind::Module, text, "modprobe ppdev");
        }
        let text = format!("there is no parallel port ({name})");
        obstacle(ObstacleKind::Device, text, "where the machine has one: modprobe parport_pc; modprobe ppdev")
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let refused =
            |source| MethodError::Refused { method: Method::Parallel, action: "claim the parallel port", source };
        // One wire, so one thread.
        super::cpu_of_wire(site).into_iter().map(|cpu| station(site, cpu).map_err(refused)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = || Parallel.obstacles(root.path(), None).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds(), [ObstacleKind::Device]);
        std::fs::create_dir_all(root.path().join("proc/sys/dev/parport")).unwrap();
        assert_eq!(kinds(), [ObstacleKind::Module]);
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/parport0"), "").unwrap();
        assert_eq!(kinds(), []);
    }
}
