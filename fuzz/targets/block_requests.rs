//! Recorded pages of the block layer with any description, or any events in any order: each sample is divided, and its
//! phases add up to its latency.
#![no_main]

use archive::recorded_pages::RecordedPages;
use archive::storage::{StorageAccount, StorageDescription, StorageDevice};
use libfuzzer_sys::{arbitrary, fuzz_target};
use storage::account::account;
use storage::read::{Event, Extent, Recorded, What};
use storage::{CpuPages, Samples, account_of};
use tardy_fuzz::pages::{PAGE_BYTES, PageEvent, pages};
use tardy_fuzz::{Damage, spoilt, within_budget};

/// As a kernel describes them, with numbers from 1: (system, name, fields after the common ones).
const FORMATS: [(&str, &str, &str); 16] = [
    ("block", "block_bio_queue", SECTORS),
    ("block", "block_bio_backmerge", SECTORS),
    ("block", "block_bio_frontmerge", SECTORS),
    ("block", "block_getrq", SECTORS),
    ("block", "block_rq_insert", SECTORS),
    ("block", "block_rq_merge", SECTORS),
    ("block", "block_rq_issue", SECTORS),
    ("block", "block_rq_requeue", SECTORS),
    ("block", "block_rq_complete", SECTORS),
    ("block", "block_bio_complete", SECTORS),
    (
        "block",
        "block_split",
        "\tfield:sector_t sector;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:sector_t new_sector;\toffset:16;\tsize:8;\tsigned:0;\n",
    ),
    ("sched", "sched_waking", "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"),
    (
        "sched",
        "sched_switch",
        "\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n",
    ),
    ("irq", "irq_handler_entry", "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"),
    ("vmscan", "mm_vmscan_direct_reclaim_begin", "\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"),
    ("vmscan", "mm_vmscan_direct_reclaim_end", "\tfield:int order;\toffset:8;\tsize:4;\tsigned:1;\n"),
];
const SECTORS: &str = "\tfield:sector_t sector;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned int nr_sector;\toffset:16;\tsize:4;\tsigned:0;\n\tfield:char rwbs[4];\toffset:20;\tsize:4;\tsigned:0;\n\tfield:char comm[4];\toffset:24;\tsize:4;\tsigned:0;\n";

#[derive(Debug, arbitrary::Arbitrary)]
struct Written {
    id: u8,
    later_ns: u16,
    tid: u8,
    in_interrupt: bool,
    /// Fields in units of 4 bytes: sectors and threads are small.
    words: Vec<u8>,
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Pages<'a> {
    big_endian: bool,
    page_bytes: Option<u64>,
    header_page: Option<&'a str>,
    format: Option<(u8, Vec<Damage>)>,
    written: Vec<Written>,
    damages: Vec<Damage>,
    again: bool,
}

#[derive(Debug, arbitrary::Arbitrary)]
struct AnyEvent {
    at_ns: i64,
    cpu: u8,
    tid: i8,
    in_interrupt: bool,
    kind: u8,
    sector: u64,
    sectors: u64,
    is_flush: bool,
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Description(&'a [u8], &'a [u8]),
    Pages(Pages<'a>),
    Events { events: Vec<AnyEvent>, gaps: Vec<i64>, ascending: bool },
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Run<'a> {
    input: Input<'a>,
    maps: bool,
    samples: Vec<(i64, i64)>,
}

impl AnyEvent {
    fn event(&self) -> Event {
        let extent =
            Extent { sector: self.sector, sectors: self.sectors, is_flush: self.is_flush, is_fua: self.in_interrupt };
        let what = match self.kind % 19 {
            0 => What::Queue(extent),
            1 => What::Merge(extent),
            2 => What::Split { sector: self.sector, at: self.sectors },
            3 => What::Get(extent),
            4 => What::Insert(extent),
            5 => What::MergeRequests(extent),
            6 => What::Issue(extent),
            7 => What::Requeue(extent),
            8 => What::Complete(extent),
            9 => What::CompletePart(extent),
            10 => What::Waking { tid: self.sector as i32 },
            11 => What::Switch { prev: self.sector as i32, next: self.sectors as i32, waits: self.is_flush },
            12 => What::Interrupt { number: self.sector as u32 },
            13 => What::BlockSoftirq,
            14 => What::ReclaimBegin,
            15 => What::Plug,
            16 => What::Unplug,
            17 => What::DirtyThrottling,
            _ => What::ReclaimEnd,
        };
        Event {
            at_ns: self.at_ns,
            cpu: u32::from(self.cpu),
            tid: i32::from(self.tid),
            in_interrupt: self.in_interrupt,
            what,
        }
    }
}

impl Pages<'_> {
    fn recorded(&self) -> RecordedPages {
        let with_number = |(number, (system, name, fields)): (usize, &(&str, &str, &str))| {
            ((*system).to_owned(), format!("name: {name}\nID: {}\nformat:\n{fields}", number + 1))
        };
        let mut event_formats: Vec<(String, String)> = FORMATS.iter().enumerate().map(with_number).collect();
        if let Some((which, damages)) = &self.format {
            let text = &mut event_formats[usize::from(*which) % FORMATS.len()].1;
            *text = String::from_utf8_lossy(&spoilt(text.as_bytes(), damages)).into_owned();
        }
        RecordedPages {
            big_endian: self.big_endian,
            page_bytes: self.page_bytes.unwrap_or(PAGE_BYTES as u64),
            header_page: self.header_page.unwrap_or_default().into(),
            event_formats,
            ..RecordedPages::default()
        }
    }

    /// The events in pages of the usual layout.
    fn bytes(&self) -> Vec<u8> {
        let events = self.written.iter().map(|written| PageEvent {
            id: u16::from(written.id) % (FORMATS.len() as u16 + 2),
            later_ns: written.later_ns,
            flags: if written.in_interrupt { 0x08 } else { 0 },
            tid: u32::from(written.tid % 4),
            words: &written.words,
        });
        spoilt(&pages(events), &self.damages)
    }
}

fn adds_up(account: &StorageAccount) {
    for request in &account.worst {
        let sum: i128 = request.phases.iter().map(|(_, ns)| i128::from(*ns)).sum();
        assert_eq!(sum, i128::from(request.latency_ns), "{request:?}");
    }
}

fuzz_target!(|run: Run| {
    let own = StorageDescription {
        device: StorageDevice { number: 1, interrupts: vec![36], maps: run.maps, ..StorageDevice::default() },
        threads: vec![(0, 1), (1, 2)],
        ..StorageDescription::default()
    };
    let samples: Vec<Samples> = (0..2).map(|thread| Samples { thread, samples: run.samples.clone() }).collect();
    let of_samples = 2 * size_of_val(&run.samples[..]);
    let (description, pages, again) = match run.input {
        Input::Events { events, gaps, ascending } => {
            let mut events: Vec<Event> = events.iter().map(AnyEvent::event).collect();
            if ascending {
                events.sort_by_key(|event| event.at_ns);
            }
            let bytes = size_of_val(&events[..]) + size_of_val(&gaps[..]) + of_samples;
            let recorded = Recorded { events, gaps, ..Recorded::default() };
            return within_budget(bytes, || adds_up(&account(&own, &recorded, &samples)));
        }
        Input::Description(description, pages) => {
            let read = within_budget(description.len(), || serde_json::from_slice::<StorageDescription>(description));
            let Ok(description) = read else { return };
            (description, pages.to_vec(), false)
        }
        Input::Pages(pages) => (StorageDescription { recorded: pages.recorded(), ..own }, pages.bytes(), pages.again),
    };
    let text = serde_json::to_vec(&description).map_or(0, |text| text.len());
    let one = CpuPages { cpu: 0, pages: &pages };
    let cpus = if again { vec![one, CpuPages { cpu: 1, pages: &pages }] } else { vec![one] };
    within_budget(text + cpus.len() * pages.len() + of_samples, || adds_up(&account_of(&description, &cpus, &samples)));
});
