//! Reading a piece at a time gives the same as reading the whole file, whatever the compression and the order of the pages.

use proptest::prelude::*;

use super::properties::{event, pack};
use super::windows::{File, many_pages, version6, version7};
use super::*;
use crate::event_set::EventSet;

/// CPU, time and payload of each record.
type Items = Vec<(u32, u64, Vec<u8>)>;

fn items<'a>(items: impl Iterator<Item = TraceItem<'a>>) -> Items {
    let record = |item| match item {
        TraceItem::Record(record) => (record.cpu, record.ts_ns, record.payload.to_vec()),
        TraceItem::Gap(gap) => panic!("{gap:?}"),
    };
    items.map(record).collect()
}

/// Everything, slice by slice, and the number of slices.
fn in_slices<'a>(file: impl Into<Source<'a>>) -> (Items, usize) {
    let mut paged = PagedTrace::open(file);
    paged.read_through(|_, _| {});
    assert_eq!(paged.gaps, []);
    let slices = paged.slices();
    let of = |&(from_ns, to_ns): &(u64, u64)| items(paged.window(from_ns, to_ns).merged());
    (slices.iter().flat_map(of).collect(), slices.len())
}

/// The same of some events.
fn only<'a>(file: impl Into<Source<'a>>, wanted: &EventSet) -> Items {
    let mut paged = PagedTrace::open(file);
    paged.read_through(|_, _| {});
    let of = |(from_ns, to_ns)| items(paged.window(from_ns, to_ns).merged_only(wanted));
    paged.slices().into_iter().flat_map(of).collect()
}

fn check(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let file = TraceFile::parse(&bytes);
    let whole = items(file.merged());
    prop_assert_eq!(&in_slices(&bytes).0, &whole);
    prop_assert_eq!(&in_slices(Source::Reader(&File::new(bytes.clone()))).0, &whole);
    let id = |payload: &[u8]| file.layout().byte_order.u16_at(payload, 0).unwrap();
    let wanted: EventSet = whole.iter().map(|(.., payload)| id(payload)).filter(|id| id % 2 == 1).collect();
    let odd: Items = whole.iter().filter(|(.., payload)| wanted.contains(id(payload))).cloned().collect();
    prop_assert_eq!(only(&bytes, &wanted), odd);
    for cpu in file.cpus() {
        let mut records = file.cpu_records(cpu).only(&wanted);
        records.by_ref().for_each(drop);
        let latest_ns = whole.iter().filter(|(of, ..)| *of == cpu).map(|(_, ts_ns, _)| *ts_ns).max();
        prop_assert_eq!(records.latest_ns(), latest_ns.unwrap_or(0));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn slices_hold_what_the_whole_file_holds(
        which in 0..4usize,
        cpus in prop::collection::vec(prop::collection::vec(event(), 0..300), 1..4),
    ) {
        let packed = |layout: PageLayout| -> Vec<Vec<u8>> {
            cpus.iter().map(|events| pack(layout, 1000, events).0).collect()
        };
        let layout = layouts()[which].with_page_size(512);
        check(version7(layout, &packed(layout)))?;
        let usual = layouts()[0];
        check(version6(&packed(usual)))?;
        #[cfg(feature = "zlib")]
        check(super::windows::compressed(&packed(usual)[0]))?;
    }
}

#[test]
fn the_pass_meets_every_record_and_a_window_reads_its_own_pages() {
    let pages = many_pages(100);
    let file = File::new(version7(layouts()[0], &[pages.clone(), pages]));
    let mut paged = PagedTrace::open(Source::Reader(&file));
    let mut met = [0; 2];
    paged.read_through(|cpu, records| met[cpu as usize] += records.count());
    let whole: Vec<usize> = [0, 1].map(|cpu| TraceFile::parse(&file.bytes).cpu_records(cpu).count()).to_vec();
    assert_eq!(met.to_vec(), whole);
    let before = file.read.get();
    assert_eq!(paged.cpu_window(1, 70_000, 72_000).cpu_records(1).count(), 4);
    assert_eq!(file.read.get() - before, 4 * 4096, "the page before and three inside");
    assert_eq!(paged.bytes_in(1, 70_000, 72_000), 4 * 4096);
    assert_eq!(paged.cpu_window(7, 0, u64::MAX).cpu_records(7).count(), 0);
}

#[test]
fn pages_out_of_order_come_in_the_order_of_their_times() {
    let layout = layouts()[0];
    let mut pages = page(&layout, 900_000);
    pages.extend(many_pages(100));
    let (read, slices) = in_slices(&version7(layout, &[pages]));
    assert!(slices > 10, "{slices}");
    assert!(read.is_sorted_by_key(|(_, ts_ns, _)| *ts_ns));
    assert_eq!(read.len(), 202);
}
