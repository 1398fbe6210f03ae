//! The callers in a stack trace event.

use crate::format::{EventFormat, Field};

/// The fields of a stack trace event.
#[derive(Debug, Clone)]
pub struct StackFields {
    callers: Field,
    count: Option<Field>,
}

impl StackFields {
    /// `None` for a format of any other event.
    pub fn of(format: &EventFormat) -> Option<StackFields> {
        let is_stack = format.system == "ftrace" && matches!(format.name.as_str(), "kernel_stack" | "user_stack");
        let callers = format.field("caller").filter(|_| is_stack)?.clone();
        Some(StackFields { callers, count: format.field("size").cloned() })
    }

    /// Addresses, innermost first. The format declares as many callers as the kernel prints at least; a record has as many
    /// as its count says, or as fit into it.
    pub fn callers<'a>(&'a self, payload: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let count = self.count.as_ref().and_then(|field| field.uint(payload)).filter(|&count| count > 0);
        let ends_short_stacks = self.callers.element_max();
        let all = self.callers.elements_to_end(payload).take(count.map_or(usize::MAX, |count| count as usize));
        // Some versions of the kernel end a short stack with 0 or with an address of all ones.
        all.take_while(move |&caller| caller != 0 && caller != ends_short_stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_order::ByteOrder;

    fn fields(order: ByteOrder) -> StackFields {
        let text = "name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:unsigned long caller[2];\toffset:16;\tsize:16;\tsigned:0;\n";
        StackFields::of(&EventFormat::parse("ftrace", text, order).unwrap()).unwrap()
    }

    fn read(words: &[u64]) -> Vec<u64> {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fields(ByteOrder::Little).callers(&payload).collect()
    }

    #[test]
    fn a_record_has_more_callers_than_its_format_declares() {
        assert_eq!(read(&[4, 5, 10, 11, 12, 13, 14, 15]), [10, 11, 12, 13, 14]);
        assert_eq!(read(&[4, 50, 10, 11, 12]), [10, 11, 12]);
        assert_eq!(read(&[4, 0, 10, 11, 12]), [10, 11, 12], "a kernel without the count");
    }

    #[test]
    fn a_short_stack_ends_where_the_kernel_ends_it() {
        assert_eq!(read(&[4, 3, 10, u64::MAX, 12]), [10]);
        assert_eq!(read(&[4, 3, 10, 0, 12]), [10]);
        assert_eq!(read(&[4, 3]), [0u64; 0]);
    }

    #[test]
    fn big_endian_callers_are_read() {
        let payload: Vec<u8> = [4u64, 1 << 32, 10].iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(fields(ByteOrder::Big).callers(&payload).collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn other_events_have_none() {
        let text = "name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n";
        assert!(StackFields::of(&EventFormat::parse("ftrace", text, ByteOrder::Little).unwrap()).is_none());
        let text = format!("{text}\tfield:unsigned long caller[2];\toffset:16;\tsize:16;\tsigned:0;\n");
        assert!(StackFields::of(&EventFormat::parse("sched", &text, ByteOrder::Little).unwrap()).is_none());
    }
}
