//! The body of an upload: read from the disk as the connection takes it, and only after the server asked for it.

use archive::packed::PackedError;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use store::PackedArchive;
use tokio::sync::mpsc;

/// Bytes that are read at a time, and how many of these pieces wait for the connection.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;

/// The stream of an archive.
pub struct PackedBody {
    state: State,
    bytes: u64,
    sent: Arc<AtomicU64>,
}

enum State {
    /// The future completes when the server asks for the body.
    Waiting(Pin<Box<dyn Future<Output = ()> + Send>>, Arc<PackedArchive>),
    Reading(mpsc::Receiver<io::Result<Bytes>>),
}

impl PackedBody {
    /// A body that is sent after `asked`, and counts its bytes in `sent`.
    pub fn new(
        packed: Arc<PackedArchive>,
        asked: impl Future<Output = ()> + Send + 'static,
        sent: Arc<AtomicU64>,
    ) -> Self {
        let bytes = packed.bytes();
        Self { state: State::Waiting(Box::pin(asked), packed), bytes, sent }
    }
}

impl Body for PackedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let State::Waiting(asked, packed) = &mut self.state {
            ready!(asked.as_mut().poll(context));
            let packed = Arc::clone(packed);
            self.state = State::Reading(pieces(packed));
        }
        let State::Reading(pieces) = &mut self.state else { return Poll::Pending };
        let piece = ready!(pieces.poll_recv(context));
        if let Some(Ok(piece)) = &piece {
            self.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.saturating_sub(self.sent.load(Ordering::Relaxed)))
    }
}

/// Reads an archive on a thread of its own.
fn pieces(packed: Arc<PackedArchive>) -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let mut sink = Sink { sender: sender.clone(), piece: Vec::with_capacity(PIECE) };
        let written = packed.write(&mut sink);
        if let Err(error) = written {
            let error = match error {
                PackedError::Io(error) => error,
                other => io::Error::other(other),
            };
            // Nobody reads it if the connection is gone.
            let _ = sender.blocking_send(Err(error));
        }
    });
    receiver
}

/// Collects what is written into pieces.
struct Sink {
    sender: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.sender.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
