//! Ways to hand something to the next stage.

use rustix::event::{EventfdFlags, eventfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Pipe,
    Futex,
    Socket,
    EventFd,
    /// Over loopback: a softirq wakes the receiver.
    Udp,
    /// A pseudo-terminal: a work queue wakes the reader.
    Terminal,
}

impl LinkKind {
    pub const ALL: [Self; 6] = [Self::Pipe, Self::Futex, Self::Socket, Self::EventFd, Self::Udp, Self::Terminal];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Futex => "futex",
            Self::Socket => "socket",
            Self::EventFd => "eventfd",
            Self::Udp => "udp",
            Self::Terminal => "terminal",
        }
    }
}

pub enum Giver {
    Pipe(PipeWriter),
    Futex(Arc<(Mutex<u32>, Condvar)>),
    Socket(UnixStream),
    EventFd(File),
    Udp(UdpSocket),
    Terminal(File),
}

pub enum Taker {
    Pipe(PipeReader),
    Futex(Arc<(Mutex<u32>, Condvar)>),
    Socket(UnixStream),
    EventFd(File),
    Udp(UdpSocket),
    Terminal(File),
}

pub fn link(kind: LinkKind) -> (Giver, Taker) {
    match kind {
        LinkKind::Pipe => {
            let (reader, writer) = pipe().unwrap();
            (Giver::Pipe(writer), Taker::Pipe(reader))
        }
        LinkKind::Futex => {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            (Giver::Futex(Arc::clone(&shared)), Taker::Futex(shared))
        }
        LinkKind::Socket => {
            let (one, other) = UnixStream::pair().unwrap();
            (Giver::Socket(one), Taker::Socket(other))
        }
        LinkKind::EventFd => {
            let file = File::from(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE).unwrap());
            (Giver::EventFd(file.try_clone().unwrap()), Taker::EventFd(file))
        }
        LinkKind::Udp => {
            let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
            let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
            sender.connect(receiver.local_addr().unwrap()).unwrap();
            (Giver::Udp(sender), Taker::Udp(receiver))
        }
        LinkKind::Terminal => {
            let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&control).unwrap();
            unlockpt(&control).unwrap();
            let name = ptsname(&control, Vec::new()).unwrap();
            let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
            // What a program writes to its terminal is read at the other side as it is.
            (Giver::Terminal(terminal), Taker::Terminal(File::from(control)))
        }
    }
}

impl Giver {
    pub fn give(&mut self) {
        match self {
            Self::Pipe(writer) => writer.write_all(b"x").unwrap(),
            Self::Futex(shared) => {
                *shared.0.lock().unwrap() += 1;
                shared.1.notify_one();
            }
            Self::Socket(stream) => stream.write_all(b"x").unwrap(),
            Self::EventFd(file) => file.write_all(&1_u64.to_ne_bytes()).unwrap(),
            Self::Udp(socket) => {
                socket.send(b"x").unwrap();
            }
            Self::Terminal(file) => file.write_all(b"x").unwrap(),
        }
    }
}

impl Taker {
    /// Waits for one hand-over.
    pub fn take(&mut self) {
        match self {
            Self::Pipe(reader) => reader.read_exact(&mut [0]).unwrap(),
            Self::Futex(shared) => {
                let mut guard = shared.1.wait_while(shared.0.lock().unwrap(), |given| *given == 0).unwrap();
                *guard -= 1;
            }
            Self::Socket(stream) => stream.read_exact(&mut [0]).unwrap(),
            Self::EventFd(file) => file.read_exact(&mut [0; 8]).unwrap(),
            Self::Udp(socket) => {
                socket.recv(&mut [0]).unwrap();
            }
            Self::Terminal(file) => file.read_exact(&mut [0]).unwrap(),
        }
    }
}
