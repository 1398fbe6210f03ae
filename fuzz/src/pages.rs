//! Trace pages of the usual layout, with any events.

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of a page before its first event.
const PAGE_HEAD_BYTES: usize = 16;
/// Longest events, in units of 4 bytes: a header has room for 28.
const WORDS_MAX: usize = 24;

/// An event of a page.
#[derive(Debug)]
pub struct PageEvent<'a> {
    pub id: u16,
    /// Time since the event before, in ns.
    pub later_ns: u16,
    pub flags: u8,
    pub tid: u32,
    /// The fields after the common ones, in units of 4 bytes: most numbers of a kernel are small.
    pub words: &'a [u8],
}

/// Pages with these events.
pub fn pages<'a>(events: impl Iterator<Item = PageEvent<'a>>) -> Vec<u8> {
    let mut pages: Vec<u8> = Vec::new();
    let mut page: Vec<u8> = Vec::new();
    let (mut now_ns, mut first_ns) = (0_u64, 0_u64);
    let mut end = |page: &mut Vec<u8>, first_ns: u64| {
        let mut whole = first_ns.to_le_bytes().to_vec();
        whole.extend((page.len() as u64).to_le_bytes());
        whole.append(page);
        whole.resize(PAGE_BYTES, 0);
        pages.extend(whole);
    };
    for event in events {
        let fields = &event.words[..event.words.len().min(WORDS_MAX)];
        let words = fields.len() + 2;
        if PAGE_HEAD_BYTES + page.len() + 4 * (words + 1) > PAGE_BYTES {
            end(&mut page, first_ns);
            first_ns = now_ns;
        }
        now_ns += u64::from(event.later_ns);
        page.extend((words as u32 | u32::from(event.later_ns) << 5).to_le_bytes());
        page.extend(event.id.to_le_bytes());
        page.extend([event.flags, 0]);
        page.extend(event.tid.to_le_bytes());
        for word in fields {
            page.extend(u32::from(*word).to_le_bytes());
        }
    }
    end(&mut page, first_ns);
    pages
}
