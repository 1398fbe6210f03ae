//! An external board that gives stimuli and speaks latmon, as a thread of a test.
//!
//! It shares no code with the program that it tests. It follows Zephyr's implementation, also where that surprises: the first
//! record is dropped as a warm-up but stays in the histogram, and a stimulus without an answer ends the measurement.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

/// A wire to the machine under test.
pub trait Wire: Send {
    /// Gives a stimulus; the time until the answer, if it came in time.
    fn stimulate(&mut self) -> Option<Duration>;
}

impl<F: FnMut() -> Option<Duration> + Send> Wire for F {
    fn stimulate(&mut self) -> Option<Duration> {
        self()
    }
}

/// How the board behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conduct {
    /// As Zephyr's latmon.
    Proper,
    /// It goes on where an answer is missing, as older boards do.
    Patient,
    /// It closes the connection after this number of records.
    Cut { records: u32 },
    /// It is no such board.
    Other,
}

/// A board that waits for one connection.
pub struct Board {
    address: SocketAddr,
    sent: Arc<AtomicU64>,
    thread: JoinHandle<io::Result<Seen>>,
}

/// Counts of the board when the connection ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    pub period_us: u32,
    pub cells: u32,
    /// Answers and overruns that it has sent in records.
    pub answers: u64,
    pub overruns: u64,
    pub sum_ns: u64,
    pub max_ns: u32,
    /// It was asked to end.
    pub ended: bool,
}

impl Board {
    /// Starts a board on the loop-back interface.
    ///
    /// # Errors
    /// Errors of sockets.
    pub fn start(wire: impl Wire + 'static, conduct: Conduct) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let sent = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&sent);
        let thread = std::thread::spawn(move || serve(listener.accept()?.0, wire, conduct, &counted));
        Ok(Self { address, sent, thread })
    }

    /// The value of `--stimulus`.
    pub fn request(&self) -> String {
        format!("latmon:{}", self.address)
    }

    /// Answers that it has sent in records so far.
    pub fn answers(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Waits until the connection ends.
    ///
    /// # Errors
    /// If neither the host nor the conduct of the board ended it.
    pub fn seen(self) -> io::Result<Seen> {
        self.thread.join().map_err(|_| io::Error::other("the board's thread panicked"))?
    }
}

/// Answers since the record before.
struct Bulk {
    sum_ns: u64,
    min_ns: u32,
    max_ns: u32,
    overruns: u32,
    answers: u32,
}

impl Bulk {
    const EMPTY: Self = Self { sum_ns: 0, min_ns: u32::MAX, max_ns: 0, overruns: 0, answers: 0 };

    fn add(&mut self, latency: Duration) {
        let ns = u32::try_from(latency.as_nanos()).unwrap_or(u32::MAX);
        self.sum_ns += u64::from(ns);
        (self.min_ns, self.max_ns) = (self.min_ns.min(ns), self.max_ns.max(ns));
        self.answers += 1;
    }

    fn send(&mut self, to: &mut TcpStream, seen: &mut Seen) -> io::Result<()> {
        let (high, low) = ((self.sum_ns >> 32) as u32, self.sum_ns as u32);
        let numbers = [high, low, self.min_ns, self.max_ns, self.overruns, self.answers];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        to.write_all(&bytes)?;
        seen.answers += u64::from(self.answers);
        seen.overruns += u64::from(self.overruns);
        seen.sum_ns += self.sum_ns;
        seen.max_ns = seen.max_ns.max(self.max_ns);
        *self = Self::EMPTY;
        Ok(())
    }
}

fn serve(mut host: TcpStream, mut wire: impl Wire, conduct: Conduct, sent: &AtomicU64) -> io::Result<Seen> {
    let mut seen = Seen::default();
    if conduct == Conduct::Other {
        host.write_all(b"220 mail.example ESMTP ready\r\n")?;
        let _ = host.read(&mut [0; 64]);
        return Ok(seen);
    }
    let Some((period_us, cells)) = request(&mut host)? else { return Ok(seen) };
    (seen.period_us, seen.cells) = (period_us, cells);
    assert!(
        (1..=1_000_000).contains(&period_us) && cells <= 1000,
        "the board refuses {period_us} us and {cells} cells"
    );
    let bulk_size = 1_000_000 / period_us;
    let (mut bulk, mut histogram) = (Bulk::EMPTY, vec![0_u32; cells as usize]);
    let (mut warm, mut goes_on, mut records) = (false, true, 0);
    host.set_nonblocking(true)?;
    loop {
        match request(&mut host) {
            Ok(Some(_)) => break,
            Ok(None) => return Ok(seen),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        std::thread::sleep(Duration::from_micros(u64::from(period_us)));
        if !goes_on {
            continue;
        }
        let Some(latency) = wire.stimulate() else {
            bulk.overruns += 1;
            goes_on = conduct != Conduct::Proper;
            continue;
        };
        bulk.add(latency);
        if let Some(last) = histogram.len().checked_sub(1) {
            histogram[last.min(latency.as_micros() as usize)] += 1;
        }
        if bulk.answers == bulk_size {
            if std::mem::replace(&mut warm, true) {
                bulk.send(&mut host, &mut seen)?;
                sent.store(seen.answers, Relaxed);
                records += 1;
            }
            bulk = Bulk::EMPTY;
        }
        if conduct == (Conduct::Cut { records }) {
            return Ok(seen);
        }
    }
    host.set_nonblocking(false)?;
    seen.ended = true;
    if bulk.answers > 0 {
        bulk.send(&mut host, &mut seen)?;
    }
    bulk.send(&mut host, &mut seen)?;
    let cells: Vec<u8> = histogram.iter().flat_map(|count| count.to_be_bytes()).collect();
    host.write_all(&cells)?;
    // Until the host is gone.
    let _ = request(&mut host);
    Ok(seen)
}

/// A period and a number of cells; `None`: the host is gone.
fn request(host: &mut TcpStream) -> io::Result<Option<(u32, u32)>> {
    let mut bytes = [0; 8];
    let mut count = 0;
    while count < bytes.len() {
        match host.read(&mut bytes[count..]) {
            Ok(0) => return Ok(None),
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && count > 0 => {}
            Err(error) => return Err(error),
        }
    }
    let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok(Some((number(0), number(4))))
}
