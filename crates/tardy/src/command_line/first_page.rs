//! Output of `tardy` without arguments: what this machine can do now, and the commands to start with.

use crate::archives::{RUNS, in_reach};
use crate::exit::Exit;
use crate::options::quantity::cpu_ranges;
use crate::terminal::page::Page;
use archive::setup::METER_PATH;
use machines::meter_places::MeterPlaces;
use std::env;
use std::fs;
use std::path::Path;

const NAME_COLUMNS: usize = 15;
const COMMANDS: &[(&str, &str)] = &[
    #[cfg(feature = "lab")]
    ("tardy desk", "measure and explain this machine in a browser"),
    ("tardy check", "settings that hurt real-time work"),
    ("tardy run --duration 60s --load messaging", "a minute under load"),
    ("tardy explain", "why its worst wake-ups came late"),
    ("tardy qualify --limit 100us --duration 60s", "whether this machine keeps a limit"),
    ("tardy watch -- ./program", "why your own program wakes late"),
];

/// Prints the page.
///
/// # Errors
/// If standard output is closed.
pub fn print() -> anyhow::Result<Exit> {
    let mut page = Page::for_stdout();
    page.heading(&format!("tardy {}: how late does Linux wake your task, and why", env!("CARGO_PKG_VERSION")));
    for (name, phrase) in abilities() {
        page.wrapped(&format!("{name:NAME_COLUMNS$}"), &phrase);
    }
    page.blank();
    page.heading("Start with");
    let entry = |(command, what): &(&str, &str)| (format!("  {command}"), (*what).to_owned());
    page.entries(&COMMANDS.iter().map(entry).collect::<Vec<_>>());
    page.wrapped("", "`tardy --help` lists all verbs, and each has `--help` of its own.");
    page.print()?;
    Ok(Exit::Measured)
}

/// Abilities of this machine, each with what is missing for it.
fn abilities() -> Vec<(&'static str, String)> {
    let root = rustix::process::geteuid().is_root();
    let meter = MeterPlaces::of_process().find();
    vec![
        (
            "measure",
            match &meter {
                Err(error) => format!("no: {error}"),
                Ok(_) if root => "yes: this is root".into(),
                Ok(meter) if meter == Path::new(METER_PATH) => "yes: this machine is set up for you".into(),
                Ok(_) => "only degraded, without real-time priority: `sudo tardy setup --apply`, or run as root".into(),
            },
        ),
        ("explain", tracing(root)),
        ("CPUs", cpus()),
        ("kernel", kernel()),
        ("machine", machine().into()),
        ("other kernels", emulator()),
        ("latest run", latest()),
    ]
}

fn tracing(root: bool) -> String {
    let mounted = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    match mounted.iter().find(|root| Path::new(root).join("events").is_dir()) {
        Some(path) => format!("yes: the kernel traces at {path}"),
        None if root && Path::new("/sys/kernel/tracing").is_dir() => "yes: tracefs is mounted when it is needed".into(),
        None if root => "no: this kernel has no tracefs (CONFIG_FTRACE)".into(),
        None => "no: `sudo tardy setup --apply` lets you trace".into(),
    }
}

fn cpus() -> String {
    let allowed = rustix::thread::sched_getaffinity(None);
    let list: Vec<u32> = allowed.iter().flat_map(|set| (0..1024).filter(|cpu| set.is_set(*cpu as usize))).collect();
    let isolated = read("/sys/devices/system/cpu/isolated");
    let isolated = if isolated.is_empty() { "none".into() } else { isolated };
    format!("{} (isolated: {isolated})", cpu_ranges(&list))
}

fn kernel() -> String {
    let release = read("/proc/sys/kernel/osrelease");
    let real_time = read("/sys/kernel/realtime").starts_with('1') || read("/proc/version").contains("PREEMPT_RT");
    if real_time { format!("{release}, PREEMPT_RT") } else { format!("{release}, not PREEMPT_RT") }
}

fn machine() -> &'static str {
    let is_virtual = read("/proc/cpuinfo").lines().any(|line| {
        line.split_once(':').is_some_and(|(key, flags)| {
            key.trim() == "flags" && flags.split_whitespace().any(|flag| flag == "hypervisor")
        })
    });
    if is_virtual { "virtual: its host decides when it runs" } else { "hardware" }
}

fn emulator() -> String {
    let program = format!("qemu-system-{}", env::consts::ARCH);
    let found = env::var_os("PATH").iter().flat_map(env::split_paths).any(|folder| folder.join(&program).is_file());
    match found {
        true => format!("yes: `tardy target add vm --kernel debian:6.1-rt` uses {program}"),
        false => format!("no: {program} is not installed (Debian: apt install qemu-system-x86)"),
    }
}

fn latest() -> String {
    match in_reach(Path::new(RUNS)).pop() {
        Some(path) => format!("{} (`tardy list` shows all)", path.display()),
        None => "none below runs/".into(),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::definition;
    use super::*;

    #[test]
    fn the_page_is_short_and_its_commands_are_understood() {
        assert!(abilities().len() + COMMANDS.len() <= 13);
        for (command, _) in COMMANDS {
            let parsed = definition().try_get_matches_from(command.split_whitespace());
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
    }
}
