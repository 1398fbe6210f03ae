//! `serial`: a byte on a serial line and its answer, over a pair of pseudo-terminals. Woerner's method, without a port.

use super::{Answering, Input, Output, Reading, Stretch, Wires};
use crate::journal::Journal;
use crate::kernel::pty;
use crate::methods::error::MethodError;
use crate::methods::{MeasuringMethod, Site, Station};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// So often a wait for a byte ends to see whether the run is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

pub struct Serial;

/// One end of the line.
struct End(Arc<File>);

impl Input for End {
    #[inline]
    fn read(&mut self) -> Reading {
        let mut waiting = [PollFd::new(&*self.0, PollFlags::IN)];
        match poll(&mut waiting, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Reading::Nothing,
            Ok(_) => {}
            Err(_) => return Reading::Closed,
        }
        let mut number = [0];
        match (&*self.0).read(&mut number) {
            Ok(1) => Reading::Number { number: number[0], received_ns: None },
            _ => Reading::Closed,
        }
    }
}

impl Output for End {
    fn write(&self, number: u8) {
        let _ = (&*self.0).write(&[number]);
    }
}

/// Both ends, which pass every byte on as it is.
fn line() -> io::Result<(Arc<File>, Arc<File>)> {
    let (near, far) = pty::pair()?;
    let mut terminal = tcgetattr(&far)?;
    terminal.make_raw();
    tcsetattr(&far, OptionalActions::Now, &terminal)?;
    Ok((Arc::new(near), Arc::new(far)))
}

fn station(site: &Site, cpu: u32) -> io::Result<Station> {
    let (near, far) = line()?;
    let wires = Wires {
        stimulus: Box::new(End(near.clone())),
        answer: Box::new(End(near)),
        far: (Box::new(End(far.clone())), Box::new(End(far))),
    };
    super::station(site, cpu, wires, Answering::of(site.request()), Stretch::RoundTrip)
}

impl MeasuringMethod for Serial {
    fn obstacles(&self, root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        if root.join("dev/ptmx").exists() {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Device,
            text: "there are no pseudo-terminals (/dev/ptmx)".into(),
            fix: "mount -t devpts devpts /dev/pts, and use a kernel with CONFIG_UNIX98_PTYS".into(),
        }]
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let refused = |source| MethodError::Refused { method: Method::Serial, action: "open pseudo-terminals", source };
        site.measured.iter().map(|cpu| station(site, *cpu).map_err(refused)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_passes_as_it_is_in_both_directions() {
        let (near, far) = line().unwrap();
        let (mut near, mut far) = (End(near), End(far));
        assert_eq!(near.read(), Reading::Nothing);
        for number in 0..=u8::MAX {
            near.write(number);
            assert_eq!(far.read(), Reading::Number { number, received_ns: None });
            far.write(number);
            assert_eq!(near.read(), Reading::Number { number, received_ns: None });
        }
        drop(far);
        assert_eq!(near.read(), Reading::Closed);
    }

    #[test]
    fn a_machine_without_pseudo_terminals_is_named() {
        let root = tempfile::tempdir().unwrap();
        let obstacles = Serial.obstacles(root.path(), None);
        assert_eq!(obstacles.iter().map(|one| one.kind).collect::<Vec<_>>(), [ObstacleKind::Device]);
    }
}
