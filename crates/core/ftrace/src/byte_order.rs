//! Reads integers from bytes, in the byte order of the recording machine.
//!
//! Every function returns `None` instead of panicking if the bytes are too short.

/// Byte order of a recording, possibly different from that of the reading machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The order of the machine this code was compiled for.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    #[inline]
    pub fn u16_at(self, bytes: &[u8], offset: usize) -> Option<u16> {
        let raw = array_at(bytes, offset)?;
        Some(match self {
            ByteOrder::Little => u16::from_le_bytes(raw),
            ByteOrder::Big => u16::from_be_bytes(raw),
        })
    }

    #[inline]
    pub fn u32_at(self, bytes: &[u8], offset: usize) -> Option<u32> {
        let raw = array_at(bytes, offset)?;
        Some(match self {
            ByteOrder::Little => u32::from_le_bytes(raw),
            ByteOrder::Big => u32::from_be_bytes(raw),
        })
    }

    #[inline]
    pub fn u64_at(self, bytes: &[u8], offset: usize) -> Option<u64> {
        let raw = array_at(bytes, offset)?;
        Some(match self {
            ByteOrder::Little => u64::from_le_bytes(raw),
            ByteOrder::Big => u64::from_be_bytes(raw),
        })
    }

    /// An unsigned integer of 1, 2, 4 or 8 bytes; `None` for any other size.
    #[inline]
    pub fn uint_at(self, bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
        match size {
            1 => bytes.get(offset).map(|&byte| u64::from(byte)),
            2 => self.u16_at(bytes, offset).map(u64::from),
            4 => self.u32_at(bytes, offset).map(u64::from),
            8 => self.u64_at(bytes, offset),
            _ => None,
        }
    }

    pub fn u16_bytes(self, value: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    pub fn u32_bytes(self, value: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    pub fn u64_bytes(self, value: u64) -> [u8; 8] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}

/// Sign-extends the low `size` bytes of `value`.
#[inline]
pub fn sign_extend(value: u64, size: usize) -> i64 {
    match size {
        1 => i64::from(value as u8 as i8),
        2 => i64::from(value as u16 as i16),
        4 => i64::from(value as u32 as i32),
        _ => value as i64,
    }
}

#[inline]
fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_orders_and_stops_at_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(ByteOrder::Little.u32_at(&bytes, 1), Some(0x0504_0302));
        assert_eq!(ByteOrder::Big.u32_at(&bytes, 1), Some(0x0203_0405));
        assert_eq!(ByteOrder::Big.uint_at(&bytes, 1, 8), Some(0x0203_0405_0607_0809));
        assert_eq!(ByteOrder::Little.u64_at(&bytes, 2), None);
        assert_eq!(ByteOrder::Little.u16_at(&bytes, usize::MAX), None);
        assert_eq!(ByteOrder::Little.uint_at(&bytes, 0, 3), None);
    }

    #[test]
    fn extends_the_sign_of_each_size() {
        assert_eq!(sign_extend(0xff, 1), -1);
        assert_eq!(sign_extend(0xff, 2), 255);
        assert_eq!(sign_extend(0xffff_fffe, 4), -2);
    }
}
