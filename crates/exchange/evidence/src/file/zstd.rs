//! Unpacks zstd, frame after frame, as it is read.

use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, ErrorKind, Read};

/// The contents of a packed file.
pub enum Zstd<R: BufRead> {
    /// Before a frame, or at the end.
    Packed(R),
    Frame(Box<StreamingDecoder<R, FrameDecoder>>),
    /// After an error.
    Broken,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, plain: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(self, Self::Broken) {
                Self::Packed(mut packed) => {
                    if packed.fill_buf()?.is_empty() {
                        *self = Self::Packed(packed);
                        return Ok(0);
                    }
                    let frame = StreamingDecoder::new(packed).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
                    *self = Self::Frame(Box::new(frame));
                }
                Self::Frame(mut frame) => {
                    let read = frame.read(plain)?;
                    if read > 0 || plain.is_empty() {
                        *self = Self::Frame(frame);
                        return Ok(read);
                    }
                    *self = Self::Packed(frame.into_inner());
                }
                Self::Broken => return Err(ErrorKind::InvalidData.into()),
            }
        }
    }
}
