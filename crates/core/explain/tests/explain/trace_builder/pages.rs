//! Encodes records into ring-buffer pages of a 64-bit little-endian kernel.

const PAGE_SIZE: usize = 4096;
const DATA_OFFSET: usize = 16;
const LOST: u64 = 1 << 31;
/// The number of lost events follows the data.
const LOST_COUNTED: u64 = 1 << 30;
const DELTA_LIMIT: u64 = 1 << 27;

#[derive(Debug, Default)]
pub struct Pages {
    done: Vec<u8>,
    /// Data of the page being filled.
    data: Vec<u8>,
    begins_ns: u64,
    last_ns: u64,
    /// Events lost before the page being filled.
    lost: Option<u64>,
}

impl Pages {
    /// Times must not go back.
    pub fn push(&mut self, ts_ns: u64, payload: &[u8]) {
        let padded = payload.len().next_multiple_of(4);
        if self.data.len() + padded + 24 > PAGE_SIZE - DATA_OFFSET {
            self.flush();
        }
        if self.data.is_empty() {
            (self.begins_ns, self.last_ns) = (ts_ns, ts_ns);
        }
        let mut delta = ts_ns.saturating_sub(self.last_ns);
        self.last_ns = ts_ns;
        if delta >= DELTA_LIMIT {
            let low = (delta & (DELTA_LIMIT - 1)) as u32;
            self.data.extend_from_slice(&((low << 5) | 30).to_le_bytes());
            self.data.extend_from_slice(&((delta >> 27) as u32).to_le_bytes());
            delta = 0;
        }
        let words = padded / 4;
        let short = words <= 28;
        let type_len = if short { words as u32 } else { 0 };
        self.data.extend_from_slice(&(((delta as u32) << 5) | type_len).to_le_bytes());
        if !short {
            self.data.extend_from_slice(&(padded as u32 + 4).to_le_bytes());
        }
        self.data.extend_from_slice(payload);
        self.data.resize(self.data.len() + padded - payload.len(), 0);
    }

    /// The kernel lost events here; the next page reports it.
    pub fn lose(&mut self, count: u64) {
        self.flush();
        self.lost = Some(count);
    }

    fn flush(&mut self) {
        if self.data.is_empty() {
            return;
        }
        self.done.extend_from_slice(&self.begins_ns.to_le_bytes());
        let flags = if self.lost.is_some() { LOST | LOST_COUNTED } else { 0 };
        self.done.extend_from_slice(&(self.data.len() as u64 | flags).to_le_bytes());
        self.done.append(&mut self.data);
        if let Some(count) = self.lost.take() {
            self.done.extend_from_slice(&count.to_le_bytes());
        }
        self.done.resize(self.done.len().next_multiple_of(PAGE_SIZE), 0);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.flush();
        self.done
    }
}
