//! The events of the last boot, in memory that a reset of the machine keeps. They are read once: the kernel then records the present boot there.

use super::boot_state::{BootState, Decoding, boot_id, clock_ns, kept_instance, text_of, uname};
use archive::watched::guard::is_kept_name;
use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::kernel_addresses::kernel_addresses;
use ftrace::kernel_symbols::SymbolText;
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuRecords, PagedTrace};
use ftrace::tracefs::Instance;
use rustix::time::ClockId;
use std::fs;
use std::path::Path;

/// Most bytes that are read of all CPUs; the kernel reserves some tens of MB.
const BYTES_MAX: usize = 256 << 20;

/// The boot before this one, in which a guard ran and did not end by itself.
pub struct LastBoot {
    pub state: BootState,
    /// `None` if nothing was recorded, or the memory lost it.
    pub events: Option<LastEvents>,
}

/// The events of all CPUs.
pub struct LastEvents {
    metadata: MetadataText,
    layout: PageLayout,
    pages: Vec<(u32, Vec<u8>)>,
    uname: String,
    /// Instants of the first and the last event, in CLOCK_MONOTONIC of the last boot.
    pub span: (i64, i64),
}

impl LastBoot {
    /// Takes the events out of the memory; `None` if no guard was interrupted by the end of a boot.
    pub fn take(directory: &Path) -> Option<Self> {
        let state = BootState::read(directory)?;
        let now = boot_id();
        if state.boot_id.is_empty() || now.is_empty() || state.boot_id == now {
            return None;
        }
        let events = LastEvents::take(&state);
        Some(Self { state, events })
    }

    /// Wall-clock time of an instant of the last boot.
    pub fn unix_ns(&self, monotonic_ns: i64) -> i64 {
        monotonic_ns.saturating_add(self.state.realtime_offset_ns)
    }

    /// From an instant of the last boot until this boot began; `None` if a clock was set in between.
    pub fn until_this_boot_ns(&self, monotonic_ns: i64) -> Option<i64> {
        let began_ns = clock_ns(ClockId::Realtime) - clock_ns(ClockId::Boottime);
        Some(began_ns - self.unix_ns(monotonic_ns)).filter(|ns| *ns >= 0)
    }
}

impl LastEvents {
    fn take(state: &BootState) -> Option<Self> {
        let name = state.kept_instance.as_deref().filter(|name| is_kept_name(name))?;
        let instance = kept_instance(name)?;
        // Another guard records there already.
        if instance.tracing_on().unwrap_or(true) {
            return None;
        }
        Self::of(state.decoding.as_ref()?, read(&instance, state.decoding.as_ref()?.page_bytes)?)
    }

    fn of(decoding: &Decoding, pages: Vec<(u32, Vec<u8>)>) -> Option<Self> {
        let mut metadata = MetadataText {
            header_page: decoding.header_page.clone(),
            header_event: decoding.header_event.clone(),
            event_formats: decoding.event_formats.clone(),
            saved_cmdlines: String::new(),
            printk_formats: String::new(),
            kallsyms: decoding.functions.clone(),
        };
        let parsed = metadata.parse(ByteOrder::NATIVE);
        let layout = parsed.layout.with_page_size(decoding.page_bytes);
        let records = || pages.iter().flat_map(|(cpu, pages)| CpuRecords::new(*cpu, pages, &layout));
        let instants = || records().filter_map(|item| i64::try_from(item.ts_ns()).ok()).filter(|ns| *ns > 0);
        let span = (instants().min()?, instants().max()?);
        let addresses = kernel_addresses(&parsed.formats, records());
        metadata.kallsyms.push_str(&names(decoding, &addresses));
        Some(Self { metadata, layout, uname: decoding.uname.clone(), pages, span })
    }

    /// The events as a recording.
    pub fn recording(self) -> PagedTrace<'static> {
        let mut metadata = self.metadata.parse(ByteOrder::NATIVE);
        metadata.layout = self.layout;
        metadata.clock = "mono".into();
        metadata.uname = self.uname;
        PagedTrace::of_pages(metadata, self.pages)
    }
}

/// The pages of each CPU; `None` if there are none, or this kernel has pages of another size.
fn read(instance: &Instance, page_bytes: usize) -> Option<Vec<(u32, Vec<u8>)>> {
    if page_bytes == 0 || instance.page_layout().ok()?.page_size != page_bytes {
        return None;
    }
    let mut left = BYTES_MAX;
    let mut read = Vec::new();
    for cpu in instance.cpus() {
        let mut pages = Vec::new();
        // The kernel refuses the pages of a CPU that do not check; the pages of the others are good.
        let drained = instance.open_raw(cpu).and_then(|mut raw| raw.drain_into(&mut pages, left));
        left -= drained.unwrap_or(0).min(left);
        if !pages.is_empty() {
            read.push((cpu, pages));
        }
    }
    (!read.is_empty()).then_some(read)
}

/// Lines of /proc/kallsyms for addresses of the last boot. The same kernel has its own code moved as a whole; modules are anywhere.
fn names(decoding: &Decoding, addresses: &[u64]) -> String {
    if decoding.uname != uname() {
        return String::new();
    }
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let Some((then, now)) = decoding.text.zip(text_of(&symbols)) else { return String::new() };
    moved_names(&SymbolText::new(symbols), then, now, addresses)
}

fn moved_names(symbols: &SymbolText, then: (u64, u64), now: (u64, u64), addresses: &[u64]) -> String {
    let own = addresses.iter().filter(|address| (then.0..then.1).contains(address));
    let name = |address: &u64| {
        let name = symbols.name(address - then.0 + now.0)?;
        Some(format!("{address:016x} T {name}\n"))
    };
    own.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_boot_has_nothing_to_read() {
        let folder = tempfile::tempdir().unwrap();
        assert!(LastBoot::take(folder.path()).is_none(), "no guard ran");
        let state = |boot_id: String| {
            let state = BootState { boot_id, kept_instance: Some("tardy-none".into()), ..BootState::default() };
            fs::write(folder.path().join("boot.json"), serde_json::to_string(&state).unwrap()).unwrap();
        };
        state(boot_id());
        assert!(LastBoot::take(folder.path()).is_none());
        state("another".into());
        let last = LastBoot::take(folder.path()).unwrap();
        assert!(last.events.is_none(), "this machine keeps nothing");
        fs::write(folder.path().join("boot.json"), "{\"threads\":[").unwrap();
        assert!(LastBoot::take(folder.path()).is_none());
    }

    #[test]
    fn pages_of_garbage_hold_no_event() {
        let decoding = Decoding { page_bytes: 4096, ..Decoding::default() };
        assert!(LastEvents::of(&decoding, vec![(0, vec![0; 4096])]).is_none());
        assert!(LastEvents::of(&decoding, Vec::new()).is_none());
        // Whatever bytes a memory has after a reset.
        let _ = LastEvents::of(&decoding, vec![(0, vec![0xa5; 9000])]);
    }

    #[test]
    fn functions_of_a_kernel_that_moved_keep_their_names() {
        let symbols =
            SymbolText::new("0000000000002000 T _text\n0000000000002100 T run_it\n0000000000003000 T _etext\n".into());
        assert_eq!(
            moved_names(&symbols, (0x8000, 0x9000), (0x2000, 0x3000), &[0x8100, 0x9100]),
            "0000000000008100 T run_it\n"
        );
    }
}
