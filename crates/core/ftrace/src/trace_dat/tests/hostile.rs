//! Files designed to be expensive: each costs no more than its size allows.

use super::*;

/// A file of version 7 with these sections of options, each at a known offset.
fn with_options(sections: &[&[u8]]) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\x001.2\0".to_vec();
    let first = file.len() as u64 + 8;
    file.extend(first.to_le_bytes());
    for content in sections {
        file.extend([0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend((content.len() as u64).to_le_bytes());
        file.extend(*content);
    }
    file
}

fn option(number: u16, data: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

/// Offset of the first list of options in every file here.
const FIRST: u64 = 35;

#[test]
fn a_list_of_options_that_comes_after_itself_is_read_once() {
    let buffer = [&[0; 8][..], b"name\0mono\0", &[0; 8]].concat();
    let mut options: Vec<u8> = option(3, &buffer).repeat(100);
    options.extend(option(7, &[0; 8]).repeat(100));
    options.extend(option(0, &FIRST.to_le_bytes()));
    let bytes = with_options(&[&options]);
    assert_eq!(bytes[27..35], FIRST.to_le_bytes()[..], "the offset of the first list");
    let trace = TraceFile::parse(&bytes);
    assert_eq!(trace.buffers.len(), 100);
    let [Gap::Unsupported { .. }, Gap::Corrupt { part, .. }] = &trace.gaps[..] else { panic!("{:?}", trace.gaps) };
    assert_eq!(part, "options");
}

#[test]
fn lists_of_options_that_lie_in_each_other_are_read_up_to_a_limit() {
    // Each list is one option that contains all following ones, and the offset of the next.
    let (lists, body) = (900, 60_000);
    let mut file = with_options(&[]);
    let done_at = |list: usize| FIRST as usize + lists * 22 + body + list * 14;
    for list in 0..lists {
        let at = FIRST as usize + list * 22;
        file.extend([0; 8]);
        file.extend(((done_at(list + 1) - at - 16) as u64).to_le_bytes());
        file.extend(3u16.to_le_bytes());
        file.extend(((done_at(list) - at - 22) as u32).to_le_bytes());
    }
    file.resize(done_at(0), b'x');
    (1..=lists as u64).for_each(|next| file.extend(option(0, &(FIRST + next * 22).to_le_bytes())));
    let trace = TraceFile::parse(&file);
    let cut_short = trace.gaps.iter().filter(|gap| gap.to_string() == "buffer option: cut short").count();
    let kept = trace.buffers.len() + cut_short;
    assert!((1..200).contains(&kept), "{kept} options of {body} bytes");
    assert!(trace.gaps.iter().any(|gap| matches!(gap, Gap::Corrupt { part, .. } if part == "section 0")));
}

/// Many CPUs whose pages are the whole file.
#[test]
fn pages_of_many_cpus_that_are_the_same_bytes_are_read_once() {
    let count = 5000u32;
    let mut buffer = [&[0; 8][..], b"\0mono\0", &4096u32.to_le_bytes(), &count.to_le_bytes()].concat();
    let size = 1_000_000u64;
    for cpu in 0..count {
        buffer.extend(cpu.to_le_bytes());
        buffer.extend(0u64.to_le_bytes());
        buffer.extend(size.to_le_bytes());
    }
    let options = [option(3, &buffer), option(0, &[0; 8])].concat();
    let mut bytes = with_options(&[&options]);
    bytes.resize(size as usize + 1000, 0);
    let trace = TraceFile::parse(&bytes);
    let pages: usize = trace.buffers[0].cpus.iter().map(|cpu| cpu.pages.len()).sum();
    assert!(pages <= bytes.len(), "{pages} bytes of pages in a file of {}", bytes.len());
    assert!(trace.gaps.iter().any(|gap| matches!(gap, Gap::Corrupt { .. })), "{:?}", trace.gaps);
}

#[cfg(feature = "zlib")]
#[test]
fn options_that_unpack_to_much_are_not_kept() {
    let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![1; 64 << 20], 9);
    let chunk = [&(bomb.len() as u32).to_le_bytes()[..], &(64u32 << 20).to_le_bytes(), &bomb].concat();
    let mut file = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0zlib\x001.2\0".to_vec();
    let first = file.len() as u64 + 8;
    file.extend(first.to_le_bytes());
    file.extend([0, 0, 1, 0, 0, 0, 0, 0]);
    file.extend((chunk.len() as u64).to_le_bytes());
    file.extend(chunk);
    let trace = TraceFile::parse(&file);
    assert!(trace.gaps.iter().any(|gap| gap.to_string().starts_with("section 0: more data")), "{:?}", trace.gaps);
}

/// Like a sparse file.
struct Zeros {
    head: Vec<u8>,
    size: u64,
}

impl ReadAt for Zeros {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(usize::try_from(self.size - offset).unwrap_or(usize::MAX));
        buffer[..count].fill(0);
        let from_head = self.head.read_at(offset, &mut buffer[..count])?;
        Ok(from_head.max(count))
    }
}

#[test]
fn of_a_file_larger_than_memory_no_more_is_kept_than_a_limit() {
    let size = 1u64 << 40;
    let mut buffer = [&[0; 8][..], b"\0mono\0", &4096u32.to_le_bytes(), &2u32.to_le_bytes()].concat();
    for cpu in 0..2u32 {
        buffer.extend(cpu.to_le_bytes());
        buffer.extend(4096u64.to_le_bytes());
        buffer.extend((size / 4).to_le_bytes());
    }
    let head = with_options(&[&[option(3, &buffer), option(0, &[0; 8])].concat()]);
    let file = Zeros { head, size };
    let trace = TraceFile::parse(Source::Reader(&file));
    assert_eq!(trace.gaps.len(), 2, "{:?}", trace.gaps);
    assert!(trace.gaps.iter().all(|gap| matches!(gap, Gap::Corrupt { .. })));
    let trace = TraceFile::parse_window(Source::Reader(&file), 5, 10);
    assert_eq!((trace.gaps.as_slice(), trace.merged().count()), (&[][..], 0));
}
