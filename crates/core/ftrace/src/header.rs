//! The layout of a ring-buffer sub-buffer ("page"), from the text of `events/header_page`.
//!
//! The size of `commit` in the text distinguishes 64-bit kernels from 32-bit ones. The text does not contain the byte
//! order, and it shows the sub-buffer size of the top-level buffer even inside an instance with another size, so both
//! are passed separately.

use crate::byte_order::ByteOrder;

/// Offsets of the parts of a sub-buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    pub byte_order: ByteOrder,
    /// Size of `commit`, which is also the size of a kernel `long`: 4 or 8.
    pub commit_size: usize,
    /// Offset of the first event.
    pub data_offset: usize,
    /// Size of the whole sub-buffer, including the header.
    pub page_size: usize,
}

/// Larger than any sub-buffer of a kernel (its limit is 2^9 pages of 64 KiB).
const PAGE_SIZE_MAX: usize = 64 << 20;

impl PageLayout {
    /// The layout of a 64-bit kernel with 4 KiB sub-buffers.
    pub const fn bits64(byte_order: ByteOrder) -> PageLayout {
        PageLayout { byte_order, commit_size: 8, data_offset: 16, page_size: 4096 }
    }

    /// The layout of a 32-bit kernel with 4 KiB sub-buffers.
    pub const fn bits32(byte_order: ByteOrder) -> PageLayout {
        PageLayout { byte_order, commit_size: 4, data_offset: 12, page_size: 4096 }
    }

    /// Parses the text of `events/header_page`. Missing or invalid values default to the usual layout for the size of
    /// `commit` (8 if that is missing, too).
    pub fn parse(header_page: &str, byte_order: ByteOrder) -> PageLayout {
        let mut layout = PageLayout::bits64(byte_order);
        if field_line(header_page, "commit").is_some_and(|line| line.size == 4) {
            layout = PageLayout::bits32(byte_order);
        }
        let header_end = 8 + layout.commit_size;
        if let Some(data) = field_line(header_page, "data")
            && (header_end..=header_end + 64).contains(&data.offset)
            && (1..PAGE_SIZE_MAX).contains(&data.size)
        {
            layout.data_offset = data.offset;
            layout.page_size = data.offset + data.size;
        }
        layout
    }

    /// The same layout for sub-buffers of another size, as in an instance with its own `buffer_subbuf_size_kb`. A size
    /// too small for an event is ignored.
    pub fn with_page_size(mut self, page_size: usize) -> PageLayout {
        if page_size > self.data_offset && page_size <= PAGE_SIZE_MAX {
            self.page_size = page_size;
        }
        self
    }
}

struct Line {
    offset: usize,
    size: usize,
}

fn field_line(text: &str, name: &str) -> Option<Line> {
    text.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';');
        if parts.next()?.split_whitespace().next_back()? != name {
            return None;
        }
        let mut found = Line { offset: 0, size: 0 };
        for part in parts {
            match part.trim().split_once(':') {
                Some(("offset", value)) => found.offset = value.trim().parse().ok()?,
                Some(("size", value)) => found.size = value.trim().parse().ok()?,
                _ => {}
            }
        }
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITS64: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const BITS32: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";

    #[test]
    fn distinguishes_kernels_of_64_and_32_bits() {
        assert_eq!(PageLayout::parse(BITS64, ByteOrder::Little), PageLayout::bits64(ByteOrder::Little));
        assert_eq!(PageLayout::parse(BITS32, ByteOrder::Big), PageLayout::bits32(ByteOrder::Big));
    }

    #[test]
    fn falls_back_to_the_usual_layout() {
        assert_eq!(PageLayout::parse("", ByteOrder::Big), PageLayout::bits64(ByteOrder::Big));
        let absurd = "field: char data;\toffset:3;\tsize:99999999999999999999;";
        assert_eq!(PageLayout::parse(absurd, ByteOrder::Little), PageLayout::bits64(ByteOrder::Little));
    }

    #[test]
    fn page_size_of_an_instance_replaces_the_one_in_the_text() {
        let layout = PageLayout::bits64(ByteOrder::Little);
        assert_eq!(layout.with_page_size(16384).page_size, 16384);
        assert_eq!(layout.with_page_size(16).page_size, 4096);
    }
}
