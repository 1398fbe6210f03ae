//! Finds the kernel addresses in a trace, so that the recording machine saves only the names of those.

use std::collections::{BTreeSet, HashMap};

use crate::format::{EventFormat, EventFormats, Field, Storage};
use crate::stack::StackFields;
use crate::trace_dat::TraceItem;

/// The distinct kernel addresses in the fields of these records, sorted: pointers, and values of type `unsigned long`,
/// which the kernel uses for code addresses. For [`kernel_symbols::excerpt`](crate::kernel_symbols::excerpt).
pub fn kernel_addresses<'a>(formats: &EventFormats, items: impl IntoIterator<Item = TraceItem<'a>>) -> Vec<u64> {
    let mut addresses = BTreeSet::new();
    let mut places_by_id: HashMap<u16, Places> = HashMap::new();
    for item in items {
        let TraceItem::Record(record) = item else { continue };
        let places = places_by_id
            .entry(record.id)
            .or_insert_with(|| formats.by_id(record.id).map(Places::of).unwrap_or_default());
        for field in &places.fields {
            match field.storage {
                Storage::Value => {
                    addresses.extend(field.uint(record.payload).filter(|&value| is_kernel(value, field.size)))
                }
                _ => {
                    let elements = (0..).map_while(|index| field.element(record.payload, index));
                    addresses.extend(elements.filter(|&value| is_kernel(value, field.element_size)));
                }
            }
        }
        if let Some((stack, size)) = &places.stack {
            addresses.extend(stack.callers(record.payload).filter(|&value| is_kernel(value, *size)));
        }
    }
    addresses.into_iter().collect()
}

/// Where events of one kind have addresses.
#[derive(Default)]
struct Places<'f> {
    fields: Vec<&'f Field>,
    /// Its callers, and the bytes of each.
    stack: Option<(StackFields, usize)>,
}

impl<'f> Places<'f> {
    fn of(format: &'f EventFormat) -> Places<'f> {
        let holds_addresses = |field: &&Field| {
            let kind = field.type_name.as_str();
            matches!(field.element_size, 4 | 8) && (kind.ends_with('*') || kind == "unsigned long")
        };
        let size = || format.field("caller").map(|callers| callers.element_size);
        let stack = StackFields::of(format).zip(size());
        Places { fields: format.own_fields().filter(holds_addresses).collect(), stack }
    }
}

/// The upper half of the address space; 32-bit kernels with another split have their code there, too.
fn is_kernel(value: u64, size: usize) -> bool {
    value >= 1 << (8 * size - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_order::ByteOrder;
    use crate::trace_dat::Record;

    const RECORD: Record<'static> =
        Record { cpu: 0, ts_ns: 0, id: 9, common_flags: 0, common_preempt_count: 0, common_pid: 0, payload: &[] };

    #[test]
    fn pointers_and_callers_are_found_and_users_addresses_are_not() {
        let text = "name: t\nID: 9\nformat:\n\
            \tfield:void * function;\toffset:8;\tsize:8;\tsigned:0;\n\
            \tfield:unsigned long caller[2];\toffset:16;\tsize:16;\tsigned:0;\n\
            \tfield:u64 count;\toffset:32;\tsize:8;\tsigned:0;\n";
        let mut formats = EventFormats::default();
        formats.extend(EventFormat::parse("s", text, ByteOrder::Little));
        let words = [9, u64::MAX - 5, 0x7fff_0000, u64::MAX - 9, u64::MAX - 1];
        let payload: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let record = Record { payload: &payload, ..RECORD };
        let items = [TraceItem::Record(record), TraceItem::Record(record)];
        assert_eq!(kernel_addresses(&formats, items), [u64::MAX - 9, u64::MAX - 5]);
    }

    #[test]
    fn every_caller_of_a_stack_is_found() {
        let text = "name: kernel_stack\nID: 9\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:unsigned long caller[2];\toffset:16;\tsize:16;\tsigned:0;\n";
        let mut formats = EventFormats::default();
        formats.extend(EventFormat::parse("ftrace", text, ByteOrder::Little));
        let callers: Vec<u64> = (0..20).map(|index| u64::MAX - 100 + index).collect();
        let words = [9, 20].into_iter().chain(callers.iter().copied());
        let payload: Vec<u8> = words.flat_map(|word: u64| word.to_le_bytes()).collect();
        let record = TraceItem::Record(Record { payload: &payload, ..RECORD });
        assert_eq!(kernel_addresses(&formats, [record]), callers);
    }
}
