//! Synthetic buffers of two CPUs.

use super::*;
use ftrace::byte_order::ByteOrder;

const MISSED: u32 = 1 << 31;

fn layout() -> PageLayout {
    PageLayout::bits64(ByteOrder::Little).with_page_size(128)
}

/// A page of events of (instant, thread), without text for thread 0.
fn page(events: &[(i64, i32)], flags: u32) -> Vec<u8> {
    let mut data = Vec::new();
    let mut now = events[0].0;
    for &(ns, tid) in events {
        let text: &[u8] = if tid == 0 { b"nothing said" } else { MARKER };
        let payload = [&[5, 0, 0, 0][..], &tid.to_le_bytes(), &[0; 8], text].concat();
        let header = (payload.len() / 4) as u32 | ((ns - now) as u32) << 5;
        data.extend(header.to_le_bytes());
        data.extend(payload);
        now = ns;
    }
    let mut page = (events[0].0 as u64).to_le_bytes().to_vec();
    page.extend(u64::from(data.len() as u32 | flags).to_le_bytes());
    page.extend(data);
    assert!(page.len() <= 128);
    page.resize(128, 0);
    page
}

fn copy(cpu: u32, pages: &[Vec<u8>]) -> CpuCopy {
    let pages = pages.concat();
    let (overwritten, dropped) = lost_events(&pages, &layout());
    CpuCopy { cpu, pages, overwritten, dropped, layout: Some(layout()), ..CpuCopy::default() }
}

fn past(mode: SnapshotMode, copies: &[CpuCopy], recording_since_ns: i64, frozen_ns: i64) -> Past {
    Past::new(
        copies,
        &layout(),
        mode,
        &Frozen { frozen_ns, swap_ns: 0, blind_ns: 0, recording_since_ns },
        &Gaps::default(),
    )
}

#[test]
fn an_overwritten_buffer_begins_with_its_oldest_event() {
    let copies = [copy(0, &[page(&[(100, 0)], 0)]), copy(1, &[page(&[(500, 0), (900, 7)], MISSED)])];
    let past = past(SnapshotMode::Trigger, &copies, 50, 1000);
    assert_eq!((past.coverage[1].overwritten, past.coverage[1].dropped), (1, 0));
    assert!(!past.covers(1, 400, 800), "what came before 500 was overwritten");
    assert!(past.covers(1, 500, 900));
    assert!(past.covers(0, 400, 800), "silence of a buffer that was not full");
    assert!(!past.covers(0, 99, 800), "nothing shows that it recorded before 100");
    assert!(!past.covers(2, 500, 800), "no buffer of that CPU");
}

#[test]
fn instants_after_the_swap_are_not_covered() {
    let copies = [copy(0, &[page(&[(100, 0), (600, 7)], 0)])];
    let past = past(SnapshotMode::Trigger, &copies, 50, 5000);
    assert_eq!(past.until_ns, 600);
    assert!(past.covers(0, 200, 600));
    assert!(!past.covers(0, 200, 601), "the newest event lies between due and seen");
}

#[test]
fn a_buffer_that_came_back_has_a_hole() {
    let events = page(&[(100, 0), (300, 7), (710, 0)], 0);
    let copies = [copy(0, &[events, page(&[(900, 8)], 0)])];
    let known = past(SnapshotMode::Trigger, &copies, 700, 1000);
    assert!(known.covers(0, 100, 300));
    assert!(!known.covers(0, 250, 800), "put aside from 300 to 700");
    assert!(known.covers(0, 700, 900));
    let unknown = past(SnapshotMode::Trigger, &copies, 50, 1000);
    assert!(!unknown.covers(0, 720, 900), "it came back at an unknown time");
}

#[test]
fn a_swap_while_pages_are_copied_proves_nothing() {
    let copies = [copy(0, &[page(&[(100, 0), (600, 7)], 0)]), copy(1, &[page(&[(1100, 0), (1200, 8)], 0)])];
    assert!(!past(SnapshotMode::Trigger, &copies, 50, 1000).covers(1, 200, 600));
}

#[test]
fn events_lost_between_pages_uncover_that_stretch_only() {
    let copies = [copy(0, &[page(&[(100, 0), (300, 0)], 0), page(&[(500, 0), (900, 7)], MISSED)])];
    let past = past(SnapshotMode::Trigger, &copies, 50, 1000);
    assert_eq!((past.coverage[0].overwritten, past.coverage[0].dropped), (0, 1));
    assert!(past.covers(0, 100, 300) && past.covers(0, 500, 900));
    assert!(!past.covers(0, 200, 400) && !past.covers(0, 350, 450));
}

#[test]
fn an_empty_copy_covers_nothing_of_a_swap_but_silence_of_a_flip() {
    let copies = [copy(0, &[])];
    assert!(!past(SnapshotMode::Trigger, &copies, 50, 1000).covers(0, 200, 600));
    assert!(past(SnapshotMode::Flip, &copies, 50, 1000).covers(0, 200, 600));
    assert!(!past(SnapshotMode::Flip, &copies, 250, 1000).covers(0, 200, 600));
}

#[test]
fn both_buffers_of_a_kernel_cover_all_since_the_last_loss() {
    let copies = [copy(0, &[page(&[(500, 0), (900, 0)], MISSED)]), copy(1, &[])];
    let past = past(SnapshotMode::Onmax, &copies, 200, 1000);
    assert!(past.covers(0, 500, 1000) && past.covers(1, 200, 1000), "up to the freeze, and silence as well");
    assert!(!past.covers(0, 499, 900), "overwritten");
    assert!(!past.covers(1, 199, 300), "not recording yet, or copied and forgotten");
    assert!(!past.covers(1, 900, 1001), "not over yet");
    assert!(past.has_any(0, 300, 501) && !past.has_any(0, 300, 500));
    assert!(past.has_any(1, 100, 201) && !past.has_any(1, 100, 200) && !past.has_any(2, 300, 900));
}

#[test]
fn the_line_of_a_thread_is_found_after_what_it_saw() {
    let copies = [copy(0, &[page(&[(100, 7), (600, 8), (900, 7)], 0)])];
    let past = past(SnapshotMode::Trigger, &copies, 50, 1000);
    assert_eq!((past.marker_ns(7, 50), past.marker_ns(7, 101), past.marker_ns(9, 0)), (Some(100), Some(900), None));
}

#[test]
fn a_full_buffer_has_more_pages_than_its_size_says() {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let kernel_pages = (16384_usize * 1024).div_ceil(4080) + 1;
    assert!(full_bytes(16384, &layout) >= kernel_pages * 4096);
}
