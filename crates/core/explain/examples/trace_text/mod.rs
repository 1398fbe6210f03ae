//! The texts that describe the events of a trace.dat, generated from the parsed formats.

use ftrace::format::{EventFormat, Field, Storage};

/// A 64-bit machine's pages of 4 kB.
pub const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                               \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                               \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
                               \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
pub const HEADER_EVENT: &str = "# compressed entry header\n";

/// The text a format was parsed from, as far as it matters.
pub fn format_text(format: &EventFormat) -> String {
    let mut text = format!("name: {}\nID: {}\nformat:\n", format.name, format.id);
    let mut common = true;
    for field in &format.fields {
        // An empty line separates the common fields from the event's own.
        if common && !field.name.starts_with("common_") {
            common = false;
            text.push('\n');
        }
        let (offset, size, signed) = (field.offset, field.size, u8::from(field.signed));
        text += &format!("\tfield:{};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n", declaration(field));
    }
    text + &format!("\nprint fmt: {}\n", format.print_fmt)
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
