//! Finds the kernel addresses in a trace, so that the recording machine saves only the names of those.

use std::collections::{BTreeSet, HashMap};

use crate::format::{EventFormat, EventFormats, Field, Storage};
use crate::trace_dat::TraceItem;

/// The distinct kernel addresses in the fields of these records, sorted: pointers, and values of type `unsigned long`,
/// which the kernel uses for code addresses. For [`kernel_symbols::excerpt`](crate::kernel_symbols::excerpt).
pub fn kernel_addresses<'a>(formats: &EventFormats, items: impl IntoIterator<Item = TraceItem<'a>>) -> Vec<u64> {
    let mut addresses = BTreeSet::new();
    let mut fields_by_id: HashMap<u16, Vec<&Field>> = HashMap::new();
    for item in items {
        let TraceItem::Record(record) = item else { continue };
        let fields = fields_by_id
            .entry(record.id)
            .or_insert_with(|| formats.by_id(record.id).map(address_fields).unwrap_or_default());
        for field in fields {
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
    }
    addresses.into_iter().collect()
}

fn address_fields(format: &EventFormat) -> Vec<&Field> {
    let holds_addresses = |field: &&Field| {
        let kind = field.type_name.as_str();
        matches!(field.element_size, 4 | 8) && (kind.ends_with('*') || kind == "unsigned long")
    };
    format.own_fields().filter(holds_addresses).collect()
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
        let record = Record {
            cpu: 0,
            ts_ns: 0,
            id: 9,
            common_flags: 0,
            common_preempt_count: 0,
            common_pid: 0,
            payload: &payload,
        };
        let items = [TraceItem::Record(record), TraceItem::Record(record)];
        assert_eq!(kernel_addresses(&formats, items), [u64::MAX - 9, u64::MAX - 5]);
    }
}
