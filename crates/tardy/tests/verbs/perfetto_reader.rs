//! Reads a Perfetto trace back using only the wire format of protocol buffers: it shares no code with the writer.

use std::collections::BTreeMap;

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message as a list of its fields. Panics on invalid bytes.
pub fn fields(bytes: &[u8]) -> Vec<(u64, Wire<'_>)> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let tag = number(&mut rest);
        let value = match tag % 8 {
            0 => Wire::Number(number(&mut rest)),
            2 => {
                let length = number(&mut rest) as usize;
                let (inside, after) = rest.split_at(length);
                rest = after;
                Wire::Bytes(inside)
            }
            kind => panic!("the writer has no use for fields of kind {kind}"),
        };
        found.push((tag / 8, value));
    }
    found
}

fn number(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().expect("a number is cut off");
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a number of more than ten bytes")
}

pub fn inside<'a>(message: &[(u64, Wire<'a>)], field: u64) -> Vec<&'a [u8]> {
    let of = |&(number, value): &(u64, Wire<'a>)| match value {
        Wire::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    };
    message.iter().filter_map(of).collect()
}

pub fn value(message: &[(u64, Wire<'_>)], field: u64) -> Option<u64> {
    message.iter().find_map(|&(number, value)| match value {
        Wire::Number(value) if number == field => Some(value),
        _ => None,
    })
}

pub fn text(message: &[(u64, Wire<'_>)], field: u64) -> Option<String> {
    inside(message, field).first().map(|bytes| String::from_utf8(bytes.to_vec()).expect("text is UTF-8"))
}

/// An event of the kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelEvent {
    pub cpu: u64,
    pub ts_ns: u64,
    pub tid: i32,
    /// Number of the message that contains its data.
    pub message: u64,
    /// Name of an event without its own message type.
    pub generic: Option<String>,
    /// Content of that message.
    pub content: Vec<u8>,
}

/// A slice of a track, or an instant if both ends are the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Slice {
    pub track: String,
    pub parent: String,
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
}

#[derive(Debug, Default)]
pub struct Trace {
    pub events: Vec<KernelEvent>,
    pub slices: Vec<Slice>,
    /// (track, value)
    pub counts: Vec<(String, u64)>,
    pub function_names: BTreeMap<u64, String>,
    pub lost_bundles: usize,
}

pub fn read(file: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let mut tracks: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    for packet in inside(&fields(file), 1) {
        let packet = fields(packet);
        assert!(inside(&packet, 1).is_empty() || value(&packet, 13).is_some_and(|flags| flags & 2 != 0));
        for data in inside(&packet, 12) {
            for symbol in inside(&fields(data), 26) {
                let symbol = fields(symbol);
                trace.function_names.insert(value(&symbol, 1).unwrap(), text(&symbol, 2).unwrap());
            }
        }
        for bundle in inside(&packet, 1) {
            read_bundle(&fields(bundle), &mut trace);
        }
        for descriptor in inside(&packet, 60) {
            let descriptor = fields(descriptor);
            let parent = value(&descriptor, 5).unwrap_or(0);
            let known = tracks.insert(value(&descriptor, 1).unwrap(), (text(&descriptor, 2).unwrap(), parent));
            assert!(known.is_none(), "two tracks with one number");
        }
        for event in inside(&packet, 11) {
            let event = fields(event);
            let at_ns = value(&packet, 8).unwrap();
            let number = value(&event, 11).unwrap();
            let (track, parent) = tracks.get(&number).cloned().expect("a track is described before it is used");
            let parent = tracks.get(&parent).map_or_else(String::new, |(name, _)| name.clone());
            let name = text(&event, 23).unwrap_or_default();
            let mut slice = |name, start_ns| {
                let (track, parent) = (track.clone(), parent.clone());
                trace.slices.push(Slice { track, parent, name, start_ns, end_ns: at_ns });
            };
            match value(&event, 9) {
                Some(1) => open.entry(number).or_default().push((name, at_ns)),
                Some(2) => {
                    let (name, start_ns) = open.entry(number).or_default().pop().expect("an end has a beginning");
                    slice(name, start_ns);
                }
                Some(3) => slice(name, at_ns),
                Some(4) => trace.counts.push((track, value(&event, 30).unwrap())),
                other => panic!("event of type {other:?}"),
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice ends");
    trace
}

fn read_bundle(bundle: &[(u64, Wire<'_>)], trace: &mut Trace) {
    let cpu = value(bundle, 1).unwrap();
    trace.lost_bundles += usize::from(value(bundle, 3) == Some(1));
    for event in inside(bundle, 2) {
        let event = fields(event);
        let mut messages = event.iter().filter_map(|&(number, value)| match value {
            Wire::Bytes(content) => Some((number, content)),
            Wire::Number(_) => None,
        });
        let (message, content) = messages.next().expect("an event is of some kind");
        assert!(messages.next().is_none(), "an event is of one kind");
        trace.events.push(KernelEvent {
            cpu,
            ts_ns: value(&event, 1).unwrap(),
            tid: value(&event, 2).unwrap() as i32,
            message,
            generic: (message == 327).then(|| text(&fields(content), 1).unwrap()),
            content: content.to_vec(),
        });
    }
}
