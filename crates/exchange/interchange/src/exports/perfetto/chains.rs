//! The critical paths of chains as tracks: a group for each chain, a track for each of its stages.

use super::super::protobuf::Message;
use super::tracks::{Note, Tracks, describe_ranked, slice};
use archive::chain::{ChainAccount, ChainInstance};
use words::chain::{segment, share_name, verdict};
use words::figures::latency;

/// First track number of chains.
const CHAINS: u64 = 1 << 43;
/// Tracks of a chain: its group, its instances, and its stages.
const TRACKS: u64 = 128;
const INSTANCES: u64 = 1;
const STAGES: u64 = 2;

/// Adds the instances whose ledgers the account has.
pub fn add(number: u64, account: &ChainAccount, tracks: &mut Tracks, file: &mut Message) {
    let group = CHAINS + number * TRACKS;
    tracks.group(group, &format!("chain {}", account.name.0), &verdict(account), file);
    describe_ranked(group + INSTANCES, group, "instances", "from the stimulus to the end", 0, file);
    // Stages without an instance have no name of a thread.
    for (stage, times) in (0_u64..).zip(account.stages.iter().take((TRACKS - STAGES) as usize)) {
        let track = group + STAGES + stage;
        describe_ranked(track, group, &format!("{} {}", stage + 1, times.name.0), "", 1 + stage as i64, file);
    }
    let mut free_ns = [i64::MIN; TRACKS as usize];
    for instance in account.instances.iter().filter(|instance| !instance.segments.is_empty()) {
        add_instance(group, account, instance, &mut free_ns, file);
    }
}

/// Slices of a track must not overlap, and a stage may have its next input before it has dealt with the one before: `free_ns` has the
/// end of the last slice of each track.
fn add_instance(
    group: u64,
    account: &ChainAccount,
    instance: &ChainInstance,
    free_ns: &mut [i64; TRACKS as usize],
    file: &mut Message,
) {
    let mut add = |track: u64, start_ns: i64, end_ns: i64, category: &str, name: &str, notes: &[Note<'_>]| {
        let free_ns = &mut free_ns[track as usize];
        slice(start_ns.max(*free_ns), end_ns, group + track, category, name, notes, file);
        *free_ns = end_ns.max(*free_ns);
    };
    let late = account.deadline_ns.is_some_and(|deadline_ns| instance.latency_ns() > deadline_ns);
    let name = format!("{}{}", latency(instance.latency_ns()), if late { ", missed the deadline" } else { "" });
    let notes = [Note::Number("latency_ns", instance.latency_ns())];
    add(INSTANCES, instance.stimulus_ns, instance.end_ns, "chain", &name, &notes);
    for part in &instance.segments {
        let track = STAGES + part.stage as u64;
        if track >= TRACKS {
            continue;
        }
        let [whose, what] = segment(part);
        let notes = [Note::Text("thread", &whose), Note::Text("share", share_name(part.share()))];
        add(track, part.start_ns, part.end_ns, "chain", &what, &notes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::TRACE_PACKET;
    use super::super::tracks::{TIMESTAMP, TRACK_EVENT, event};
    use super::*;
    use archive::chain::{Activity, Segment, StagePart, StageSpan, StageTimes};
    use archive::culprit::{ForeignText, TaskName};
    use std::collections::BTreeMap;

    /// The fields of a message, of those kinds that the export writes.
    fn fields(mut bytes: &[u8]) -> Vec<(u32, u64, &[u8])> {
        let varint = |bytes: &mut &[u8]| {
            let (mut value, mut shift) = (0, 0);
            loop {
                let (first, rest) = bytes.split_first().unwrap();
                *bytes = rest;
                value |= u64::from(first & 0x7f) << shift;
                shift += 7;
                if first & 0x80 == 0 {
                    return value;
                }
            }
        };
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let number = (key >> 3) as u32;
            if key & 7 == 0 {
                found.push((number, varint(&mut bytes), &[] as &[u8]));
            } else {
                assert_eq!(key & 7, 2, "field {number}");
                let length = varint(&mut bytes) as usize;
                found.push((number, 0, &bytes[..length]));
                bytes = &bytes[length..];
            }
        }
        found
    }

    fn thread(comm: &str) -> TaskName {
        TaskName { tid: 7, comm: comm.into() }
    }

    /// Of two stages, the second one with the CPU for the rest.
    fn instance(stimulus_ns: i64, handed_ns: i64, end_ns: i64) -> ChainInstance {
        let part = |start_ns, end_ns, stage, name: &str| Segment {
            start_ns,
            end_ns,
            stage,
            part: StagePart::Work,
            thread: Some(thread(name)),
            awaited: Vec::new(),
            cpu: Some(0),
            activity: Activity::Running { function: None },
        };
        let span =
            |start_ns, end_ns, name: &str| StageSpan { thread: thread(name), start_ns, woken_ns: start_ns, end_ns };
        ChainInstance {
            stimulus_ns,
            end_ns,
            is_open: false,
            stages: vec![span(stimulus_ns, handed_ns, "sensor"), span(handed_ns, end_ns, "motor")],
            segments: vec![part(stimulus_ns, handed_ns, 0, "sensor"), part(handed_ns, end_ns, 1, "motor")],
        }
    }

    #[test]
    fn slices_of_a_stage_do_not_overlap_and_say_what_was_missed() {
        let stage = |name: &str| StageTimes { name: ForeignText(name.into()), median_ns: 1, max_ns: 2 };
        let account = ChainAccount {
            name: ForeignText("sensor to motor".into()),
            deadline_ns: Some(5_000_000),
            instances: vec![instance(1_000_000, 2_000_000, 9_000_000), instance(5_000_000, 6_000_000, 9_500_000)],
            unlinked: 0,
            stages: vec![stage("sensor"), stage("motor")],
            findings: Vec::new(),
            limits: Vec::new(),
        };
        let (mut tracks, mut file) = (Tracks::default(), Message::default());
        add(0, &account, &mut tracks, &mut file);
        let bytes = file.into_bytes();
        let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(holds("chain sensor to motor") && holds("2 motor") && holds("8.00 ms, missed the deadline"));
        let mut open: BTreeMap<u64, (bool, u64)> = BTreeMap::new();
        let mut slices = 0;
        for (_, _, packet) in fields(&bytes).into_iter().filter(|(number, ..)| *number == TRACE_PACKET) {
            let packet = fields(packet);
            let of = |fields: &[(u32, u64, &[u8])], wanted: u32| {
                fields.iter().find(|field| field.0 == wanted).map(|field| field.1)
            };
            let Some((_, _, event)) = packet.iter().find(|field| field.0 == TRACK_EVENT) else { continue };
            let event = fields(event);
            let (kind, track) = (of(&event, event::TYPE).unwrap(), of(&event, event::TRACK).unwrap());
            let at_ns = of(&packet, TIMESTAMP).unwrap();
            let (was_open, last_ns) = open.get(&track).copied().unwrap_or_default();
            assert!(at_ns >= last_ns && was_open == (kind == event::END), "track {track} at {at_ns}");
            open.insert(track, (kind == event::BEGIN, at_ns));
            slices += usize::from(kind == event::BEGIN);
        }
        assert_eq!(slices, 6, "two instances, each with two stages");
        assert!(open.values().all(|(is_open, _)| !is_open));
    }
}
