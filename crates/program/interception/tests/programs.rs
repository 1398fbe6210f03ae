//! Programs behave with the library as they do without it, and their calls are in its memory.
#![cfg(target_arch = "x86_64")]

use call_ring::function::{Effect, Function, Recorded};
use call_ring::header::{MAGIC, at};
use call_ring::record::Record;
use call_ring::{CONTROL_BYTES, CONTROL_OFFSET, LIBRARY_NAME, MEMORY_BYTES, MEMORY_VARIABLE, RINGS, control};
use call_ring::{record_offset, returned_mark};
use prerequisites::Prerequisite::{Program, Root};
use prerequisites::met;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

/// Cargo builds the library beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.join(LIBRARY_NAME), folder.parent().unwrap().join(LIBRARY_NAME)];
    places.into_iter().find(|path| path.is_file()).expect("no libinterception.so beside the test")
}

fn crowd() -> Option<&'static Path> {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    if !met(&[Program("cc")]) {
        return None;
    }
    let (_, program) = BUILT.get_or_init(|| built("cc", "crowd.c", &[]));
    Some(program)
}

fn built(compiler: &str, source: &str, options: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut command = Command::new(compiler);
    command.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).args(options);
    assert!(command.status().unwrap().success());
    (folder, program)
}

fn memory() -> NamedTempFile {
    let file = NamedTempFile::new_in("/dev/shm").unwrap();
    file.as_file().set_len(MEMORY_BYTES as u64).unwrap();
    file.as_file().write_all_at(&MAGIC.to_le_bytes(), 0).unwrap();
    file
}

/// Memory for the calls of functions as well.
fn memory_for(recorded: Recorded) -> NamedTempFile {
    let file = memory();
    file.as_file().write_all_at(&(recorded as u32).to_le_bytes(), at::LIBRARY_CALLS as u64).unwrap();
    file
}

/// Names of the functions in a ring, in order.
fn functions(memory: &NamedTempFile, ring: usize) -> Vec<(Function, Record)> {
    let records = calls(memory, ring).into_iter().filter(|record| record.of_library);
    records.map(|record| (Function::from_number(record.number).unwrap(), record)).collect()
}

fn word(memory: &NamedTempFile, offset: usize) -> u64 {
    let mut bytes = [0; 8];
    memory.as_file().read_exact_at(&mut bytes, offset as u64).unwrap();
    u64::from_le_bytes(bytes)
}

fn intercepted(memory: &NamedTempFile, program: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).env("LD_PRELOAD", library()).env(MEMORY_VARIABLE, memory.path());
    command.output().unwrap()
}

/// The calls of a ring, from its start.
fn calls(memory: &NamedTempFile, ring: usize) -> Vec<Record> {
    let at_position = |position: u64| {
        let mut bytes = [0; call_ring::record::RECORD_BYTES];
        memory.as_file().read_exact_at(&mut bytes, record_offset(ring, position) as u64).unwrap();
        Record::read(&bytes)
    };
    let records = (0..1 << 14).map(|position| (position, at_position(position)));
    records.take_while(|(position, record)| record.mark == returned_mark(*position)).map(|(_, record)| record).collect()
}

/// Frees each ring now and then, as a meter does whose program has ended: there are fewer rings than processes.
fn freeing<T>(memory: &NamedTempFile, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                for ring in 0..RINGS {
                    let place = CONTROL_OFFSET + ring * CONTROL_BYTES;
                    let owner = word(memory, place + control::PID);
                    let (pid, tid) = (owner as u32, word(memory, place + control::TID) as u32);
                    let lives = Path::new(&format!("/proc/{pid}/task/{tid}")).exists();
                    if word(memory, place + control::STATE) as u32 == control::TAKEN && pid != 0 && !lives {
                        memory.as_file().write_all_at(&[0; 4], (place + control::STATE) as u64).unwrap();
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let result = work();
        done.store(true, Relaxed);
        result
    })
}

#[test]
fn a_program_behaves_as_it_does_without_the_library() {
    let Some(program) = crowd() else { return };
    let bare = Command::new(program).output().unwrap();
    let memory = memory();
    let recorded = freeing(&memory, || intercepted(&memory, program, &[]));
    assert_eq!((recorded.status, &recorded.stdout, &recorded.stderr), (bare.status, &bare.stdout, &bare.stderr));
    assert!(bare.status.success() && String::from_utf8_lossy(&bare.stdout).contains("alarms"), "{bare:?}");
    // The program, its shell; not the child that was never there.
    assert_eq!(word(&memory, at::PROCESSES), 2);
    assert!(word(&memory, at::PATCHED) > 500, "{}", word(&memory, at::PATCHED));
    assert!(word(&memory, at::GENERATION) > 8);
}

#[test]
fn exceptions_cancelled_threads_and_children_work_as_without_the_library() {
    if !met(&[Program("c++")]) {
        return;
    }
    let (_folder, program) = built("c++", "functions.cpp", &[]);
    let bare = Command::new(&program).output().unwrap();
    assert!(bare.status.success() && String::from_utf8_lossy(&bare.stdout).contains("cancelled 1"), "{bare:?}");
    for memory in [memory(), memory_for(Recorded::RealTime), memory_for(Recorded::All)] {
        let recorded = freeing(&memory, || intercepted(&memory, &program, &[]));
        assert_eq!((recorded.status, &recorded.stdout, &recorded.stderr), (bare.status, &bare.stdout, &bare.stderr));
        assert_eq!(word(&memory, at::ELSEWHERE), 0);
    }
}

#[test]
fn a_crowd_behaves_as_it_does_while_its_functions_are_recorded() {
    let Some(program) = crowd() else { return };
    let bare = Command::new(program).output().unwrap();
    for recorded in [Recorded::RealTime, Recorded::All] {
        let memory = memory_for(recorded);
        let seen = freeing(&memory, || intercepted(&memory, program, &[]));
        assert_eq!((seen.status, &seen.stdout, &seen.stderr), (bare.status, &bare.stdout, &bare.stderr));
    }
}

/// `counted.c` makes 1000 allocations, 1000 frees and 1000 locks in each of two threads, the second of which has a real-time policy.
#[test]
fn functions_of_real_time_threads_are_recorded_and_of_others_their_locks_at_times() {
    if !met(&[Program("cc"), Root]) {
        return;
    }
    let (_folder, program) = built("cc", "counted.c", &[]);
    let memory = memory_for(Recorded::RealTime);
    let output = intercepted(&memory, &program, &[]);
    assert!(output.status.success(), "{output:?}");
    let counts = |ring: usize| {
        let effects = functions(&memory, ring).into_iter().map(|(function, _)| function.effect());
        let count = |wanted: fn(&Effect) -> bool| effects.clone().filter(wanted).count();
        (
            count(|effect| *effect == Effect::Allocation),
            count(|effect| *effect == Effect::Release),
            count(|effect| matches!(effect, Effect::Lock(_))),
            count(|effect| matches!(effect, Effect::Unlock(_))),
        )
    };
    let (ordinary, urgent) = (counts(0), counts(1));
    assert_eq!(urgent, (1000, 1000, 1000, 1000));
    assert_eq!((ordinary.0, ordinary.1, ordinary.3), (0, 0, 0));
    assert!((1..100).contains(&ordinary.2), "{ordinary:?}");
    let sizes: Vec<u64> = functions(&memory, 1)
        .iter()
        .filter(|(function, _)| *function == Function::Malloc)
        .map(|(_, record)| record.arguments[0])
        .collect();
    assert!(sizes.iter().all(|size| *size == 77), "{sizes:?}");
}

/// Recorded allocations of 77 bytes, in all rings.
fn allocations_of_77(memory: &NamedTempFile) -> usize {
    let of_rings = (0..4).flat_map(|ring| functions(memory, ring));
    of_rings.filter(|(function, record)| *function == Function::Malloc && record.arguments[0] == 77).count()
}

#[test]
fn calls_after_an_allocation_that_threw_are_recorded() {
    if !met(&[Program("c++")]) {
        return;
    }
    let (_folder, program) = built("c++", "thrown.cpp", &[]);
    let memory = memory_for(Recorded::All);
    let output = intercepted(&memory, &program, &[]);
    assert!(output.status.success(), "{output:?}");
    let locks = functions(&memory, 0).into_iter().filter(|(function, _)| *function == Function::MutexLock).count();
    assert_eq!((allocations_of_77(&memory), locks), (100, 100));
}

#[test]
fn a_policy_that_comes_from_another_process_or_behind_a_filter_is_noticed() {
    if !met(&[Program("cc"), Root]) {
        return;
    }
    let (_folder, program) = built("cc", "policies.c", &[]);
    for kind in ["process", "filter"] {
        let memory = memory_for(Recorded::RealTime);
        let output = intercepted(&memory, &program, &[kind]);
        assert!(output.status.success(), "{kind}: {output:?}");
        assert_eq!(allocations_of_77(&memory), 100, "{kind}");
    }
}

#[test]
fn an_ordinary_thread_records_each_of_its_locks_and_few_of_very_many() {
    if !met(&[Program("cc")]) {
        return;
    }
    let (_folder, program) = built("cc", "many_locks.c", &[]);
    let memory = memory_for(Recorded::RealTime);
    let output = intercepted(&memory, &program, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let first = u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap();
    let taken: Vec<Record> = functions(&memory, 0).into_iter().map(|(_, record)| record).collect();
    for lock in (0..8).map(|at| first + at * 64) {
        assert!(taken.iter().any(|record| record.arguments[0] == lock), "{lock:#x}");
    }
    // At most 32 at once, and one more in each 2^20 ticks.
    let ticks = taken.last().unwrap().entered - taken[0].entered;
    assert!(taken.len() as u64 <= 33 + (ticks >> 20), "{} in {ticks}", taken.len());
}

#[test]
fn a_stack_is_read_up_to_its_own_end_where_the_mapping_above_goes_away() {
    if !met(&[Program("cc")]) {
        return;
    }
    let (_folder, program) = built("cc", "joined_stack.c", &["-O1"]);
    for memory in [memory(), memory_for(Recorded::All)] {
        let output = intercepted(&memory, &program, &[]);
        assert!(output.status.success() && output.stdout == b"done\n", "{output:?}");
    }
}

#[test]
fn functions_of_a_library_that_is_loaded_later_are_found_and_recorded() {
    if !met(&[Program("cc"), Program("c++")]) {
        return;
    }
    let (_plugin, plugin) = built("c++", "plugin.cpp", &["-DPLUGIN", "-shared", "-fPIC"]);
    // The driver for C links no library of C++.
    let (_folder, program) = built("cc", "plugin.cpp", &["-ldl"]);
    let words = [plugin.to_str().unwrap()];
    let bare = Command::new(&program).args(words).output().unwrap();
    assert!(bare.status.success(), "{bare:?}");
    for memory in [memory(), memory_for(Recorded::All)] {
        let recorded = intercepted(&memory, &program, &words);
        assert_eq!((recorded.status, &recorded.stdout, &recorded.stderr), (bare.status, &bare.stdout, &bare.stderr));
    }
    let memory = memory_for(Recorded::All);
    intercepted(&memory, &program, &words);
    let names: Vec<Function> = functions(&memory, 0).into_iter().map(|(function, _)| function).collect();
    let count = |wanted: Function| names.iter().filter(|function| **function == wanted).count();
    // Each of 50 texts, and some growth.
    assert!(count(Function::New) >= 500, "{}", count(Function::New));
}

#[test]
fn functions_that_the_program_has_itself_are_named() {
    if !met(&[Program("cc")]) {
        return;
    }
    let (_folder, program) = built("cc", "own_heap.c", &[]);
    let memory = memory_for(Recorded::All);
    let output = intercepted(&memory, &program, &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "own\n");
    let own = [Function::Malloc, Function::Calloc, Function::Realloc, Function::Free];
    assert_eq!(word(&memory, at::ELSEWHERE), own.iter().map(|function| function.bit()).sum::<u64>());
}

#[test]
#[ignore = "takes ten minutes of both CPUs"]
fn a_program_survives_ten_minutes_under_load() {
    let Some(program) = crowd() else { return };
    let seconds = std::env::var("TARDY_INTERCEPTION_SECONDS").unwrap_or_else(|_| "600".into());
    let bare = Command::new(program).arg("1").output().unwrap();
    let half = (seconds.parse::<u64>().unwrap() / 2).max(1).to_string();
    for memory in [memory(), memory_for(Recorded::All)] {
        let recorded = freeing(&memory, || intercepted(&memory, program, &[&half]));
        println!("{} processes, {} rings taken", word(&memory, at::PROCESSES), word(&memory, at::GENERATION));
        assert_eq!((recorded.status, &recorded.stdout, &recorded.stderr), (bare.status, &bare.stdout, &bare.stderr));
    }
    assert!(bare.status.success());
}

#[test]
fn every_call_is_recorded_in_order_with_its_arguments_and_result() {
    if !met(&[Program("sh")]) {
        return;
    }
    let memory = memory();
    let output = intercepted(&memory, Path::new("/bin/sh"), &["-c", "umask 027; umask 022; cd /tmp; echo done"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    let calls = calls(&memory, 0);
    let of_number = |number: i64| calls.iter().filter(move |record| i64::from(record.number) == number);
    let masks: Vec<(u64, i64)> = of_number(95).map(|record| (record.arguments[0], record.result)).collect();
    assert!(masks.windows(2).any(|pair| pair[0].0 == 0o27 && pair[1] == (0o22, 0o27)), "{masks:?}");
    let write = of_number(1).next_back().unwrap();
    assert_eq!((write.arguments[0], write.arguments[2], write.result), (1, 5, 5));
    assert!(calls.windows(2).all(|pair| pair[0].entered <= pair[1].entered));
    assert!(calls.iter().all(|record| record.entered < record.returned));
    let exits = of_number(231).count();
    assert_eq!((exits, calls.last().map(|record| record.number)), (1, Some(231)));
}

#[test]
fn calls_that_find_no_room_are_made_and_counted() {
    let memory = memory();
    let script = "i=0; while [ $i -lt 20000 ]; do umask 022; i=$((i+1)); done; echo done";
    let output = intercepted(&memory, Path::new("/bin/sh"), &["-c", script]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    let recorded = (call_ring::RING_RECORDS - call_ring::RESERVE) as u64;
    let lost = word(&memory, CONTROL_OFFSET + control::LOST);
    assert_eq!(calls(&memory, 0).len() as u64, recorded);
    // The shell makes at least one call in each round.
    assert!(lost >= 20_000 - recorded, "{lost}");
}

/// Calls of these programs from then on count as lost: the library has no time for them.
#[test]
fn a_program_that_forbids_itself_the_counter_or_all_calls_runs_to_its_end() {
    if !met(&[Program("cc")]) {
        return;
    }
    let (_folder, program) = built("cc", "forbidding.c", &[]);
    for kind in ["counter", "strict"] {
        let bare = Command::new(&program).arg(kind).output().unwrap();
        let memory = memory();
        let recorded = intercepted(&memory, &program, &[kind]);
        assert!(bare.status.success(), "{bare:?}");
        assert_eq!((recorded.status, &recorded.stdout), (bare.status, &bare.stdout), "{kind}");
        let lost = word(&memory, at::LOST) + word(&memory, CONTROL_OFFSET + control::LOST);
        assert!(lost > 0, "{kind}");
    }
}

#[test]
fn without_memory_the_program_runs_as_it_is() {
    let run = |variable: Option<&str>| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo alive"]).env("LD_PRELOAD", library());
        variable.into_iter().for_each(|path| _ = command.env(MEMORY_VARIABLE, path));
        command.output().unwrap()
    };
    let short = NamedTempFile::new().unwrap();
    for variable in [None, Some("/nonexistent"), Some(short.path().to_str().unwrap())] {
        let output = run(variable);
        assert!(output.status.success() && output.stdout == b"alive\n" && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn an_injected_error_replaces_the_call_and_is_marked() {
    use call_ring::header::{Effect, Injection};
    let memory = memory();
    let rule = Injection { number: 95, effect: Effect::Error(1), one_in: 1, seed: 0 };
    memory.as_file().write_all_at(&1_u32.to_le_bytes(), at::RULES as u64).unwrap();
    memory.as_file().write_all_at(&rule.bytes(), at::RULE as u64).unwrap();
    let output = intercepted(&memory, Path::new("/bin/sh"), &["-c", "umask 077; umask"]);
    assert!(output.status.success(), "{output:?}");
    let calls = calls(&memory, 0);
    let masks: BTreeMap<bool, usize> =
        calls.iter().filter(|record| record.number == 95).fold(BTreeMap::new(), |mut counts, record| {
            *counts.entry(record.injected && record.result == -1).or_default() += 1;
            counts
        });
    assert!(masks.get(&true).is_some_and(|count| *count >= 2) && !masks.contains_key(&false), "{masks:?}");
}
