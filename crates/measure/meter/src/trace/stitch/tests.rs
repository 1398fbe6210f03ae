//! Two buffers swapped by a simulated kernel.

use super::*;
use crate::trace::past::lost_events;
use ftrace::byte_order::ByteOrder;

fn layout() -> PageLayout {
    PageLayout::bits64(ByteOrder::Little).with_page_size(128)
}

fn in_order(pages: &[u8], layout: &PageLayout, from_ns: i64) -> Vec<u8> {
    let mut ordered = vec![1; 3];
    super::in_order(pages, layout, from_ns, &mut ordered);
    ordered
}

fn written(events: &[i64], lost: bool) -> Vec<u8> {
    let mut writer = PageWriter::new(layout());
    if lost {
        writer.lose(Some(3));
    }
    events.iter().for_each(|ns| writer.push(RawRecord { ts_ns: *ns as u64, payload: &[9; 20] }));
    writer.finish()
}

fn events(pages: &[u8]) -> Vec<i64> {
    let items = pages.chunks_exact(128).flat_map(|page| PageItems::new(page, &layout()).collect::<Vec<_>>());
    let record = |item| if let PageItem::Record(record) = item { Some(record.ts_ns as i64) } else { None };
    items.filter_map(record).collect()
}

#[test]
fn records_of_two_swaps_are_joined() {
    let came_back = written(&[10, 20, 70, 80], false);
    let put_aside = written(&[30, 40, 50, 60], false);
    let ordered = in_order(&[came_back, put_aside].concat(), &layout(), i64::MIN);
    assert_eq!(events(&ordered), [10, 20, 30, 40, 50, 60, 70, 80]);
    assert_eq!(lost_events(&ordered, &layout()), (0, 0));
}

#[test]
fn pages_that_do_not_overlap_stay_as_they_are() {
    let kept = written(&[10, 50], false);
    let new = written(&[50, 70], false);
    assert_eq!(in_order(&[&new[..], &kept].concat(), &layout(), i64::MIN), [kept, new].concat());
}

#[test]
fn a_page_with_the_stamp_of_an_earlier_read_is_stamped_again() {
    // A buffer was read up to 20, swapped out, and became live again.
    let mut later = written(&[50, 60], false);
    later[..8].copy_from_slice(&20_u64.to_le_bytes());
    later[16..20].copy_from_slice(&(5_u32 | 30 << 5).to_le_bytes());
    assert_eq!(events(&later), [50, 60]);
    let ordered = in_order(&[later, written(&[30, 40], false)].concat(), &layout(), i64::MIN);
    assert_eq!(ordered, [written(&[30, 40], false), written(&[50, 60], false)].concat());
}

#[test]
fn records_before_a_loss_are_dropped() {
    let whole = written(&[10, 20, 30, 60, 70], false);
    let overwritten = written(&[40, 50], true);
    let ordered = in_order(&[whole, overwritten].concat(), &layout(), i64::MIN);
    assert_eq!(events(&ordered), [40, 50, 60, 70], "31 to 39 are unknown");
    assert_eq!(lost_events(&ordered, &layout()), (3, 0));
    let no_end = [written(&[10, 20], false), written(&[30], true)[..16].to_vec(), vec![0; 112]].concat();
    assert_eq!(in_order(&no_end, &layout(), i64::MIN), Vec::<u8>::new(), "the end of the loss is unknown");
}

#[test]
fn a_loss_before_what_is_asked_for_does_not_matter() {
    let pages = [written(&[10, 20], true), written(&[30, 40], false)].concat();
    let ordered = in_order(&pages, &layout(), 20);
    assert_eq!((events(&ordered), lost_events(&ordered, &layout())), (vec![20, 30, 40], (0, 0)));
}

#[test]
fn the_tail_begins_with_a_page() {
    let pages = in_order(&written(&(1..=40).collect::<Vec<_>>(), false), &layout(), i64::MIN);
    let count = pages.len() / 128;
    assert_eq!(tail_from_ns(&pages, &layout(), count * 128), None);
    let from_ns = tail_from_ns(&pages, &layout(), (count - 1) * 128).unwrap();
    assert_eq!(from_ns, events(&pages[128..])[0]);
    assert_eq!(tail_from_ns(&pages, &layout(), 0), Some(i64::MAX), "nothing is kept");
}

/// Two rings of a few pages that are swapped at random, and drained in both orders.
#[test]
fn both_buffers_hold_every_event_since_the_last_loss() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..500 {
        let mut rings: [Vec<Vec<i64>>; 2] = [vec![Vec::new()], vec![Vec::new()]];
        let (mut live, mut lost, mut now, mut all) = (0, [false; 2], 0, Vec::new());
        let pages_max = 2 + random(6) as usize;
        for _ in 0..random(120) {
            now += 1 + random(9) as i64;
            let ring = &mut rings[live];
            if ring.last().is_some_and(|page| page.len() == 4) {
                ring.push(Vec::new());
            }
            if ring.len() > pages_max {
                ring.remove(0);
                lost[live] = true;
            }
            ring.last_mut().unwrap().push(now);
            all.push(now);
            if random(15) == 0 {
                live = 1 - live;
            }
        }
        let read = |at: usize| -> Vec<u8> {
            let pages = rings[at].iter().enumerate().map(|(index, page)| written(page, lost[at] && index == 0));
            pages.flatten().collect()
        };
        let first = random(2) as usize;
        let ordered = in_order(&[read(first), read(1 - first)].concat(), &layout(), i64::MIN);
        let found = events(&ordered);
        let oldest_known = |at: usize| rings[at][0].first().copied().filter(|_| lost[at]);
        let complete_from_ns = oldest_known(0).max(oldest_known(1)).unwrap_or(0);
        all.retain(|ns| *ns >= complete_from_ns);
        assert_eq!(found, all);
        assert!(ordered.chunks_exact(128).is_sorted_by_key(|page| page_ts_ns(page, &layout())));
        let (overwritten, within) = lost_events(&ordered, &layout());
        assert_eq!((overwritten > 0, within), (lost[0] || lost[1], 0));
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut state = 1_u32;
    for length in 0..600 {
        let bytes = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & if state & 1 == 0 { 0x0f } else { 0xff }
        });
        let bytes: Vec<u8> = bytes.take(length).collect();
        let ordered = in_order(&bytes, &layout(), i64::MIN);
        let _ = tail_from_ns(&ordered, &layout(), 128);
    }
}
