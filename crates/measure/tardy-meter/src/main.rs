//! The meter's command line: the requests of the host, or of a user on the target.

mod defect;

use devices::interrupt::clock_holder;
use meter::journal::restore::{self, Leftovers};
use meter::journal::{applied_directory, journal_directory, setup_directory, state_directory};
use meter::kernel::kept_memory::ProcessMemory;
use meter::methods::storage::fio::process as fio;
use meter::{apply, facts, setup};
use std::io::Write;
use std::path::Path;
use std::process::exit;

const USAGE: &str = "tardy-meter: the measuring half of tardy

usage:
  tardy-meter measure        read one line of JSON settings, send the framed stream of a run (`tardy run` does this)
  tardy-meter restore [--forget]
                             put back what a killed run left changed on this machine, and what `apply` changed; with
                             --forget also drop the record of what cannot be put back
  tardy-meter setup          read one line of JSON, let a user measure without root (`tardy setup` does this)
  tardy-meter restore --setup
                             put back what `setup` changed
  tardy-meter facts [PRIO]   print what is to be known of this machine's settings as JSON (`tardy check` does this)
  tardy-meter apply          read one line of JSON settings and change them to stay, until `restore` (so does that)
  tardy-meter cyclictest ... measure as cyclictest does (so does a link of that name); --help lists its options
  tardy-meter load [NAME]    run a built-in load alone; without a name, list them
  tardy-meter spool ...      measure and keep the stream until the host has fetched it (`tardy run` on a board does this)
  tardy-meter console DIR    answer questions on a console that the kernel writes to as well (so does that)
  tardy-meter keep-rtc HZ    switch a clock's interrupt off once the meter has ended (the method rtc starts it)
  tardy-meter end-with-meter COMMAND
                             become a program that ends with the meter (the method storage starts fio so)
  tardy-meter start COMMAND  become a command once the watch that waits for it releases it (`tardy watch` does this)
  tardy-meter --version
";

#[global_allocator]
static MEMORY: ProcessMemory = ProcessMemory;

fn main() {
    defect::print_panics_as_lines();
    if meter::guest::is_first_process() {
        meter::guest::run();
    }
    let mut arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    exit(defect::exit_code_of(|| run(&program, &arguments)));
}

/// Runs the command; returns the exit code.
fn run(program: &str, arguments: &[String]) -> i32 {
    if cyclictest::is_name(program) {
        return cyclictest::run(program, arguments);
    }
    let (word, rest) = arguments.split_first().map_or(("", &[][..]), |(word, rest)| (word.as_str(), rest));
    match word {
        "measure" if rest.is_empty() => meter::run::measure(devices::method),
        "restore" if rest.is_empty() => restore_machine(Leftovers::Keep),
        "restore" if rest == ["--forget"] => restore_machine(Leftovers::Forget),
        "restore" if rest == ["--setup"] => restore_setup(),
        "setup" if rest.is_empty() => setup::run(),
        "facts" if rest.len() <= 1 => print_facts(rest.first().map(String::as_str)),
        "apply" if rest.is_empty() => apply::run(),
        "cyclictest" => cyclictest::run("cyclictest", rest),
        "load" => load::run_child(rest),
        "spool" => meter::spool::run(rest),
        "console" => meter::console::run(rest),
        clock_holder::COMMAND => clock_holder::run(rest),
        fio::COMMAND => fio::become_program(rest),
        "start" => meter::watch::start::become_command(rest),
        "--version" | "-V" => {
            println!("tardy-meter {}", env!("CARGO_PKG_VERSION"));
            0
        }
        "--help" | "-h" => {
            print!("{USAGE}");
            0
        }
        _ => {
            eprint!("{USAGE}");
            2
        }
    }
}

/// Prints the facts for work with this priority; 80 is the default of `tardy run`.
fn print_facts(priority: Option<&str>) -> i32 {
    let Ok(priority) = priority.unwrap_or("80").parse() else {
        eprint!("{USAGE}");
        return 2;
    };
    let facts = facts::gather(Path::new("/"), priority, devices::method);
    let mut line = serde_json::to_string(&facts).expect("facts have only string keys");
    line.push('\n');
    match std::io::stdout().write_all(line.as_bytes()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tardy-meter: failed to write the facts: {error}");
            3
        }
    }
}

fn restore_machine(leftovers: Leftovers) -> i32 {
    // A run that was killed changed settings that had been applied before it, so it is restored first.
    let runs = journal_directory();
    let mut answers = restore::restore_all(&runs, &runs, leftovers);
    answers.extend(restore::restore_all(&applied_directory(), &runs, leftovers));
    let code = report(answers, leftovers);
    if code != 0 {
        eprintln!("tardy-meter: `restore --forget` takes the machine as it is now");
    }
    code
}

/// Leaves no empty directory behind.
fn restore_setup() -> i32 {
    let directory = setup_directory();
    let code = report(restore::restore_all(&directory, &journal_directory(), Leftovers::Keep), Leftovers::Keep);
    let _ = std::fs::remove_dir(&directory).and_then(|()| std::fs::remove_dir(state_directory()));
    code
}

fn report(answers: Vec<restore::Restored>, leftovers: Leftovers) -> i32 {
    let mut unfinished = false;
    let mut anything = false;
    for answer in answers {
        match answer {
            restore::Restored::InUse { pid } => {
                println!("a measurement (process {pid}) is running; it restores the machine itself when it ends");
            }
            restore::Restored::Unreadable { path, why } => {
                unfinished = true;
                eprintln!("tardy-meter: {} is not a journal: {why}; look at it and remove it", path.display());
            }
            restore::Restored::Undone { pid, done, failures, rebooted } => {
                anything |= !done.is_empty();
                done.iter().for_each(|line| println!("restored: {line}"));
                failures.iter().for_each(|line| eprintln!("tardy-meter: {line}"));
                match leftovers {
                    Leftovers::Keep => unfinished |= !failures.is_empty(),
                    Leftovers::Forget if failures.is_empty() => {}
                    Leftovers::Forget => {
                        anything = true;
                        let (changes, stay) = if failures.len() == 1 {
                            ("change", "stays as it is")
                        } else {
                            ("changes", "stay as they are")
                        };
                        println!("forgotten: {} {changes} of process {pid} {stay} now", failures.len());
                    }
                }
                if rebooted && done.is_empty() {
                    println!("process {pid} ran before the last reboot: its kernel settings are gone with it");
                }
            }
        }
    }
    if !anything && !unfinished {
        println!("nothing to restore");
    }
    if unfinished { 3 } else { 0 }
}
