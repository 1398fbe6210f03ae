//! Assembles copied pages into a self-contained trace.dat: formats, names of tasks, names of the kernel functions in
//! it.
//!
//! This runs during the measurement, and a kernel without preemption does not release the CPU during a long read. So
//! a run reads the symbol table once, in advance, and the names of tasks come from the trace itself and from short reads. A guard reads it
//! after a miss: in the months between, its memory counts for more.

use super::capture::CpuPart;
use super::late_interrupts::Recorded;
use crate::gaps::Gaps;
use archive::spike::{Interrupted, LateInterrupt};
use ftrace::byte_order::ByteOrder;
use ftrace::format::EventFormats;
use ftrace::header::PageLayout;
use ftrace::kernel_addresses::kernel_addresses;
use ftrace::kernel_symbols::{SymbolText, read_excerpt};
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuBytes, CpuRecords, Merged, TraceDat, TraceItem};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;

const SYMBOLS: &str = "/proc/kallsyms";

/// The common part of every trace of a run.
#[derive(Debug)]
pub struct Assembler {
    metadata: MetadataText,
    formats: EventFormats,
    layout: PageLayout,
    uname: String,
    symbols: Symbols,
    named: BTreeSet<u64>,
    gaps: Gaps,
}

/// The kernel's symbol table; empty if it is not readable.
#[derive(Debug)]
pub enum Symbols {
    /// In memory, 12 MB.
    Held(SymbolText),
    /// Read for each spike: months have few, and memory is scarcer than time.
    Reread,
}

impl Symbols {
    /// Reads the table, which takes long: call it before the measurement.
    pub fn held() -> Self {
        Self::Held(read_symbols())
    }

    /// The symbols that contain these addresses, at least.
    fn of(&self, addresses: &[u64]) -> Cow<'_, SymbolText> {
        match self {
            Self::Held(text) => Cow::Borrowed(text),
            Self::Reread if addresses.is_empty() => Cow::Owned(SymbolText::default()),
            Self::Reread => {
                let table = File::open(SYMBOLS).and_then(|table| read_excerpt(BufReader::new(table), addresses));
                Cow::Owned(SymbolText::new(table.unwrap_or_default()))
            }
        }
    }

    fn all(&self) -> Cow<'_, SymbolText> {
        match self {
            Self::Held(text) => Cow::Borrowed(text),
            Self::Reread => Cow::Owned(read_symbols()),
        }
    }
}

fn read_symbols() -> SymbolText {
    SymbolText::new(std::fs::read_to_string(SYMBOLS).unwrap_or_default())
}

impl Assembler {
    pub fn new(metadata: MetadataText, layout: PageLayout, symbols: Symbols, gaps: Gaps) -> Self {
        let uname = rustix::system::uname();
        let words = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
        let formats = metadata.parse(ByteOrder::NATIVE).formats;
        Self {
            metadata,
            formats,
            layout,
            uname: words.map(|word| word.to_string_lossy()).join(" "),
            symbols,
            named: BTreeSet::new(),
            gaps,
        }
    }

    /// Size of a trace without any pages, in bytes.
    pub fn bytes_without_pages(&self) -> u64 {
        self.file(&[]).len() as u64
    }

    /// The whole file.
    pub fn trace_dat(&mut self, parts: &[CpuPart]) -> Vec<u8> {
        self.metadata.saved_cmdlines = self.thread_names(parts);
        self.name_functions(parts);
        self.gaps.wait();
        self.file(parts)
    }

    /// Late interrupts with the names of the functions that they broke into.
    pub fn with_functions(&self, late: &[Recorded]) -> Vec<LateInterrupt> {
        let places: Vec<u64> = late.iter().filter_map(|one| Some(one.place.as_ref()?.instruction)).collect();
        let symbols = self.symbols.of(&places);
        late.iter().map(|one| with_function(one, &symbols)).collect()
    }

    /// The kernel's functions; none if it hides them.
    pub fn symbols(&self) -> Cow<'_, SymbolText> {
        self.symbols.all()
    }

    fn file(&self, parts: &[CpuPart]) -> Vec<u8> {
        let cpus = parts.iter().map(|part| CpuBytes { cpu: part.cpu, pages: &part.pages, stats: part.stats }).collect();
        TraceDat {
            metadata: &self.metadata,
            layout: self.layout,
            clock: "mono",
            uname: &self.uname,
            version: concat!("tardy ", env!("CARGO_PKG_VERSION")),
            cpu_count: parts.iter().map(|part| part.cpu + 1).max().unwrap_or(1),
            cpus,
        }
        .to_vec()
    }

    fn records<'a>(&self, parts: &'a [CpuPart]) -> impl Iterator<Item = TraceItem<'a>> {
        self.gaps.paced(Merged::new(parts.iter().map(|part| CpuRecords::new(part.cpu, &part.pages, &self.layout))))
    }

    /// Lines `TID NAME` for every thread that was switched to or recorded something.
    fn thread_names(&self, parts: &[CpuPart]) -> String {
        let mut names: BTreeMap<i64, Option<String>> = BTreeMap::new();
        let switch = self.formats.find("sched", "sched_switch");
        let sides = [("prev_pid", "prev_comm"), ("next_pid", "next_comm")];
        for item in self.records(parts) {
            let TraceItem::Record(record) = item else { continue };
            names.entry(i64::from(record.common_pid)).or_default();
            let Some(switch) = switch.filter(|switch| switch.id == record.id) else { continue };
            for (tid, name) in sides {
                let tid = switch.field(tid).and_then(|field| field.int(record.payload));
                let name = switch.field(name).and_then(|field| field.text(record.payload));
                if let Some((tid, name)) = tid.zip(name) {
                    names.insert(tid, Some(name.into_owned()));
                }
            }
        }
        let living = |tid: i64| std::fs::read_to_string(format!("/proc/{tid}/comm")).ok();
        let line = |(tid, name): (i64, Option<String>)| {
            let name = name.or_else(|| living(tid))?;
            Some(format!("{tid} {}\n", name.trim_end()))
        };
        names.into_iter().filter(|(tid, _)| *tid > 0).filter_map(line).collect()
    }

    fn name_functions(&mut self, parts: &[CpuPart]) {
        let addresses = kernel_addresses(&self.formats, self.records(parts));
        let unnamed: Vec<u64> = addresses.into_iter().filter(|address| !self.named.contains(address)).collect();
        if !unnamed.is_empty() {
            self.metadata.kallsyms.push_str(&self.symbols.of(&unnamed).excerpt(&unnamed));
            self.named.extend(unnamed);
        }
    }
}

fn with_function(recorded: &Recorded, symbols: &SymbolText) -> LateInterrupt {
    let interrupted = match recorded.place {
        None => Interrupted::UserSpace,
        Some(place) => Interrupted::Kernel {
            function: symbols.name(place.instruction).map(str::to_owned),
            code_before: place.code_before.iter().map(|byte| format!("{byte:02x}")).collect(),
        },
    };
    let Recorded { cpu, ts_ns, late_ns, tid, stolen_ns, .. } = *recorded;
    LateInterrupt { cpu, ts_ns, late_ns, tid, interrupted, stolen_ns }
}
