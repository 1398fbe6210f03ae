//! `serial`: a byte on a serial line and its answer. Woerner's method, over a port or over a pair of pseudo-terminals.

use super::answering::{self, Answering};
use super::{Input, Output, Reading, Stretch, Wires};
use crate::OnDevice;
use crate::device;
use archive::method::serial::Serial;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, Role};
use meter::journal::{Entry, Journal};
use meter::kernel::{pty, serial_port};
use meter::methods::error::MethodError;
use meter::methods::stimulus::PartnerPlace;
use meter::methods::{MeasuringMethod, RunContext, ThreadSetup};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, access};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// So often a wait for a byte ends to see whether the run is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// One end of the line. A write does not wait for room: a machine that reads nothing would keep the thread.
struct End(Arc<File>);

impl End {
    fn of(line: &Arc<File>) -> io::Result<Self> {
        ioctl_fionbio(line, true)?;
        Ok(Self(line.clone()))
    }
}

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
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Reading::Nothing,
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

fn refused(action: &'static str) -> impl Fn(io::Error) -> MethodError {
    move |source| MethodError::Refused { method: Method::Serial, action, source }
}

fn answering(options: &Serial) -> Answering {
    Answering::new(options.hops(), options.delay_us())
}

fn both_ends(options: &Serial, cpu: u32, place: PartnerPlace) -> Result<ThreadSetup, MethodError> {
    let refused = refused("open pseudo-terminals");
    let (near, far) = line().map_err(&refused)?;
    let end = |line: &Arc<File>| End::of(line).map_err(&refused).map(Box::new);
    let wires = Wires { stimulus: end(&near)?, answer: end(&near)?, far: (end(&far)?, end(&far)?) };
    super::setup(cpu, wires, Stretch::RoundTrip, answering(options), place).map_err(refused)
}

fn one_end(options: &Serial, cpu: u32, place: PartnerPlace, journal: &mut Journal) -> Result<ThreadSetup, MethodError> {
    let path = Path::new(options.port().unwrap_or_default());
    let end = Arc::new(if is_socket(path) {
        File::from(OwnedFd::from(UnixStream::connect(path).map_err(refused("connect to the socket of the port"))?))
    } else {
        port(path, options.baud() as u32, journal)?
    });
    let half = || End::of(&end).map_err(refused("set the port up")).map(Box::new);
    let (input, output) = (half()?, half()?);
    match options.role() {
        Role::Answer => answering::setup(cpu, input, output, answering(options), place).map_err(refused("make pipes")),
        _ => Ok(super::stimulating(cpu, output, input, Stretch::RoundTrip, place)),
    }
}

fn is_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_socket())
}

fn port(path: &Path, baud: u32, journal: &mut Journal) -> Result<File, MethodError> {
    let refused = refused("set the serial port up");
    let path = path.canonicalize().map_err(&refused)?;
    let port = serial_port::open_port(&path).map_err(&refused)?;
    serial_port::lock(&port)
        .map_err(|_| MethodError::Impossible { method: Method::Serial, obstacles: vec![in_use(&path)] })?;
    let before = serial_port::settings(&port).map_err(&refused)?;
    journal.note(Entry::SerialPort { path, before })?;
    serial_port::set_raw(&port, baud).map_err(refused)?;
    Ok(port)
}

fn in_use(path: &Path) -> Obstacle {
    Obstacle {
        kind: ObstacleKind::InUse,
        text: format!("another program uses {}", path.display()),
        fix: format!("end it; `fuser {}` shows which it is", path.display()),
    }
}

/// Reason why both ends of a line cannot be opened.
fn no_terminals(error: &io::Error) -> Vec<Obstacle> {
    let (kind, fix) = match error.kind() {
        io::ErrorKind::PermissionDenied => (ObstacleKind::Right, "mount -o remount,ptmxmode=0666 /dev/pts, as root"),
        io::ErrorKind::StorageFull => (ObstacleKind::InUse, "raise /proc/sys/kernel/pty/max"),
        _ => (ObstacleKind::Device, "mount -t devpts devpts /dev/pts, and use a kernel with CONFIG_UNIX98_PTYS"),
    };
    vec![Obstacle { kind, text: format!("there are no pseudo-terminals (/dev/ptmx: {error})"), fix: fix.into() }]
}

impl MeasuringMethod for OnDevice<'_, Serial> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        let obstacle = |kind, text: String, fix: &str| vec![Obstacle { kind, text, fix: fix.into() }];
        match (self.role(), self.port()) {
            (Role::Both, None) => match pty::open_below(root) {
                Ok(_) => Vec::new(),
                Err(error) => no_terminals(&error),
            },
            (Role::Both, Some(_)) => obstacle(
                ObstacleKind::Wiring,
                "a port has one end here, and role=both needs two".into(),
                "add role=stimulus or role=answer",
            ),
            (_, None) => obstacle(
                ObstacleKind::Wiring,
                "no serial port is named that leads to the other machine".into(),
                "add port=/dev/ttyS1",
            ),
            // Opening a port changes its lines.
            (_, Some(port)) => {
                match access(root.join(port.trim_start_matches('/')), Access::READ_OK | Access::WRITE_OK) {
                    Ok(()) => Vec::new(),
                    Err(Errno::NOENT) => obstacle(
                        ObstacleKind::Device,
                        format!("there is no {port}"),
                        "`ls /sys/class/tty` lists the ports; a virtual machine's socket exists while it runs",
                    ),
                    Err(error) => vec![device::obstacle("serial port", Path::new(port), &error.into())],
                }
            }
        }
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let place = |cpu| PartnerPlace::of(run, cpu, self.partner());
        match self.role() {
            Role::Both => run.measured.iter().map(|cpu| both_ends(self, *cpu, place(*cpu))).collect(),
            // One wire, so one thread.
            role => {
                let setup = |cpu| one_end(self, cpu, place(cpu), journal);
                super::cpu_of_wire(run, role).into_iter().map(setup).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

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
    fn a_machine_that_reads_nothing_and_sends_without_end_keeps_no_thread() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let line = Arc::new(File::from(OwnedFd::from(ours)));
        let (mut input, output) = (End::of(&line).unwrap(), End::of(&line).unwrap());
        theirs.set_nonblocking(true).unwrap();
        while (&theirs).write(&[7; 4096]).is_ok() {}
        for number in 0..100_000_u32 {
            output.write(number as u8);
        }
        assert_eq!(input.read(), Reading::Number { number: 7, received_ns: None });
    }

    #[test]
    fn what_a_role_lacks_is_named() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let kinds = |text: &str| obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds("serial"), [ObstacleKind::Device]);
        assert_eq!(kinds("serial:role=answer"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("serial:port=/dev/ttyS1"), [ObstacleKind::Wiring]);
        assert_eq!(kinds("serial:role=stimulus,port=/dev/ttyS1"), [ObstacleKind::Device]);
        std::fs::write(root.path().join("dev/ttyS1"), "").unwrap();
        assert_eq!(kinds("serial:role=stimulus,port=/dev/ttyS1"), []);
    }
}
