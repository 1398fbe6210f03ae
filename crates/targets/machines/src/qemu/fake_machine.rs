//! A fake QEMU for tests: the test program itself, with the protocol of a guest.
//!
//! [`Stage`] sets up the files of the host. The test program has an ignored test `the_fake_machine` that calls [`be_guest`].

use super::QemuTarget;
use super::machine_file::{AcceleratorChoice, VirtualMachine};
use crate::stop::StopRequests;
use archive::message::Message;
use protocol::guest::{GuestWord, HostLine, HostWord};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Selects what the fake does; without it the fake does nothing.
const PART: &str = "TARDY_FAKE_MACHINE";
const ARGUMENTS: &str = "TARDY_FAKE_ARGUMENTS";

/// Starts like a program for x86_64.
const KERNEL: [u8; 64] = {
    let mut bytes = [0; 64];
    let begin = *b"\x7fELF\x02\x01";
    let mut at = 0;
    while at < begin.len() {
        bytes[at] = begin[at];
        at += 1;
    }
    bytes[18] = 62;
    bytes
};

/// The files of one test: the fake, a kernel and a meter.
pub struct Stage {
    pub folder: TempDir,
    pub stop: StopRequests,
}

impl Stage {
    pub fn new(part: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let this = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo fake 1 && exit\necho $$ | tee {0}/pid >> {0}/boots\nTARDY_FAKE_STAGE={0} {PART}={part} {ARGUMENTS}=\"$*\" exec {1} the_fake_machine --ignored \
             --nocapture\n",
            folder.path().display(),
            this.display()
        );
        fs::write(folder.path().join("qemu"), script).unwrap();
        fs::set_permissions(folder.path().join("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("kernel"), KERNEL).unwrap();
        fs::write(folder.path().join("meter"), "not looked at").unwrap();
        Self { folder, stop: StopRequests::default() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn machine(&self) -> VirtualMachine {
        VirtualMachine {
            qemu: Some(self.path("qemu")),
            accel: AcceleratorChoice::Tcg,
            settle_seconds: 0,
            boot_seconds: 60,
            ..VirtualMachine::new(self.path("kernel").to_str().unwrap())
        }
    }

    pub fn target(&self, machine: VirtualMachine) -> QemuTarget {
        QemuTarget::new("vm", machine, &self.path("meter"), self.folder.path(), self.stop.clone())
    }

    /// No process of this stage is left, running or unreaped.
    pub fn assert_nothing_is_left(&self) {
        let stage = self.folder.path().to_str().unwrap();
        for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()) {
            for words in ["cmdline", "environ"] {
                let words = fs::read(process.join(words)).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&words).contains(stage), "{} is left", process.display());
            }
        }
        // A process that was stopped before it started has written no number.
        let pid = fs::read_to_string(self.path("pid")).unwrap_or_default();
        if !pid.trim().is_empty() {
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} is left");
        }
    }
}

pub const FAKE_STATE: &[u8] = b"the state of a fake";

/// QEMU's monitor. Like QEMU, it exits if a state is invalid.
fn fake_monitor(mut line: UnixStream, can_be_saved: bool) {
    line.write_all(b"{\"QMP\": {}}\n").unwrap();
    let commands = BufReader::new(line.try_clone().unwrap()).lines().map_while(Result::ok);
    let (mut saving, mut status) = ("none", "running");
    for command in commands {
        let command: serde_json::Value = serde_json::from_str(&command).unwrap();
        let uri = command["arguments"]["uri"].as_str().and_then(|uri| uri.strip_prefix("unix:"));
        let answer = match (command["execute"].as_str().unwrap(), uri) {
            ("migrate", Some(_)) if !can_be_saved => "{\"error\": {\"desc\": \"migration is blocked\"}}\n".to_owned(),
            ("migrate", Some(path)) => {
                UnixStream::connect(path).unwrap().write_all(FAKE_STATE).unwrap();
                saving = "completed";
                "{\"return\": {}}\n".to_owned()
            }
            ("migrate-incoming", Some(path)) => {
                let listener = UnixListener::bind(path).unwrap();
                line.write_all(b"{\"return\": {}}\n").unwrap();
                let mut state = Vec::new();
                listener.accept().unwrap().0.read_to_end(&mut state).unwrap();
                if state != FAKE_STATE {
                    io::stderr().write_all(b"qemu: bad state\n").unwrap();
                    std::process::exit(1);
                }
                status = "paused";
                continue;
            }
            ("query-migrate", _) => format!("{{\"return\": {{\"status\": \"{saving}\"}}}}\n"),
            ("query-status", _) => format!("{{\"return\": {{\"status\": \"{status}\"}}}}\n"),
            _ => "{\"event\": \"SOMETHING\"}\n{\"return\": {}}\n".to_owned(),
        };
        // The host may be gone.
        let _ = line.write_all(answer.as_bytes());
    }
}

/// The guest: the other end of the tests with a [`Stage`].
pub fn be_guest() {
    let Ok(part) = std::env::var(PART) else { return };
    if part == "refuses" {
        io::stderr().write_all(b"qemu: invalid accelerator\n").unwrap();
        std::process::exit(1);
    }
    let arguments = std::env::var(ARGUMENTS).unwrap();
    let line = |name: &str| {
        let (_, rest) = arguments.split_once(&format!("socket,id={name},path=")).unwrap();
        UnixStream::connect(rest.split(' ').next().unwrap()).unwrap()
    };
    let (mut console, mut data, words) = (line("console"), line("data"), line("words"));
    console.write_all(b"[    0.1] hello from the console\r\n").unwrap();
    let say = |word: &GuestWord| {
        let line = serde_json::to_string(word).unwrap() + "\n";
        (&words).write_all(line.as_bytes()).unwrap();
    };
    let mut lines = BufReader::new(words.try_clone().unwrap()).lines().map(|line| line.unwrap());
    if part == "fails" {
        say(&GuestWord::Failed { why: "no virtio_console".into() });
    }
    let hangs = part == "hangs" || part == "hangs-with-kvm" && arguments.contains("-accel kvm");
    if part == "fails" || hangs {
        // Ends when the host does.
        while lines.next().is_some() {}
        return;
    }
    if arguments.contains("id=monitor") {
        let (monitor, can_be_saved) = (line("monitor"), part != "cannot-be-saved");
        thread::spawn(move || fake_monitor(monitor, can_be_saved));
    }
    if !arguments.contains("-incoming") {
        say(&GuestWord::Booted { kernel_release: "6.1-fake".into(), uptime_ns: 1 });
    }
    let mut sent = BufReader::new(data.try_clone().unwrap());
    let (mut read, mut files) = (0, std::collections::BTreeMap::new());
    // A machine that was only booted as a trial gets no messages.
    for line in lines.by_ref() {
        let line: HostLine = serde_json::from_str(&line).unwrap();
        // Input that an earlier command did not read.
        let mut left = vec![0; (line.data_before - read) as usize];
        match line.word {
            HostWord::Clock { .. } => panic!("this guest has reported no clock"),
            HostWord::Bye => return,
            HostWord::Put { path, executable, bytes } => {
                left.resize(left.len() + bytes as usize, 0);
                sent.read_exact(&mut left).unwrap();
                read = line.data_before + bytes;
                let contents = left.split_off(left.len() - bytes as usize);
                files.insert(path, (executable, contents));
                say(&GuestWord::Stored);
            }
            HostWord::Get { path, .. } if path == "/proc/sys/kernel/osrelease" => {
                say(&GuestWord::Fetched { bytes: 9 });
                data.write_all(b"6.1-fake\n").unwrap();
            }
            HostWord::Get { path, .. } => match files.get(&path) {
                Some((executable, contents)) => {
                    let contents = [contents.as_slice(), if *executable { b" may run" } else { b"" }].concat();
                    say(&GuestWord::Fetched { bytes: contents.len() as u64 });
                    data.write_all(&contents).unwrap();
                }
                None => say(&GuestWord::Refused { why: format!("there is no {path}") }),
            },
            HostWord::Run(command) => match part.as_str() {
                "panics" => return console.write_all(b"[    0.2] Kernel panic - not syncing: fake\r\n").unwrap(),
                "cut" => {
                    let hello = Message::Hello {
                        stream_version: archive::STREAM_VERSION,
                        meter_version: "fake".into(),
                        pid: 1,
                        boot_id: String::new(),
                        realtime_ns: 0,
                        monotonic_ns: 0,
                    };
                    data.write_all(&archive::frame::Encoder::default().message(&hello)).unwrap();
                    say(&GuestWord::Said { line: "a word".into() });
                    data.shutdown(std::net::Shutdown::Both).unwrap();
                }
                _ => {
                    sent.read_exact(&mut left).unwrap();
                    let mut input = String::new();
                    sent.read_line(&mut input).unwrap();
                    read = line.data_before + input.len() as u64;
                    let output = format!("{} got {input}", command.arguments.join(" ")).repeat(10_000);
                    say(&GuestWord::Said { line: "a complaint".into() });
                    let code = if input.contains("fail") { 7 } else { 0 };
                    say(&GuestWord::Ended { code: Some(code), signal: None, bytes: output.len() as u64 });
                    // Late, as after a full queue: the host must wait for the announced bytes.
                    thread::sleep(Duration::from_millis(300));
                    data.write_all(output.as_bytes()).unwrap();
                }
            },
        }
    }
}
