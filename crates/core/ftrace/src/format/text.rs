//! The texts that describe events and pages, generated from the parsed forms.

use super::{EventFormat, Field, Storage};
use crate::header::PageLayout;

impl PageLayout {
    /// Text of `events/header_page` for this layout.
    pub fn text(&self) -> String {
        let (commit, offset) = (self.commit_size, self.data_offset);
        let data = self.page_size.saturating_sub(offset);
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{commit};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{offset};\tsize:{data};\tsigned:1;\n"
        )
    }
}

impl EventFormat {
    /// The text it was parsed from, as far as it matters.
    pub fn text(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.name, self.id);
        let mut common = true;
        for field in &self.fields {
            // An empty line separates the common fields from the event's own.
            if common && !field.name.starts_with("common_") {
                common = false;
                text.push('\n');
            }
            let (offset, size, signed) = (field.offset, field.size, u8::from(field.signed));
            text += &format!("\tfield:{};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n", declaration(field));
        }
        text + &format!("\nprint fmt: {}\n", self.print_fmt)
    }
}

fn declaration(field: &Field) -> String {
    let (type_name, name) = (&field.type_name, &field.name);
    match field.storage {
        Storage::Value => format!("{type_name} {name}"),
        Storage::Array { count: Some(count) } => format!("{type_name} {name}[{count}]"),
        Storage::Array { count: None } => format!("{type_name} {name}[]"),
        Storage::DataLoc => format!("__data_loc {type_name}[] {name}"),
        Storage::RelLoc => format!("__rel_loc {type_name}[] {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_order::ByteOrder;

    #[test]
    fn what_is_written_is_read_back() {
        let text = "name: t\nID: 9\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n\
            \nprint fmt: \"%s\", REC->comm\n";
        let format = EventFormat::parse("s", text, ByteOrder::Big).unwrap();
        assert_eq!(EventFormat::parse("s", &format.text(), ByteOrder::Big), Some(format));
        for layout in [PageLayout::bits32(ByteOrder::Little), PageLayout::bits64(ByteOrder::Big).with_page_size(16384)]
        {
            assert_eq!(PageLayout::parse(&layout.text(), layout.byte_order), layout);
        }
    }
}
