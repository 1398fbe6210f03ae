//! Invalid input: one line with the problem and its fix, a failure status, no incomplete files.

use crate::programs::{Ran, ours, run_ours, wait_for_sleeps};
use prerequisites::{is_root, require};
use std::os::unix::process::CommandExt;

fn refused(ran: &Ran, status: i32, what: &str) {
    assert_eq!(ran.status, status, "{} {}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "", "nothing looks like a result");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("cyclictest: ") && ran.stderr.contains(what), "{} lacks {what}", ran.stderr);
}

#[test]
fn a_failure_is_reported_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let cases = [
        ("-Z", 2, "-Z"),
        ("--nonsense", 2, "--nonsense"),
        ("-a 99", 2, "choose among"),
        ("-ax", 2, "0-3,5"),
        ("--mainaffinity=banana", 2, "0-3,5"),
        ("-l 0", 2, "-D TIME"),
        ("-i 0", 2, "from 1"),
        ("-i 99999999999", 2, "3600000000"),
        ("-d -1", 2, "from 0"),
        ("-h 0", 2, "at least 1"),
        ("-t 3 -p 2 --priospread -l 1", 2, "from 3 to 99"),
        ("--json=/nonexistent/x -l 1", 3, "/nonexistent/x"),
        ("--json=. -l 1", 3, "directory"),
        ("--histfile=/nonexistent/x -h 10 -l 1", 3, "/nonexistent/x"),
        ("-F /nonexistent/x -l 1", 3, "/nonexistent/x"),
        ("-F . -l 1", 3, "does not exist yet"),
        ("-f", 2, "--breaktrace"),
        ("-b 5 -T magic -l 1", if is_root() { 2 } else { 3 }, ""),
        ("--snapshot --snapshot-dir=/nonexistent -l 1", 3, "--snapshot-dir"),
        ("--snapshot -c 1 -l 1", 2, "-c 1"),
        ("-y rr", 2, "--policy"),
        ("--deepest-idle-state=x", 2, "whole number"),
    ];
    for (line, status, what) in cases {
        println!("{line}");
        refused(&run_ours(line, directory.path()).without_notes(), status, what);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_tracer_the_kernel_lacks_is_named_with_its_option() {
    require!(Root, Tracefs);
    let tracers = std::fs::read_to_string("/sys/kernel/tracing/available_tracers").unwrap_or_default();
    let is_missing = !tracers.split_whitespace().any(|tracer| tracer == "wakeup_rt");
    require!(Kernel("a kernel without the tracer wakeup_rt", is_missing));
    let directory = tempfile::tempdir().unwrap();
    refused(&run_ours("-a -t -n -p99 -W -b100 -l 5 -q", directory.path()).without_notes(), 3, "CONFIG_SCHED_TRACER");
}

impl Ran {
    /// Without harmless notes.
    fn without_notes(mut self) -> Self {
        self.stderr =
            self.stderr.lines().filter(|line| !line.starts_with("WARN: ")).map(|line| format!("{line}\n")).collect();
        self
    }
}

#[test]
fn priority_and_locked_memory_need_the_privilege() {
    require!(Root);
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("cyclictest");
    std::fs::copy(env!("CARGO_BIN_EXE_tardy-meter"), &program).unwrap();
    std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nobody = |words: &[&str]| -> Ran {
        let mut command = std::process::Command::new(&program);
        // SAFETY: setrlimit is async-signal-safe and reads a value on the stack.
        unsafe {
            command.pre_exec(|| {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_MEMLOCK, &none);
                Ok(())
            });
        }
        Ran::from(command.args(words).uid(65534).gid(65534).current_dir("/").output().unwrap()).without_notes()
    };
    let refused_priority = nobody(&["-p", "80", "-l", "5", "-q"]);
    assert_eq!(refused_priority.status, 3);
    assert!(
        refused_priority.stderr.contains("setcap") && !refused_priority.stdout.contains("T:"),
        "{refused_priority:?}"
    );
    let refused_memory = nobody(&["-m", "-l", "5", "-q"]);
    assert_eq!(refused_memory.status, 3);
    assert!(refused_memory.stderr.contains("ulimit -l"), "{refused_memory:?}");
    // Without either it measures, under its other name.
    let measured = nobody(&["-l", "5", "-q"]);
    assert_eq!(measured.status, 0, "{measured:?}");
    assert!(measured.stdout.contains("T: 0"));
}

#[test]
fn an_old_result_stays_when_the_new_one_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("out.json");
    std::fs::write(&place, "old").unwrap();
    assert_eq!(run_ours("--json=out.json -i 0", directory.path()).status, 2);
    assert_eq!(run_ours("--json=out.json -F /nonexistent/x -l 3", directory.path()).status, 3);
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "old");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn two_at_once_know_of_each_other() {
    let mut first = ours().args(["-q", "-D", "2"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_for_sleeps(&first, 1, 1);
    let second = run_ours("-q -l 5", std::path::Path::new("/"));
    first.wait().unwrap();
    assert!(second.stderr.contains(&format!("(process {})", first.id())), "{}", second.stderr);
    assert_eq!(second.status, 0);
}

#[test]
fn nobody_reading_ends_the_test() {
    let mut child = ours()
        .args(["-v", "-i", "500"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}
