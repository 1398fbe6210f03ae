//! Formats as kernels print them, and fields read from records.

use super::*;

pub(crate) const SCHED_WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu\n";

fn one(line: &str) -> Field {
    Field::parse(line, ByteOrder::Little).unwrap()
}

#[test]
fn reads_number_name_fields_and_print_fmt() {
    let format = EventFormat::parse("sched", SCHED_WAKING, ByteOrder::Little).unwrap();
    assert_eq!((format.id, format.system.as_str(), format.name.as_str()), (375, "sched", "sched_waking"));
    assert_eq!(format.fields.len(), 8);
    assert_eq!(
        format.own_fields().map(|field| field.name.as_str()).collect::<Vec<_>>(),
        ["comm", "pid", "prio", "target_cpu"]
    );
    assert!(format.print_fmt.starts_with("\"comm=%s") && format.print_fmt.ends_with("REC->target_cpu"));
}

#[test]
fn reads_values_of_both_byte_orders() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let format = EventFormat::parse("sched", SCHED_WAKING, order).unwrap();
        let mut payload = vec![0; 36];
        payload[8..12].copy_from_slice(b"loop");
        payload[24..28].copy_from_slice(&order.u32_bytes(4711));
        payload[28..32].copy_from_slice(&order.u32_bytes(-1i32 as u32));
        assert_eq!(format.field("comm").unwrap().text(&payload).unwrap(), "loop");
        assert_eq!(format.field("pid").unwrap().int(&payload), Some(4711));
        assert_eq!(format.field("prio").unwrap().int(&payload), Some(-1));
        assert_eq!(format.field("prio").unwrap().uint(&payload), Some(0xffff_ffff));
        assert_eq!(format.field("target_cpu").unwrap().int(&payload[..33]), None);
    }
}

#[test]
fn follows_data_loc_and_rel_loc() {
    let data = one("\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;");
    assert_eq!((data.name.as_str(), data.storage, data.is_text()), ("name", Storage::DataLoc, true));
    let mut payload = vec![0; 12];
    payload[8..12].copy_from_slice(&(12u32 | 6 << 16).to_le_bytes());
    payload.extend(b"timer\0");
    assert_eq!(data.text(&payload).unwrap(), "timer");
    assert_eq!(data.bytes(&payload[..14]), None);

    let relative = one("field:__rel_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;");
    payload[8..12].copy_from_slice(&(6u32 << 16).to_le_bytes());
    assert_eq!(relative.text(&payload).unwrap(), "timer");
}

#[test]
fn distinguishes_types_from_names() {
    let pointer = one("field:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;");
    assert_eq!((pointer.type_name.as_str(), pointer.name.as_str()), ("const char *", "fmt"));
    let glued = one("field:struct file *file;\toffset:16;\tsize:8;\tsigned:0;");
    assert_eq!((glued.type_name.as_str(), glued.name.as_str()), ("struct file *", "file"));
    let callers = one("field:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;");
    assert_eq!((callers.storage, callers.element_size), (Storage::Array { count: Some(8) }, 8));
    let rest = one("field:char buf[];\toffset:16;\tsize:0;\tsigned:0;");
    assert_eq!(rest.storage, Storage::Array { count: None });
    assert_eq!(rest.text(b"0123456789abcdefhello\0\0").unwrap(), "hello");
}

#[test]
fn nonsense_is_left_out() {
    assert!(EventFormat::parse("x", "name: y\nformat:\n", ByteOrder::Little).is_none());
    assert!(EventFormat::parse("x", "ID: 70000\n", ByteOrder::Little).is_none());
    let format = EventFormat::parse(
        "x",
        "ID: 5\nfield:;\nfield:int;offset:1;size:4;\nfield:*[;offset:0;size:1;",
        ByteOrder::Big,
    );
    assert_eq!(format.unwrap().fields, []);
}

#[test]
fn formats_are_found_by_number_and_by_name() {
    let mut formats = EventFormats::default();
    formats.insert(EventFormat::parse("sched", SCHED_WAKING, ByteOrder::Little).unwrap());
    assert_eq!(formats.by_id(375).unwrap().name, "sched_waking");
    assert_eq!(formats.find("sched", "sched_waking").unwrap().id, 375);
    assert!(formats.by_id(374).is_none() && formats.by_id(u16::MAX).is_none());
}
