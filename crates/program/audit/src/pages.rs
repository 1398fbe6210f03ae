//! The recorded pages of all CPUs as events in order of time, with a page of each CPU in memory.

use crate::decode::{Decoder, Event};
use ftrace::header::PageLayout;
use ftrace::trace_dat::{CpuRecords, TraceItem};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The pages of one CPU, as they were recorded, in pieces of any length.
pub struct CpuPages<'a> {
    pub cpu: u32,
    pub pieces: Box<dyn Iterator<Item = Vec<u8>> + 'a>,
}

/// Content of a page at an instant.
#[derive(Debug)]
pub enum Item {
    /// Events of threads.
    Events(Vec<(i32, Event)>),
    /// Events before this instant were lost.
    Gap,
}

/// Events of every CPU.
pub struct Pages<'a, 'd> {
    cpus: Vec<Cpu<'a>>,
    layout: &'d PageLayout,
    decoder: &'d Decoder,
    /// The head of each CPU, earliest on top.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

struct Cpu<'a> {
    pages: CpuPages<'a>,
    bytes: Vec<u8>,
    at: usize,
    items: VecDeque<(u64, Item)>,
}

impl<'a, 'd> Pages<'a, 'd> {
    pub fn new(cpus: impl IntoIterator<Item = CpuPages<'a>>, layout: &'d PageLayout, decoder: &'d Decoder) -> Self {
        let of = |pages| Cpu { pages, bytes: Vec::new(), at: 0, items: VecDeque::new() };
        let mut all = Self { cpus: cpus.into_iter().map(of).collect(), layout, decoder, heads: BinaryHeap::new() };
        (0..all.cpus.len()).for_each(|index| all.advance(index));
        all
    }

    fn advance(&mut self, index: usize) {
        if let Some((at_ns, _)) = self.cpus[index].head(self.layout, self.decoder) {
            self.heads.push(Reverse((*at_ns, index)));
        }
    }
}

impl Iterator for Pages<'_, '_> {
    type Item = (u64, Item);

    fn next(&mut self) -> Option<(u64, Item)> {
        let Reverse((_, index)) = self.heads.pop()?;
        let item = self.cpus[index].items.pop_front();
        self.advance(index);
        item
    }
}

impl Cpu<'_> {
    /// The earliest item, if there is one.
    fn head(&mut self, layout: &PageLayout, decoder: &Decoder) -> Option<&(u64, Item)> {
        while self.items.is_empty() {
            let page_bytes = layout.page_size.max(1);
            while self.bytes.len() - self.at < page_bytes {
                let Some(piece) = self.pages.pieces.next() else { break };
                self.bytes.drain(..self.at);
                self.at = 0;
                self.bytes.extend(piece);
            }
            let end = self.bytes.len().min(self.at.saturating_add(page_bytes));
            let page = &self.bytes[self.at..end];
            if page.is_empty() {
                return None;
            }
            for item in CpuRecords::new(self.pages.cpu, page, layout) {
                let decoded = match item {
                    TraceItem::Gap(_) => Item::Gap,
                    TraceItem::Record(record) => match decoder.events(&record) {
                        events if events.is_empty() => continue,
                        events => Item::Events(events),
                    },
                };
                self.items.push_back((item.ts_ns(), decoded));
            }
            self.at = end;
        }
        self.items.front()
    }
}
