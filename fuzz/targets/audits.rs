//! A recording of an audit with any pages and a description with any texts: it is read, judged, and shown in each
//! format.
#![no_main]

use archive::audit::{AuditDescription, AuditedProcess, AuditedThread, Mapping, OpenFile};
use archive::recorded_pages::RecordedPages;
use audit::naming::{Names, Variable};
use audit::read::{CpuPages, read};
use audit::report::{Scope, judge};
use interchange::audits::{self, Audited};
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::pages::{PAGE_BYTES, PageEvent, pages};
use tardy_fuzz::{Damage, spoilt, within_budget};

/// As a kernel describes them: (system, text).
const FORMATS: [(&str, &str); 8] = [
    (
        "raw_syscalls",
        "name: sys_enter\nID: 1\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n",
    ),
    (
        "raw_syscalls",
        "name: sys_exit\nID: 2\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n",
    ),
    (
        "sched",
        "name: sched_switch\nID: 3\nformat:\n\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n\tfield:char next_comm[16];\toffset:24;\tsize:16;\tsigned:0;\n\tfield:pid_t next_pid;\toffset:40;\tsize:4;\tsigned:1;\n\tfield:int next_prio;\toffset:44;\tsize:4;\tsigned:1;\n",
    ),
    ("sched", "name: sched_waking\nID: 4\nformat:\n\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"),
    (
        "exceptions",
        "name: page_fault_user\nID: 5\nformat:\n\tfield:unsigned long address;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n",
    ),
    (
        "exceptions",
        "name: page_fault_kernel\nID: 6\nformat:\n\tfield:unsigned long address;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n",
    ),
    ("signal", "name: signal_deliver\nID: 7\nformat:\n\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"),
    (
        "ftrace",
        "name: user_stack\nID: 8\nformat:\n\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
    ),
];
const MACHINES: [&str; 4] = ["x86_64", "aarch64", "armv7l", "riscv64"];

#[derive(Debug, arbitrary::Arbitrary)]
struct Record {
    id: u8,
    later_ns: u16,
    tid: u8,
    /// Fields in units of 4 bytes: numbers of system calls and states are small.
    words: Vec<u8>,
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Recording<'a> {
    machine: u8,
    big_endian: bool,
    stacks: bool,
    real_time: bool,
    page_bytes: Option<u64>,
    started_ns: i64,
    settle_ns: i64,
    header_page: Option<&'a str>,
    format: Option<(u8, Vec<Damage>)>,
    records: Vec<Record>,
    damages: Vec<Damage>,
    again: bool,
    mappings: Vec<(u16, u16, u64, &'a str)>,
    files: Vec<(i8, &'a str)>,
    threads: Vec<(u8, u8, &'a str, u8, Option<u64>)>,
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Description(&'a [u8], &'a [u8]),
    Recording(Recording<'a>),
}

/// The records in pages of the usual layout.
fn written(records: &[Record]) -> Vec<u8> {
    pages(records.iter().map(|record| PageEvent {
        id: u16::from(record.id % 10),
        later_ns: record.later_ns,
        flags: 0,
        tid: u32::from(record.tid % 4),
        words: &record.words,
    }))
}

impl Recording<'_> {
    fn description(&self) -> AuditDescription {
        let mut formats: Vec<(String, String)> =
            FORMATS.iter().map(|(system, text)| ((*system).to_owned(), (*text).to_owned())).collect();
        if let Some((which, damages)) = &self.format {
            let text = &mut formats[usize::from(*which) % FORMATS.len()].1;
            *text = String::from_utf8_lossy(&spoilt(text.as_bytes(), damages)).into_owned();
        }
        let mapping = |(start, end, offset, name): &(u16, u16, u64, &str)| Mapping {
            start: u64::from(*start),
            end: u64::from(*end),
            offset: *offset,
            rights: "r-xp".into(),
            name: (*name).into(),
        };
        let file = |(number, target): &(i8, &str)| OpenFile { number: i32::from(*number), target: (*target).into() };
        let thread = |(tid, pid, name, priority, slack): &(u8, u8, &str, u8, Option<u64>)| AuditedThread {
            tid: i32::from(tid % 4),
            pid: i32::from(pid % 2),
            name: (*name).into(),
            policy: self.real_time.then_some(archive::settings::Policy::Fifo),
            priority: *priority,
            timer_slack_ns: *slack,
            ..AuditedThread::default()
        };
        let process = |pid| AuditedProcess {
            pid,
            program: "loop".into(),
            mappings: self.mappings.iter().map(mapping).collect(),
            files: self.files.iter().map(file).collect(),
            ..AuditedProcess::default()
        };
        AuditDescription {
            machine: MACHINES[usize::from(self.machine) % MACHINES.len()].into(),
            started_ns: self.started_ns,
            stacks: self.stacks,
            recorded: RecordedPages {
                big_endian: self.big_endian,
                page_bytes: self.page_bytes.unwrap_or(PAGE_BYTES as u64),
                header_page: self.header_page.unwrap_or_default().into(),
                event_formats: formats,
                ..RecordedPages::default()
            },
            threads: self.threads.iter().map(thread).collect(),
            processes: vec![process(0), process(1)],
            ..AuditDescription::default()
        }
    }
}

/// Every place has its offset as its name.
struct Offsets;

impl Names for Offsets {
    fn function(&mut self, _: &str, offset: u64) -> Option<String> {
        Some(offset.to_string())
    }

    fn variable(&mut self, _: &str, offset: u64) -> Option<Variable> {
        Some(Variable { name: offset.to_string(), inside: offset % 2, address: offset })
    }
}

fuzz_target!(|input: Input| {
    let (description, pages, settle_ns, again) = match input {
        Input::Description(description, pages) => {
            let read = within_budget(description.len(), || serde_json::from_slice::<AuditDescription>(description));
            let Ok(description) = read else { return };
            (description, pages.to_vec(), 0, true)
        }
        Input::Recording(recording) => {
            let pages = spoilt(&written(&recording.records), &recording.damages);
            (recording.description(), pages, recording.settle_ns, recording.again)
        }
    };
    let text = serde_json::to_vec(&description).map_or(0, |text| text.len());
    let cpus = if again { 2 } else { 1 };
    let own = again.then(|| pages.clone());
    within_budget(text + cpus * pages.len() + own.as_ref().map_or(0, Vec::len), || {
        // Pieces that are no whole number of pages.
        let pieces = || Box::new(pages.chunks(1000).map(<[u8]>::to_vec));
        let cpus = (0..cpus).map(|cpu| CpuPages { cpu: cpu as u32, pieces: pieces() });
        let recorded = read(&description, cpus, own.into_iter());
        for scope in [Scope::All, Scope::RealTime] {
            let report = judge(&description, &recorded, scope, settle_ns, &mut Offsets);
            for denied in [true, false] {
                let audited = Audited { report: &report, whom: "any program", denied: &|_| denied };
                for format in audits::FORMATS {
                    format.document(&audited).expect("a document");
                }
            }
        }
    });
});
