//! Properties for arbitrary records and bytes.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
pub(super) struct Event {
    delta_ns: u64,
    id: u16,
    pid: i32,
    rest: Vec<u8>,
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    let delta = prop_oneof![0..5000u64, 0..(1u64 << 40)];
    (delta, 1..2000u16, any::<i32>(), prop::collection::vec(any::<u8>(), 0..60)).prop_map(
        |(delta_ns, id, pid, mut rest)| {
            rest.resize(rest.len() / 4 * 4, 0);
            Event { delta_ns, id, pid, rest }
        },
    )
}

/// Packs the events into pages as the kernel would, starting at `ts_ns`; returns the expected result of reading them.
pub(super) fn pack(layout: PageLayout, mut ts_ns: u64, events: &[Event]) -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
    let order = layout.byte_order;
    let (mut pages, mut expected) = (Vec::new(), Vec::new());
    let mut maker = PageMaker::new(layout, ts_ns);
    for event in events {
        let mut payload = order.u16_bytes(event.id).to_vec();
        payload.extend([1, 2]);
        payload.extend(order.u32_bytes(event.pid as u32));
        payload.extend(&event.rest);
        let mut delta_ns = event.delta_ns;
        if layout.data_offset + maker.len() + payload.len() + 16 > layout.page_size {
            pages.extend(std::mem::replace(&mut maker, PageMaker::new(layout, ts_ns + delta_ns)).finish(0, None));
            ts_ns += delta_ns;
            delta_ns = 0;
        }
        ts_ns += delta_ns;
        if delta_ns >= 1 << 27 {
            maker = maker.extend_time(delta_ns);
            delta_ns = 0;
        }
        maker = if payload.len() <= 112 && event.id % 2 == 0 {
            maker.short(delta_ns as u32, &payload)
        } else {
            maker.record(delta_ns as u32, &payload)
        };
        expected.push((ts_ns, payload));
    }
    pages.extend(maker.finish(0, None));
    (pages, expected)
}

fn small(layout: PageLayout) -> PageLayout {
    layout.with_page_size(512)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packed_events_come_out_unchanged(which in 0..4usize, start in 0..(1u64 << 58), events in prop::collection::vec(event(), 1..80)) {
        let layout = small(layouts()[which]);
        let (pages, expected) = pack(layout, start, &events);
        let metadata = metadata(&layout);
        let cpus = vec![CpuBytes { cpu: 5, pages: &pages, stats: None }];
        let file = TraceDat { metadata: &metadata, layout, clock: "mono", uname: "", version: "", cpu_count: 6, cpus }.to_vec();
        let file = TraceFile::parse(&file);
        prop_assert_eq!(&file.gaps, &[]);
        let mut records = Vec::new();
        for item in file.merged() {
            let TraceItem::Record(record) = item else { panic!("{item:?}") };
            prop_assert_eq!((record.cpu, record.common_flags, record.common_preempt_count), (5, 1, 2));
            records.push((record.ts_ns, record.payload.to_vec(), record.id, record.common_pid));
        }
        let expected: Vec<_> = expected
            .into_iter()
            .zip(&events)
            .map(|((ts_ns, payload), event)| (ts_ns, payload, event.id, event.pid))
            .collect();
        prop_assert_eq!(records, expected);
    }

    #[test]
    fn a_window_is_the_same_as_a_filter(events in prop::collection::vec(event(), 1..80), from in 0..80usize, to in 0..80usize) {
        let layout = small(layouts()[0]);
        let (pages, expected) = pack(layout, 1000, &events);
        let at = |index: usize| expected[index.min(expected.len() - 1)].0;
        let (from_ns, to_ns) = (at(from), at(to));
        let wanted: Vec<u64> = expected.iter().map(|(ts_ns, _)| *ts_ns).filter(|ts_ns| (from_ns..=to_ns).contains(ts_ns)).collect();
        let windowed: Vec<u64> = CpuRecords::window(0, &pages, &layout, from_ns, to_ns).map(|item| item.ts_ns()).collect();
        prop_assert_eq!(&windowed, &wanted);
        let kept = cut_pages(&pages, &layout, from_ns, to_ns);
        let cut: Vec<u64> = CpuRecords::new(0, kept, &layout).map(|item| item.ts_ns()).filter(|ts_ns| (from_ns..=to_ns).contains(ts_ns)).collect();
        prop_assert_eq!(&cut, &wanted);
    }

    #[test]
    fn merging_keeps_everything_in_order(cpus in prop::collection::vec(prop::collection::vec(event(), 1..30), 1..9)) {
        let layout = small(layouts()[1]);
        let packed: Vec<_> = cpus.iter().map(|events| pack(layout, 0, events)).collect();
        let merged = Merged::new(packed.iter().enumerate().map(|(cpu, (pages, _))| CpuRecords::new(cpu as u32, pages, &layout)));
        let merged: Vec<(u64, u32)> = merged
            .map(|item| match item {
                TraceItem::Record(record) => (record.ts_ns, record.cpu),
                TraceItem::Gap(gap) => panic!("{gap:?}"),
            })
            .collect();
        let mut expected: Vec<(u64, u32)> =
            packed.iter().enumerate().flat_map(|(cpu, (_, events))| events.iter().map(move |(ts_ns, _)| (*ts_ns, cpu as u32))).collect();
        expected.sort();
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn any_bytes_are_pages_of_some_kind(which in 0..4usize, mut bytes in prop::collection::vec(any::<u8>(), 0..2000), commit in 0..600u16) {
        let layout = small(layouts()[which]);
        // A plausible length lets the decoder get past the page header.
        for page in bytes.chunks_mut(512).filter(|page| page.len() > 16) {
            let low = match (layout.byte_order, layout.commit_size) {
                (ByteOrder::Little, _) => 8,
                (ByteOrder::Big, size) => 8 + size - 4,
            };
            page[low..low + 4].copy_from_slice(&layout.byte_order.u32_bytes(u32::from(commit)));
        }
        let items = CpuRecords::new(0, &bytes, &layout).count();
        prop_assert!(items <= bytes.len() + 8);
        CpuRecords::window(0, &bytes, &layout, 5, 1 << 60).count();
        cut_pages(&bytes, &layout, 5, 1 << 60);
    }

    #[test]
    fn a_spoilt_file_still_opens(which in 0..4usize, spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = file(&layouts()[which]);
        for (index, byte) in spoilt {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let window = TraceFile::parse_window(Source::Reader(&bytes), 150, 250);
        prop_assert!(window.window(150, 250).count() <= bytes.len());
        let file = TraceFile::parse(&bytes);
        let mut printer = crate::print_fmt::EventPrinter::new(&file.metadata);
        let mut text = String::new();
        for item in file.merged() {
            if let TraceItem::Record(record) = item {
                printer.print(&record, &mut text);
            }
        }
    }

    #[test]
    fn any_text_is_a_format(text in "(name: [a-z]{0,5}\nID: [0-9]{0,6}\n)?(\tfield:[a-z_ *\\[\\]0-9]{0,30};\toffset:[0-9]{0,3};\tsize:[0-9]{0,3};\tsigned:[01];\n){0,4}(\nprint fmt: .{0,60})?", payload in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Some(format) = crate::format::EventFormat::parse("s", &text, ByteOrder::Big) {
            for field in &format.fields {
                field.int(&payload);
                field.text(&payload);
                field.element(&payload, 3);
            }
        }
    }
}
