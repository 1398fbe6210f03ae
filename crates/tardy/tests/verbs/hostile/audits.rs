//! Recordings of audits from elsewhere: crowds of everything that a description and its pages may hold, and what is no file
//! in the place of one.

use super::{NAME, Place};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::symlink;

const PAGE_BYTES: usize = 4096;
/// Parts of each kind of the description, each of about 60 bytes.
const CROWD: u64 = 40_000;
/// Events of the pages, each of 20 to 80 bytes.
const EVENTS: u64 = 300_000;

const SYS_ENTER: &str = "name: sys_enter\nID: 1\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
const SYS_EXIT: &str = "name: sys_exit\nID: 2\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:8;\tsize:8;\tsigned:1;\n";
const FAULT: &str = "name: page_fault_user\nID: 5\nformat:\n\tfield:unsigned long address;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n";
const SWITCH: &str = "name: sched_switch\nID: 3\nformat:\n\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n\tfield:char next_comm[4];\toffset:12;\tsize:4;\tsigned:0;\n\tfield:pid_t next_pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:int next_prio;\toffset:20;\tsize:4;\tsigned:1;\n";

/// Records one after the other in pages, 1 us apart.
#[derive(Default)]
struct Pages {
    done: Vec<u8>,
    page: Vec<u8>,
    first_ns: u64,
    now_ns: u64,
}

impl Pages {
    fn add(&mut self, id: u16, tid: u32, words: &[u64]) {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let units = 2 + payload.len() as u32 / 4;
        if 16 + self.page.len() + 4 + 4 * units as usize > PAGE_BYTES {
            self.turn();
        }
        self.now_ns += 1000;
        self.page.extend((units | 1000 << 5).to_le_bytes());
        self.page.extend(id.to_le_bytes());
        self.page.extend([0, 0]);
        self.page.extend(tid.to_le_bytes());
        self.page.extend(payload);
    }

    fn turn(&mut self) {
        self.done.extend(self.first_ns.to_le_bytes());
        self.done.extend((self.page.len() as u64).to_le_bytes());
        self.done.append(&mut self.page);
        self.done.resize(self.done.len().next_multiple_of(PAGE_BYTES), 0);
        self.first_ns = self.now_ns;
    }

    fn finish(mut self) -> Vec<u8> {
        self.turn();
        self.done
    }
}

/// Waits twice, so that all that is between them is in the loop of the thread.
fn wait(pages: &mut Pages, tid: u32) {
    pages.add(1, tid, &[230, 0, 0, 0, 0, 0, 0]);
    pages.add(3, tid, &[u64::from(tid), 1]);
    pages.add(2, tid, &[0]);
}

fn description(parts: &[(&str, Value)]) -> Value {
    let mut text = json!({
        "description_version": 1, "machine": "x86_64", "page_bytes": PAGE_BYTES, "cpus": vec![0; 1000],
        "event_formats": [["raw_syscalls", SYS_ENTER], ["raw_syscalls", SYS_EXIT], ["exceptions", FAULT], ["sched", SWITCH]],
    });
    parts.iter().for_each(|(key, part)| text[*key] = part.clone());
    text
}

fn place(description: &Value, pages: &[u8]) -> Place {
    let place = Place::new();
    fs::create_dir(place.run().join("audit")).unwrap();
    fs::write(place.run().join("audit/0.pages"), pages).unwrap();
    fs::write(place.run().join("audit/description.json"), description.to_string()).unwrap();
    place
}

/// Judges the audit in every form; returns the text.
fn audited(place: &Place) -> String {
    for form in ["json", "sarif", "junit"] {
        place.tardy(&["audit", "--archive", "here/run", "--settle", "0", "--format", form]);
    }
    let text = place.tardy(&["audit", "--archive", "here/run", "--settle", "0"]);
    place.assert_nothing_outside_changed();
    text
}

#[test]
fn a_crowd_of_faults_and_mappings_costs_what_its_length_does() {
    let mut pages = Pages::default();
    wait(&mut pages, 7);
    (0..EVENTS).for_each(|number| pages.add(5, 7, &[number % (2 * CROWD)]));
    wait(&mut pages, 7);
    wait(&mut pages, 7);
    let mapping = |number: u64| json!({"start": number, "end": 3 * CROWD - number, "offset": 0, "rights": "r", "name": format!("/{number}{NAME}")});
    let mappings: Vec<Value> = (0..CROWD).map(mapping).collect();
    let processes = json!([{"pid": 7, "program": NAME, "mappings": mappings}]);
    let place = place(&description(&[("processes", processes)]), &pages.finish());
    let text = audited(&place);
    assert!(text.contains("[page-fault]") && text.contains("more than an audit keeps"), "{text:.2000}");
}

#[test]
fn a_crowd_of_threads_files_and_calls_costs_what_its_length_does() {
    let mut pages = Pages::default();
    let threads = 2 + CROWD as u32 / 4;
    for tid in 2..threads {
        wait(&mut pages, tid);
        // A write to an open file, and a call that no kernel has.
        (0..8).for_each(|number| pages.add(1, tid, &[1, number, 0, 0, 0, 0, 0]));
        pages.add(1, tid, &[1_000_000 + u64::from(tid), 0, 0, 0, 0, 0, 0]);
        wait(&mut pages, tid);
        wait(&mut pages, tid);
    }
    let files: Vec<Value> =
        (0..CROWD / 2).map(|number| json!({"number": number % 8, "target": format!("/{number}{NAME}")})).collect();
    let thread = |tid: u32| json!({"tid": tid, "pid": 7, "name": NAME, "policy": "fifo", "priority": 1});
    let known: Vec<Value> = (2..threads).map(thread).collect();
    let interrupts: Vec<Value> = (0..CROWD).map(|tid| json!({"tid": tid, "name": "irq", "priority": 0})).collect();
    let processes = json!([{"pid": 7, "program": NAME, "files": files}]);
    let parts = [
        ("processes", processes),
        ("threads", known.into()),
        ("interrupt_threads", interrupts.into()),
        ("events_absent", vec![NAME; 1000].into()),
    ];
    let text = audited(&place(&description(&parts), &pages.finish()));
    assert!(text.contains("[blocking-io]"), "{text:.2000}");
}

#[test]
fn a_call_with_a_stack_in_a_file_of_a_long_name_costs_what_its_length_does() {
    let stack = "name: user_stack\nID: 8\nformat:\n\tfield:unsigned long caller[8];\toffset:8;\tsize:64;\tsigned:0;\n";
    let mut pages = Pages::default();
    wait(&mut pages, 7);
    for number in 0..EVENTS / 10 {
        pages.add(1, 7, &[1_000_000 + number, 0, 0, 0, 0, 0, 0]);
        let first = 8 * number;
        pages.add(8, 7, &std::array::from_fn::<u64, 8, _>(|at| 1 + first + at as u64));
    }
    wait(&mut pages, 7);
    wait(&mut pages, 7);
    let mapping =
        json!({"start": 0, "end": u64::MAX, "offset": 0, "rights": "r", "name": format!("/{}", "x".repeat(1 << 20))});
    let mut text = description(&[("processes", json!([{"pid": 7, "program": "", "mappings": [mapping]}]))]);
    text["stacks"] = true.into();
    text["event_formats"].as_array_mut().unwrap().push(json!(["ftrace", stack]));
    audited(&place(&text, &pages.finish()));
}

#[test]
fn a_description_of_empty_parts_costs_little_more_than_its_length() {
    let text = json!({"processes": [{"mappings": 1}], "threads": 2}).to_string();
    let many = |text: &str, count: usize| format!("[{}]", vec![text; count].join(","));
    let half = (7 << 20) / 6;
    let text = text.replace("\"mappings\":1", &format!("\"mappings\":{}", many("{}", half)));
    let text = text.replace("\"threads\":2", &format!("\"threads\":{}", many("{}", half)));
    let place = place(&description(&[]), b"");
    fs::write(place.run().join("audit/description.json"), text).unwrap();
    audited(&place);
}

#[test]
fn what_is_no_file_in_the_place_of_a_recording_is_refused_at_once() {
    let sound = description(&[]).to_string();
    for name in ["description.json", "0.pages"] {
        let place = place(&description(&[]), b"");
        let path = place.run().join("audit").join(name);
        let make: [&dyn Fn(); 4] = [
            &|| mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
            &|| symlink(place.victim(), &path).unwrap(),
            &|| fs::create_dir(&path).unwrap(),
            &|| File::create(&path).unwrap().set_len(1 << 40).unwrap(),
        ];
        for make in make {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            make();
            let text = audited(&place);
            assert!(text.contains("`tardy audit`"), "another archive is asked for: {text}");
        }
        let _ = fs::remove_file(&path);
        fs::write(&path, &sound).unwrap();
    }
}
