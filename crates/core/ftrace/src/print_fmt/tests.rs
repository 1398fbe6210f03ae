//! Output of real and of hostile print formats.

use super::*;
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;

/// A record of event 9 with the fields a..d (int, u64, char[8], `__data_loc` text) printed by `print_fmt`.
fn printed(print_fmt: &str) -> String {
    let text = format!(
        "name: test\nID: 9\nformat:\n\
         \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\
         \tfield:u64 b;\toffset:16;\tsize:8;\tsigned:0;\n\
         \tfield:char c[8];\toffset:24;\tsize:8;\tsigned:0;\n\
         \tfield:__data_loc char[] d;\toffset:32;\tsize:4;\tsigned:0;\n\
         \tfield:unsigned char e[4];\toffset:36;\tsize:4;\tsigned:0;\n\n\
         print fmt: {print_fmt}\n"
    );
    let mut metadata = Metadata::empty(PageLayout::bits64(ByteOrder::Little));
    metadata.formats.insert(EventFormat::parse("test", &text, ByteOrder::Little).unwrap());
    metadata.symbols = crate::kernel_symbols::KernelSymbols::parse("1000 T do_it\n2000 T end\n");
    metadata.printk_formats = crate::printk_formats::PrintkFormats::parse("0x1010 : \"constant\"\n");
    let mut payload = vec![0; 40];
    payload[0] = 9;
    payload[8..12].copy_from_slice(&(-5i32).to_le_bytes());
    payload[16..24].copy_from_slice(&0x1010u64.to_le_bytes());
    payload[24..28].copy_from_slice(b"name");
    payload[32..36].copy_from_slice(&(40u32 | 5 << 16).to_le_bytes());
    payload[36..40].copy_from_slice(&[10, 0, 0, 255]);
    payload.extend(b"tail\0");
    print_payload(&metadata, &payload)
}

fn print_payload(metadata: &Metadata, payload: &[u8]) -> String {
    let record = Record { cpu: 0, ts_ns: 0, id: 9, common_flags: 0, common_preempt_count: 0, common_pid: 0, payload };
    let mut out = String::new();
    EventPrinter::new(metadata).print(&record, &mut out);
    out
}

#[test]
fn conversions() {
    for (print_fmt, expected) in [
        (r#""%d|%5d|%-5d|%05d|%u", REC->a, REC->a, REC->a, REC->a, REC->a"#, "-5|   -5|-5   |-0005|4294967291"),
        (r#""%x %#llx %08lx %X %o", REC->b, REC->b, REC->b, 0xAB, 8"#, "1010 0x1010 00001010 AB 10"),
        (r#""%s|%8s|%-8s|%.2s|%.*s", REC->c, REC->c, REC->c, REC->c, 3, REC->c"#, "name|    name|name    |na|nam"),
        (r#""%s %s", __get_str(d), (char *)REC->b"#, "tail constant"),
        (
            r#""%p %ps %pS %pI4 %c%%", REC->b, (void *)REC->b, REC->b, REC->e, 65"#,
            "0x1010 do_it do_it+0x10 10.0.0.255 A%",
        ),
        (r#""%lld %hhu %hd %lu", (long long)REC->a, 0x1ff, 0x1ffff, ~0UL"#, "-5 255 -1 18446744073709551615"),
        (r#""%016llx %+d %.3d %#06x", REC->b, 7, 7, 10"#, "0000000000001010 +7 007 0x000a"),
    ] {
        assert_eq!(printed(print_fmt), expected, "{print_fmt}");
    }
}

#[test]
fn expressions() {
    for (print_fmt, expected) in [
        (r#""%d", 1 + 2 * 3 - 8 / 4 % 3"#, "5"),
        (r#""%s", REC->a < 0 ? "yes" : "no""#, "yes"),
        (r#""%s%s", REC->a == -5 && !0 ? "a" : "b", REC->b & 0x20 || 0 ? "+" : "-""#, "a-"),
        (r#""%u,%u", ((unsigned int) ((REC->b) >> 4)), ((unsigned int) ((REC->b) & ((1U << 4) - 1)))"#, "257,0"),
        (r#""%d %d", REC->e[0], REC->e[3]"#, "10 255"),
        (r#""%d", (int)__get_dynamic_array_len(d)"#, "5"),
        (r#""a" "b=%d", (u8)REC->a"#, "ab=251"),
        (r#""%s", __print_symbolic(REC->a, { -5, "minus five" }, { 0, "zero" })"#, "minus five"),
        (r#""%s", __print_symbolic(REC->b, { 1, "one" })"#, "0x1010"),
        (r#""%s", __print_flags(REC->b, "|", { 0x10, "A" }, { 1 << 12, "B" })"#, "A|B"),
        (r#""%s", __print_flags(REC->b, "|", { 0x10UL, "A" })"#, "A|0x1000"),
        (r#""%s", __print_flags(0, "|", { 0x10, "A" })"#, ""),
        (r#""%s", __print_symbolic(10, { HRTIMER_MODE_ABS_PINNED_HARD, "ABS|PINNED|HARD" })"#, "ABS|PINNED|HARD"),
        (r#""%s", __print_symbolic(1, { WHO_KNOWS, "what" }, { 1, "one" }, { -1, NULL })"#, "one"),
        (r#""%s", __print_flags(3, "|", { 1 << WHO_KNOWS, "what" }, { 1, "one" })"#, "one|0x2"),
        (r#""%s %s", __print_hex(REC->e, 3), __print_hex_str(REC->e, sizeof(u16))"#, "0a 00 00 0a00"),
        (r#""%s", __print_array(REC->e, 2, 2)"#, "{0xa,0xff00}"),
    ] {
        assert_eq!(printed(print_fmt), expected, "{print_fmt}");
    }
}

#[test]
fn an_unknown_format_prints_as_names_and_values() {
    let fields = "a=-5 b=4112 c=name d=tail e=0a0000ff";
    for print_fmt in [
        "",
        "no C",
        r#""%d""#,
        r#""%d", REC->absent"#,
        r#""%d", UNKNOWN_CONSTANT"#,
        r#""%d", some_function(REC->a)"#,
        r#""%y", REC->a"#,
        r#""%d", REC->a / 0"#,
        r#""%d", REC->e[9]"#,
        r#""%99999d", REC->a"#,
    ] {
        assert_eq!(printed(print_fmt), fields, "{print_fmt}");
    }
}

#[test]
fn hostile_depth_is_refused_without_exhausting_the_stack() {
    for (open, close) in [("(", ")"), ("-", ""), ("(u8)", ""), ("1 ? 1 : ", ""), ("1 + ", ""), ("*", "")] {
        let deep = format!(r#""%d", {}1{}"#, open.repeat(5000), close.repeat(5000));
        assert!(printed(&deep).starts_with("a=-5"), "{open}");
    }
}

#[test]
fn short_records_and_unknown_events_still_print() {
    let mut metadata = Metadata::empty(PageLayout::bits64(ByteOrder::Little));
    assert_eq!(print_payload(&metadata, &[9, 0]), "unknown event 9");
    let text = "name: t\nID: 9\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->a\n";
    metadata.formats.insert(EventFormat::parse("t", text, ByteOrder::Little).unwrap());
    assert_eq!(print_payload(&metadata, &[9, 0]), "a=?");
}

#[test]
fn stacks_and_markers() {
    let mut metadata = Metadata::empty(PageLayout::bits64(ByteOrder::Little));
    metadata.symbols = crate::kernel_symbols::KernelSymbols::parse("1000 T do_it\n");
    let stack = "name: kernel_stack\nID: 9\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";
    metadata.formats.insert(EventFormat::parse("ftrace", stack, ByteOrder::Little).unwrap());
    let words = [9u64, 2, 0x1000, 0x1004, 0x9999];
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(print_payload(&metadata, &payload), "\n => do_it\n => do_it+0x4");
    let marker = "name: print\nID: 9\nformat:\n\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: x\n";
    metadata.formats.insert(EventFormat::parse("ftrace", marker, ByteOrder::Little).unwrap());
    assert_eq!(print_payload(&metadata, b"\x09\0\0\0\0\0\0\0________hello\n\0\0"), "hello");
}
