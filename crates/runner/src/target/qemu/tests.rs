//! The backend against a QEMU that is this test program again, speaking as a guest does.

use super::*;
use crate::event::Event;
use crate::run::{RunRequest, TimeLimits, run};
use crate::target::{Exit, Output};
use archive::guest::{GuestWord, HostLine, HostWord};
use archive::manifest::RunState;
use archive::message::{Message, Severity};
use archive::reader::Run;
use archive::settings::RunSettings;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use tempfile::TempDir;

/// Tells the fake what to do; without it the fake does nothing.
const PART: &str = "TARDY_FAKE_MACHINE";
const ARGUMENTS: &str = "TARDY_FAKE_ARGUMENTS";

struct Stage {
    folder: TempDir,
    stop: StopRequests,
}

impl Stage {
    fn new(part: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let this = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo fake 1 && exit\necho $$ | tee {0}/pid >> {0}/boots\nTARDY_FAKE_STAGE={0} {PART}={part} {ARGUMENTS}=\"$*\" exec {1} --exact target::qemu::tests::the_fake_machine --ignored \
             --nocapture\n",
            folder.path().display(),
            this.display()
        );
        fs::write(folder.path().join("qemu"), script).unwrap();
        fs::set_permissions(folder.path().join("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("kernel"), elf::tests::module("")).unwrap();
        fs::write(folder.path().join("meter"), "not looked at").unwrap();
        Self { folder, stop: StopRequests::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn machine(&self) -> VirtualMachine {
        VirtualMachine {
            qemu: Some(self.path("qemu")),
            accel: AcceleratorChoice::Tcg,
            settle_seconds: 0,
            boot_seconds: 60,
            ..VirtualMachine::new(self.path("kernel").to_str().unwrap())
        }
    }

    fn target(&self, machine: VirtualMachine) -> QemuTarget {
        QemuTarget::new("vm", machine, &self.path("meter"), self.folder.path(), self.stop.clone())
    }

    fn started(&self) -> (QemuTarget, Box<dyn RunningCommand>) {
        let mut target = self.target(self.machine());
        target.prepare().unwrap();
        let running = target.start(&measure()).unwrap();
        (target, running)
    }

    fn refused(&self, machine: VirtualMachine) -> String {
        let mut target = self.target(machine);
        target.prepare().unwrap();
        target.start(&measure()).err().expect("it did not boot").to_string()
    }

    /// Neither a process that still works for this stage nor one that nobody has waited for.
    fn assert_nobody_is_left(&self) {
        let stage = self.folder.path().to_str().unwrap();
        for process in fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path()) {
            for words in ["cmdline", "environ"] {
                let words = fs::read(process.join(words)).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&words).contains(stage), "{} is left", process.display());
            }
        }
        // One that was stopped before it began has written no number.
        let pid = fs::read_to_string(self.path("pid")).unwrap_or_default();
        if !pid.trim().is_empty() {
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "process {pid} is left");
        }
    }

    /// A whole run on this machine, and what was told during it.
    fn run(&self, settings: RunSettings) -> (Run, Vec<Event>) {
        let mut target = self.target(self.machine());
        let request = RunRequest {
            id: "test".into(),
            directory: self.path("run"),
            command: Vec::new(),
            tool_version: "0".into(),
            meter: self.path("meter"),
            limits: TimeLimits::of(&settings, Duration::from_secs(60)),
            settings,
        };
        let mut events = Vec::new();
        run(&mut target, &request, &self.stop, &mut |event| events.push(event)).unwrap();
        drop(target);
        self.assert_nobody_is_left();
        (Run::open(self.path("run")).unwrap(), events)
    }
}

fn measure() -> Command {
    Command { program: "/meter".into(), arguments: vec!["measure".into()] }
}

fn everything(running: &mut dyn RunningCommand) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match running.read(Duration::from_secs(60)) {
            Output::Bytes(bytes) => all.extend(bytes),
            Output::Quiet => panic!("nothing for a minute"),
            Output::Closed => return all,
        }
    }
}

#[test]
fn a_command_gets_its_input_and_gives_output_code_and_complaints() {
    let stage = Stage::new("serves");
    let (mut target, mut running) = stage.started();
    running.write(b"fail\n").unwrap();
    assert_eq!(everything(running.as_mut()), b"measure got fail\n".repeat(10_000));
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(7)));
    assert_eq!(running.diagnostics(), ["a complaint"]);
    assert_eq!(target.booted().unwrap().kernel_release, "6.1-fake");
    assert_eq!(target.name(), "vm (emulated)");
    assert!(String::from_utf8(target.console()).unwrap().contains("hello from the console"));
    drop(running);
    let scratch = target.scratch.as_ref().unwrap().0.clone();
    target.close().unwrap();
    stage.assert_nobody_is_left();
    assert!(!scratch.exists());
}

#[test]
fn commands_and_files_share_a_machine_until_a_command_fails() {
    let stage = Stage::new("serves");
    let (mut target, mut running) = stage.started();
    let boots = || fs::read_to_string(stage.path("boots")).unwrap().lines().count();
    running.write(b"one\nleft over").unwrap();
    assert_eq!(everything(running.as_mut()).len(), 10_000 * "measure got one\n".len());
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));

    fs::write(stage.path("program"), "contents").unwrap();
    fs::set_permissions(stage.path("program"), fs::Permissions::from_mode(0o755)).unwrap();
    target.send_file(&stage.path("program"), Path::new("/opt/program")).unwrap();
    target.fetch_file(Path::new("/opt/program"), &stage.path("back")).unwrap();
    assert_eq!(fs::read_to_string(stage.path("back")).unwrap(), "contents may run");
    let why = target.fetch_file(Path::new("/absent"), &stage.path("back")).unwrap_err().to_string();
    assert!(why.contains("there is no /absent"), "{why}");
    for path in ["relative", "/a/../b", "/init"] {
        assert!(target.send_file(&stage.path("program"), Path::new(path)).is_err(), "{path}");
        assert!(target.fetch_file(Path::new(path), &stage.path("back")).is_err(), "{path}");
    }

    let mut second = target.start(&measure()).unwrap();
    second.write(b"fail\n").unwrap();
    assert_eq!(everything(second.as_mut()), b"measure got fail\n".repeat(10_000));
    assert_eq!(second.wait(Duration::from_secs(60)), Some(Exit::Code(7)));
    assert_eq!(boots(), 1);
    assert!(
        target.fetch_file(Path::new("/opt/program"), &stage.path("back")).is_err(),
        "it cannot be trusted any more"
    );
    let third = target.start(&measure()).unwrap();
    assert_eq!(boots(), 2);
    // One that is let go while it runs takes its machine along.
    drop((running, second, third));
    assert!(target.fetch_file(Path::new("/opt/program"), &stage.path("back")).is_err());
    drop(target);
    stage.assert_nobody_is_left();
}

#[test]
fn a_kvm_that_is_there_and_hangs_costs_only_time() {
    let stage = Stage::new("hangs-with-kvm");
    fs::write(stage.path("kvm"), "").unwrap();
    let machine = VirtualMachine { accel: AcceleratorChoice::Auto, boot_seconds: 3, ..stage.machine() };
    let mut target = stage.target(machine);
    target.kvm = stage.path("kvm");
    target.prepare().unwrap();
    assert_eq!(target.name(), "vm (emulated)");
    stage.assert_nobody_is_left();
}

#[test]
fn a_kvm_that_works_is_used_and_said_to_be_no_hardware() {
    let stage = Stage::new("serves");
    fs::write(stage.path("kvm"), "").unwrap();
    let mut target = stage.target(VirtualMachine { accel: AcceleratorChoice::Auto, ..stage.machine() });
    target.kvm = stage.path("kvm");
    target.prepare().unwrap();
    assert_eq!(target.name(), "vm (virtual)");
    assert!(!target.caveat().unwrap().emulated);
    stage.assert_nobody_is_left();
}

#[test]
fn a_machine_that_hangs_while_booting_is_killed_and_quoted() {
    let stage = Stage::new("hangs");
    let why = stage.refused(VirtualMachine { boot_seconds: 2, ..stage.machine() });
    assert!(why.contains("did not boot within 2 s") && why.contains("hello from the console"), "{why}");
    stage.assert_nobody_is_left();
}

#[test]
fn a_qemu_that_refuses_is_quoted() {
    let stage = Stage::new("refuses");
    let why = stage.refused(stage.machine());
    assert!(why.contains("QEMU ended") && why.contains("invalid accelerator"), "{why}");
}

#[test]
fn a_guest_that_cannot_go_on_says_why() {
    let stage = Stage::new("fails");
    assert!(stage.refused(stage.machine()).contains("no virtio_console"));
    stage.assert_nobody_is_left();
}

#[test]
fn a_request_to_stop_ends_a_boot() {
    let stage = Stage::new("hangs");
    stage.stop.request();
    assert!(stage.refused(stage.machine()).contains("stopped on request"));
    stage.assert_nobody_is_left();
    let (archived, _) = stage.run(RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Interrupted);
    assert!(manifest.problem.unwrap().contains("stopped on request"));
}

#[test]
fn a_missing_qemu_names_its_package() {
    let stage = Stage::new("serves");
    let machine = VirtualMachine { qemu: Some("qemu-system-absent".into()), ..stage.machine() };
    let why = stage.target(machine).prepare().unwrap_err().to_string();
    assert!(why.contains("qemu-system-x86"), "{why}");
}

#[test]
fn a_meter_that_needs_libraries_is_refused() {
    let stage = Stage::new("serves");
    fs::copy("/bin/sh", stage.path("meter")).unwrap();
    assert!(stage.target(stage.machine()).prepare().unwrap_err().to_string().contains("make build"));
}

#[test]
fn a_panic_of_the_guest_fails_the_run_and_is_the_reason() {
    let stage = Stage::new("panics");
    let (archived, _) = stage.run(RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Failed);
    let problem = manifest.problem.unwrap();
    assert!(problem.contains("the machine went down") && problem.contains("Kernel panic"), "{problem}");
    let console = fs::read_to_string(archived.directory.join("console.log")).unwrap();
    assert!(console.contains("hello from the console") && console.contains("Kernel panic"));
}

#[test]
fn a_line_that_is_cut_fails_the_run_and_ends_the_machine() {
    let (archived, events) = Stage::new("cut").run(RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Failed);
    assert!(manifest.problem.is_some_and(|problem| problem.contains("the line to the meter was cut")));
    assert_eq!(archived.meter_version, Some("fake".into()), "what came before the cut is kept");
    let said: Vec<_> = events.iter().filter(|event| matches!(event, Event::Said { .. })).collect();
    assert_eq!(said, [&Event::Said { line: "a word".into() }], "passed on, and once");
}

#[test]
fn an_emulated_machine_is_marked_and_judges_no_limit() {
    let (archived, events) = Stage::new("panics").run(RunSettings::default());
    let manifest = archived.manifest.as_ref().unwrap();
    assert!(manifest.emulated);
    assert_eq!(manifest.target, "vm (emulated)");
    assert_eq!(archived.problems[0].severity, Severity::Degraded);
    assert!(events.iter().any(|event| matches!(event, Event::Problem(problem) if problem.text.contains("EMULATED"))));
    let (archived, _) = Stage::new("panics").run(RunSettings { limit_ns: Some(1), ..RunSettings::default() });
    assert_eq!(archived.problems[0].severity, Severity::Invalid);
}

/// Starts a machine, lets it go, and answers whether it was restored and what was told.
fn restored(stage: &Stage) -> (bool, String) {
    let mut target = stage.target(VirtualMachine { saved_state: true, ..stage.machine() });
    target.prepare().unwrap();
    let mut running = target.start(&measure()).unwrap();
    running.write(b"one\n").unwrap();
    assert_eq!(everything(running.as_mut()).len(), 10_000 * "measure got one\n".len());
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    drop(running);
    let told = target.notices().into_iter().map(|notice| notice.text).collect();
    let booted = target.booted().unwrap();
    assert_eq!(booted.kernel_release, "6.1-fake");
    (booted.restored, told)
}

fn only_state(stage: &Stage) -> PathBuf {
    let states: Vec<_> = fs::read_dir(stage.path("states")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(states.len(), 1, "{states:?}");
    states[0].clone()
}

#[test]
fn a_machine_goes_on_from_where_it_was_saved_and_says_so() {
    let stage = Stage::new("serves");
    assert_eq!(restored(&stage), (false, String::new()));
    assert_eq!(fs::read(only_state(&stage)).unwrap(), FAKE_STATE);
    let (was, told) = restored(&stage);
    assert!(was && told.contains("went on from a saved state"), "{told}");
    // Another meter is another machine.
    fs::write(stage.path("meter"), "a newer one").unwrap();
    assert_eq!(restored(&stage), (false, String::new()));
    stage.assert_nobody_is_left();
}

#[test]
fn a_state_that_does_not_load_costs_a_boot_and_is_replaced() {
    let stage = Stage::new("serves");
    restored(&stage);
    let state = only_state(&stage);
    fs::write(&state, "damaged").unwrap();
    let (was, told) = restored(&stage);
    assert!(!was && told.contains("did not load, so the machine booted") && told.contains("bad state"), "{told}");
    assert_eq!(only_state(&stage), state);
    assert!(restored(&stage).0);
    stage.assert_nobody_is_left();
}

#[test]
fn a_machine_that_cannot_be_saved_runs_all_the_same() {
    let stage = Stage::new("cannot-be-saved");
    let (was, told) = restored(&stage);
    assert!(!was && told.contains("could not be saved") && told.contains("migration is blocked"), "{told}");
    assert_eq!(fs::read_dir(stage.path("states")).unwrap().count(), 0);
}

const FAKE_STATE: &[u8] = b"the state of a fake";

/// QEMU's monitor. Ends the process like QEMU where a state is none.
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
        // The host may have gone.
        let _ = line.write_all(answer.as_bytes());
    }
}

/// Not a test: the other side of the tests above.
#[test]
#[ignore = "the tests above start it"]
fn the_fake_machine() {
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
    let mut heard = BufReader::new(words.try_clone().unwrap()).lines().map(|line| line.unwrap());
    if part == "fails" {
        say(&GuestWord::Failed { why: "no virtio_console".into() });
    }
    let hangs = part == "hangs" || part == "hangs-with-kvm" && arguments.contains("-accel kvm");
    if part == "fails" || hangs {
        // The end of the host is the end of this.
        while heard.next().is_some() {}
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
    // A machine that was only booted to see whether it does hears nothing.
    for line in heard.by_ref() {
        let line: HostLine = serde_json::from_str(&line).unwrap();
        // What an earlier command did not read of its input.
        let mut left = vec![0; (line.data_before - read) as usize];
        match line.word {
            HostWord::Clock { .. } => panic!("this guest has told no clock"),
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
                    // Late, as behind a full queue: the host must wait for what it was promised.
                    thread::sleep(Duration::from_millis(300));
                    data.write_all(output.as_bytes()).unwrap();
                }
            },
        }
    }
}
