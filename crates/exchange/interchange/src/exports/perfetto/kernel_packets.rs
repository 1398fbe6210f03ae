//! Packets with the kernel's events: one CPU each, with the names of the functions in them.

use super::super::protobuf::Message;
use super::ftrace_event::FunctionNames;
use super::{TRACE_PACKET, packet};

/// Packets with the kernel's events; function names are valid for one sequence.
const KERNEL_SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;
const KERNEL_SYMBOLS: u32 = 26;
const INTERNED_NUMBER: u32 = 1;
const INTERNED_TEXT: u32 = 2;

const BUNDLE_CPU: u32 = 1;
const BUNDLE_EVENT: u32 = 2;
const BUNDLE_LOST_EVENTS: u32 = 3;
/// Approximate limit of a packet's size.
const BUNDLE_BYTES: usize = 256 << 10;

/// Packets with the events of one CPU.
pub struct KernelPackets<'f> {
    file: &'f mut Message,
    /// Packets in the file so far.
    count: &'f mut u64,
    cpu: u32,
    bundle: Message,
}

impl<'f> KernelPackets<'f> {
    pub fn new(file: &'f mut Message, count: &'f mut u64, cpu: u32) -> Self {
        let mut packets = Self { file, count, cpu, bundle: Message::default() };
        packets.begin();
        packets
    }

    fn begin(&mut self) {
        self.bundle = Message::default();
        self.bundle.unsigned(BUNDLE_CPU, u64::from(self.cpu));
    }

    /// Writes one event.
    pub fn event(&mut self, write: impl FnOnce(&mut Message)) {
        self.bundle.message(BUNDLE_EVENT, write);
    }

    /// Marks that events are missing before the following ones.
    pub fn say_lost(&mut self) {
        self.bundle.unsigned(BUNDLE_LOST_EVENTS, 1);
    }

    pub fn is_long(&self) -> bool {
        self.bundle.len() > BUNDLE_BYTES
    }

    /// Writes the packet into the file, with the function names that its events need, and starts the next one.
    pub fn put(&mut self, functions: &mut FunctionNames) {
        let bundle = std::mem::take(&mut self.bundle).into_bytes();
        let names = functions.take_fresh();
        let flags = if *self.count == 0 { STATE_CLEARED | NEEDS_STATE } else { NEEDS_STATE };
        *self.count += 1;
        self.file.message(TRACE_PACKET, |message| {
            message.unsigned(packet::SEQUENCE, KERNEL_SEQUENCE).unsigned(packet::SEQUENCE_FLAGS, flags);
            if !names.is_empty() {
                message.message(packet::INTERNED_DATA, |data| {
                    for (number, name) in &names {
                        data.message(KERNEL_SYMBOLS, |symbol| {
                            symbol.unsigned(INTERNED_NUMBER, *number).text(INTERNED_TEXT, name);
                        });
                    }
                });
            }
            message.bytes(packet::FTRACE_EVENTS, &bundle);
        });
        self.begin();
    }
}
