//! `parallel`: a strobe on a parallel port and the interrupt that answers it (lpptest).

use super::Stretch;
use super::answering::{self, Answering};
use super::unnumbered::{self, Edge, Edges, Pulses, readable};
use crate::OnDevice;
use crate::device;
use crate::kernel::parallel_port::ParallelPort;
use archive::method::parallel::Parallel;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, WiredRole};
use meter::journal::Journal;
use meter::kernel::clock;
use meter::methods::error::MethodError;
use meter::methods::stimulus::PartnerPlace;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

const PORT: &str = "/dev/parport0";

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

fn name(options: &Parallel) -> &Path {
    Path::new(options.port().unwrap_or(PORT))
}

fn setup(options: &Parallel, cpu: u32, place: PartnerPlace) -> io::Result<ThreadSetup> {
    let port = Arc::new(ParallelPort::claim(name(options))?);
    port.take_interrupts()?;
    let echo = Echo { within_ns: options.echo_us() as i64 * 1_000, until_ns: Arc::default() };
    let interrupts = Interrupts { port: port.clone(), left: 0, echo: echo.clone() };
    let strobe = Strobe { port, echo };
    match options.role() {
        WiredRole::Answer => {
            let (input, output) = unnumbered::answering(interrupts, strobe);
            answering::setup(cpu, input, output, Answering::new(options.hops(), options.delay_us()), place)
        }
        WiredRole::Stimulus => {
            let (input, output) = unnumbered::stimulating(interrupts, strobe);
            Ok(super::stimulating(cpu, output, input, Stretch::RoundTrip, place))
        }
    }
}

impl MeasuringMethod for OnDevice<'_, Parallel> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let obstacle = |kind, text: String, fix: &str| vec![Obstacle { kind, text, fix: fix.into() }];
        let name = name(self);
        match device::open_below(root, name) {
            Ok(_) => return Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return vec![device::obstacle("parallel port", name, &error)],
        }
        if root.join("proc/sys/dev/parport").exists() {
            let text = format!("there is no {}, although the kernel has parallel ports", name.display());
            return obstacle(ObstacleKind::Module, text, "modprobe ppdev");
        }
        let text = format!("there is no parallel port ({})", name.display());
        obstacle(ObstacleKind::Device, text, "where the machine has one: modprobe parport_pc; modprobe ppdev")
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let refused =
            |source| MethodError::Refused { method: Method::Parallel, action: "claim the parallel port", source };
        // One wire, so one thread.
        let setup = |cpu| setup(self, cpu, PartnerPlace::of(run, cpu, self.partner())).map_err(refused);
        super::cpu_of_wire(run, self.role().into()).into_iter().map(setup).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = || {
            OnDevice(&Parallel::default()).obstacles(root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(), [ObstacleKind::Device]);
        std::fs::create_dir_all(root.path().join("proc/sys/dev/parport")).unwrap();
        assert_eq!(kinds(), [ObstacleKind::Module]);
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::fs::write(root.path().join("dev/parport0"), "").unwrap();
        assert_eq!(kinds(), []);
    }
}
