//! Copied pages become a trace.dat that explains itself: formats, names of tasks, names of the kernel functions in it.

use super::capture::CpuPart;
use ftrace::byte_order::ByteOrder;
use ftrace::format::EventFormats;
use ftrace::header::PageLayout;
use ftrace::kernel_addresses::kernel_addresses;
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuBytes, CpuRecords, Merged, TraceDat, TraceItem};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What every trace of a run has in common.
#[derive(Debug)]
pub struct Assembler {
    metadata: MetadataText,
    formats: EventFormats,
    layout: PageLayout,
    uname: String,
    saved_cmdlines: PathBuf,
    named: BTreeSet<u64>,
}

impl Assembler {
    /// `tracefs_root` is where the names of tasks are read anew for each trace.
    pub fn new(metadata: MetadataText, layout: PageLayout, tracefs_root: PathBuf) -> Self {
        let uname = rustix::system::uname();
        let words = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
        let formats = metadata.parse(ByteOrder::NATIVE).formats;
        Self {
            metadata,
            formats,
            layout,
            uname: words.map(|word| word.to_string_lossy()).join(" "),
            saved_cmdlines: tracefs_root.join("saved_cmdlines"),
            named: BTreeSet::new(),
        }
    }

    /// Bytes of a trace without any pages.
    pub fn bytes_without_pages(&self) -> u64 {
        self.file(&[]).len() as u64
    }

    /// The whole file.
    pub fn trace_dat(&mut self, parts: &[CpuPart]) -> Vec<u8> {
        let names = std::fs::read_to_string(&self.saved_cmdlines).unwrap_or_default();
        self.metadata.saved_cmdlines = lines_of(&names, &self.threads(parts));
        self.name_functions(parts);
        self.file(parts)
    }

    fn file(&self, parts: &[CpuPart]) -> Vec<u8> {
        let cpus =
            parts.iter().map(|part| CpuBytes { cpu: part.cpu, pages: &part.pages, stats: Some(part.stats) }).collect();
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

    fn records<'a>(&self, parts: &'a [CpuPart]) -> Merged<'a> {
        Merged::new(parts.iter().map(|part| CpuRecords::new(part.cpu, &part.pages, &self.layout)))
    }

    /// Threads that recorded something.
    fn threads(&self, parts: &[CpuPart]) -> BTreeSet<i32> {
        let tid = |item| match item {
            TraceItem::Record(record) => Some(record.common_pid),
            TraceItem::Gap(_) => None,
        };
        self.records(parts).filter_map(tid).collect()
    }

    /// The kernel's symbol table is large and slow to read, so it is read only for addresses not met before.
    fn name_functions(&mut self, parts: &[CpuPart]) {
        let addresses = kernel_addresses(&self.formats, self.records(parts));
        let unnamed: Vec<u64> = addresses.into_iter().filter(|address| !self.named.contains(address)).collect();
        if unnamed.is_empty() {
            return;
        }
        let table = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        self.metadata.kallsyms.push_str(&MetadataText::kallsyms_excerpt(&table, &unnamed));
        self.named.extend(unnamed);
    }
}

/// The lines `TID NAME` of these threads: the kernel remembers the names of thousands.
fn lines_of(names: &str, threads: &BTreeSet<i32>) -> String {
    let wanted = |line: &&str| {
        let tid = line.split_whitespace().next().and_then(|tid| tid.parse().ok());
        tid.is_some_and(|tid| threads.contains(&tid))
    };
    names.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_threads_in_the_trace_are_kept() {
        let names = "1 init\n22 two words\nx\n33 other\n";
        assert_eq!(lines_of(names, &BTreeSet::from([22, 44])), "22 two words\n");
    }
}
