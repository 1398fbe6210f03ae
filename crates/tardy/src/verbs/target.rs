//! `tardy target`: boards and virtual machines as targets, stored in files.

mod boards;

use crate::exit::{Exit, UsageError};
use crate::measuring::machine::{find, reporting, usage};
use crate::measuring::signals::Signals;
use crate::options::quantity::whole;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use crate::verb::{Group, Place, Verb};
use anyhow::anyhow;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use machines::architecture::Architecture;
use machines::known_target::emulated;
use machines::meter_places::{METER_NAME, MeterPlaces};
use machines::qemu::kernel;
use machines::qemu::machine_file::{AcceleratorChoice, VirtualMachine};
use machines::stop::StopRequests;
use machines::target_file::{Description, TargetFileError, TargetFiles};
use machines::{Command, Exit as CommandExit, Output, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use words::printable::printable;

/// Time for a board to report the version of its meter.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// Add, verify, restore boards and virtual machines
#[derive(Debug, Args)]
pub struct TargetArguments {
    #[command(subcommand)]
    verb: TargetVerb,
}

#[derive(Debug, Subcommand)]
enum TargetVerb {
    Add(Box<AddArguments>),
    /// List the targets
    List(JsonArgument),
    /// Show a target's file
    Show(NamedArgument),
    /// Remove a target's file; its kernel stays in the cache
    Remove(NamedArgument),
    /// Reach or boot a target and report its kernel and its meter
    Verify(NamedArgument),
}

#[derive(Debug, Args)]
struct JsonArgument {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NamedArgument {
    /// Name of the target
    name: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Make a board or a virtual machine a target; downloads its kernel if it is one of Debian's
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("kind").required(true).args(["kernel", "ssh", "serial", "labgrid"]))]
struct AddArguments {
    /// Name of the target
    name: String,
    /// debian:6.1, debian:6.1-rt, debian:6.12, debian:6.12-rt, or the path of a bzImage, vmlinux, Image or zImage
    #[arg(long, value_name = "KERNEL", help_heading = "Virtual machine")]
    kernel: Option<String>,
    #[command(flatten)]
    board: boards::BoardArguments,
    /// x86_64, arm64, armhf or riscv64 [default: from a kernel given by its path, otherwise x86_64]
    #[arg(long = "arch", value_name = "ARCHITECTURE", help_heading = "Virtual machine", conflicts_with = "board")]
    architecture: Option<Architecture>,
    /// The kernel's modules, a directory like /lib/modules/RELEASE; only for a kernel given by its path
    #[arg(long, value_name = "DIR", help_heading = "Virtual machine", conflicts_with = "board")]
    modules: Option<PathBuf>,
    /// Kernel module for the guest to load at start: the name of one of the kernel's own, such as uio_pci_generic, or a file
    /// built for this kernel; may be repeated
    #[arg(long = "load-module", value_name = "MODULE", help_heading = "Virtual machine", conflicts_with = "board")]
    load_modules: Vec<PathBuf>,
    /// A machine whose clock counts executed instructions: the same nanoseconds every time, on one processor
    #[arg(long, help_heading = "Virtual machine", conflicts_with = "board")]
    virtual_time: bool,
    /// Processors of the machine [default: 2, in virtual time 1]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..), help_heading = "Virtual machine", conflicts_with = "board")]
    cpus: Option<u32>,
    /// Memory of the machine, in MB
    #[arg(long, value_name = "MB", default_value_t = 1024, value_parser = whole::<u32>(1..), help_heading = "Virtual machine")]
    memory: u32,
    /// Accelerator that executes the guest
    #[arg(long, value_enum, default_value = "auto", help_heading = "Virtual machine")]
    accel: AcceleratorName,
    /// Add this to the kernel's command line
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true, help_heading = "Virtual machine")]
    append: String,
    /// Add a word to QEMU's command line
    #[arg(
        long = "qemu-arg",
        value_name = "WORD",
        allow_hyphen_values = true,
        help_heading = "Virtual machine",
        conflicts_with = "board"
    )]
    qemu_arguments: Vec<String>,
    /// Save the booted machine's state and resume from it instead of booting: saves seconds per run, but all runs share
    /// that boot's randomness; only for emulated machines without disks
    #[arg(long, help_heading = "Virtual machine", conflicts_with = "board")]
    saved_state: bool,
    /// Write the file to ./targets instead of the configuration directory
    #[arg(long)]
    here: bool,
    /// Replace a target of this name
    #[arg(long)]
    force: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AcceleratorName {
    /// KVM if a guest boots with it in a short time, otherwise emulation
    Auto,
    /// Emulation, each CPU in a thread of its own
    Tcg,
    /// Emulation with all CPUs in one thread: slower; for kernels that panic while functions are traced
    TcgSingle,
    /// The processor itself
    Kvm,
}

impl Verb for TargetArguments {
    const NAME: &'static str = "target";
    const PLACE: Place = Place::Listed(Group::Machines);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy target add board --ssh root@192.168.1.7",
        "tardy target add bare --serial /dev/ttyUSB0 --baud 115200 --user root --password-command 'pass lab/bare'",
        "tardy target add bench --labgrid board1 --coordinator lab:20408 --power cycle",
        "tardy target add vm --kernel debian:6.1-rt",
        "tardy target add arm --kernel debian:6.1-rt --arch arm64",
        "tardy target add exact --kernel debian:6.1-rt --virtual-time",
        "tardy target add mine --kernel ./bzImage --modules ./lib/modules/6.14.0 --cpus 4",
        "tardy target verify vm",
        "tardy target list",
        "tardy target show vm",
        "tardy target remove vm",
        "tardy run --target vm --duration 10s --load dentry",
    ];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &TargetArguments) -> anyhow::Result<Exit> {
    let files = TargetFiles::of_process();
    match &arguments.verb {
        TargetVerb::Add(add) => add_target(add, &files),
        TargetVerb::List(list) => list_targets(list, &files),
        TargetVerb::Show(show) => show_target(show, &files),
        TargetVerb::Remove(remove) => {
            let path = files.find(&remove.name).map_err(|error| match error {
                TargetFileError::Missing(missing) => {
                    let name = missing.name;
                    UsageError(format!("there is no target {name} to remove; `tardy target list` shows all"))
                }
                error => usage(error),
            })?;
            fs::remove_file(&path).map_err(|error| anyhow!("failed to remove {}: {error}", path.display()))?;
            let line = format!("removed {}", path.display());
            report(remove.json, serde_json::json!({ "target": remove.name, "removed": path }), &line)
        }
        TargetVerb::Verify(verify) => verify_target(verify),
    }
}

fn add_target(add: &AddArguments, files: &TargetFiles) -> anyhow::Result<Exit> {
    match files.find(&add.name) {
        Err(TargetFileError::Missing(_)) => {}
        Err(error) => return Err(usage(error).into()),
        Ok(_) if add.force => {}
        Ok(path) => {
            return Err(UsageError(format!("{} exists; --force replaces the target", path.display())).into());
        }
    }
    let Some(kernel) = &add.kernel else {
        let path = files.write(&add.name, &add.board.description()?, add.here)?;
        let line = added(&add.name, &path);
        return report(add.json, serde_json::json!({ "target": add.name, "file": path }), &line);
    };
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let named = kernel.starts_with("debian:");
    let kernel = if named { kernel.clone() } else { absolute(&kernel.into()).display().to_string() };
    let architecture = match add.architecture {
        Some(architecture) => architecture,
        None if named => Architecture::default(),
        None => kernel::architecture(Path::new(&kernel))?.unwrap_or_default(),
    };
    let defaults = match add.virtual_time {
        true => VirtualMachine::in_virtual_time(&kernel),
        false => VirtualMachine::new(&kernel),
    };
    let mut machine = VirtualMachine {
        architecture,
        modules: add.modules.as_ref().map(absolute),
        load_modules: add
            .load_modules
            .iter()
            .map(|module| kernel::module_name(module).map_or_else(|| absolute(module), PathBuf::from))
            .collect(),
        accel: match add.accel {
            AcceleratorName::Auto => defaults.accel,
            AcceleratorName::Tcg => AcceleratorChoice::Tcg,
            AcceleratorName::TcgSingle => AcceleratorChoice::TcgSingle,
            AcceleratorName::Kvm => AcceleratorChoice::Kvm,
        },
        cpus: add.cpus.unwrap_or(defaults.cpus),
        memory_mb: add.memory,
        kernel_arguments: add.append.clone(),
        qemu_arguments: add.qemu_arguments.clone(),
        saved_state: add.saved_state,
        ..defaults
    };
    machine.check().map_err(|error| UsageError(error.to_string()))?;
    kernel::check_name(&machine.kernel).map_err(|error| UsageError(error.to_string()))?;
    let cache = kernel::cache()?;
    kernel::obtain(&mut machine, &cache, &mut |what| complain!("tardy: {}", printable(what)))
        .map_err(|why| anyhow!("failed to get a kernel for target {}: {why}", add.name))?;
    let package = machine.package.clone();
    let path = files.write(&add.name, &Description::Machine(Box::new(machine)), add.here)?;
    let line = added(&add.name, &path);
    report(add.json, serde_json::json!({ "target": add.name, "file": path, "package": package }), &line)
}

fn added(name: &str, path: &Path) -> String {
    format!("added target {name} ({}); next: `tardy target verify {name}`", path.display())
}

fn list_targets(arguments: &JsonArgument, files: &TargetFiles) -> anyhow::Result<Exit> {
    let targets = files.list();
    let described = |name: &str| files.describe(name);
    if arguments.json {
        let entry = |(name, path): &(String, PathBuf)| {
            let (mut document, problem) = match described(name) {
                Ok(Description::Machine(machine)) => {
                    let kernel = machine.package.as_ref().unwrap_or(&machine.kernel);
                    (serde_json::json!({ "architecture": machine.architecture.name(), "kernel": kernel }), None)
                }
                Ok(Description::Board(board)) => (serde_json::json!({ "board": board.identity_of_board() }), None),
                Ok(Description::Labgrid(place)) => (serde_json::json!({ "board": place.label() }), None),
                Err(error) => (serde_json::json!({}), Some(error.to_string())),
            };
            for (key, value) in [
                ("name", serde_json::json!(name)),
                ("file", serde_json::json!(path)),
                ("problem", serde_json::json!(problem)),
            ] {
                document[key] = value;
            }
            document
        };
        let document = serde_json::Value::from(targets.iter().map(entry).collect::<Vec<_>>());
        json::print(&document)?;
        return Ok(Exit::Measured);
    }
    let mut table = Table::new(&[Align::Left; 4]);
    table.row(["target", "architecture", "kernel or address", "file"]);
    table.row(["local", std::env::consts::ARCH, "this machine's", "-"]);
    for (name, path) in &targets {
        let (architecture, what) = match described(name) {
            Ok(Description::Machine(machine)) => {
                (machine.architecture.name(), machine.package.unwrap_or(machine.kernel))
            }
            Ok(Description::Board(board)) => ("its own", board.identity_of_board()),
            Ok(Description::Labgrid(place)) => ("its own", place.label()),
            Err(_) => ("-", "(the file cannot be understood)".to_owned()),
        };
        table.row([name.as_str(), architecture, &what, &path.display().to_string()]);
    }
    let mut page = Page::for_stdout();
    page.headed_table(&table);
    page.print()?;
    Ok(Exit::Measured)
}

fn show_target(arguments: &NamedArgument, files: &TargetFiles) -> anyhow::Result<Exit> {
    let path = files.find(&arguments.name).map_err(usage)?;
    let target = files.describe(&arguments.name).map_err(usage)?;
    if arguments.json {
        match &target {
            Description::Machine(machine) => json::print(machine)?,
            Description::Board(board) => json::print(board)?,
            Description::Labgrid(place) => json::print(place)?,
        }
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    page.line(&format!("# {}", path.display()));
    target.to_text().lines().for_each(|line| page.line(line));
    page.print()?;
    Ok(Exit::Measured)
}

fn verify_target(arguments: &NamedArgument) -> anyhow::Result<Exit> {
    let known = find(&arguments.name)?;
    let open = |stop: StopRequests| known.open(Path::new(METER_NAME), reporting(), stop);
    match known.file() {
        Some(Description::Board(board)) => {
            return boards::verify(open(StopRequests::default())?, &board.identity_of_board(), arguments.json);
        }
        Some(Description::Labgrid(place)) => {
            // The place must be released in any case, so Ctrl-C is handled.
            let signals = Signals::watch()?;
            return boards::verify(open(signals.requests().clone())?, &place.label(), arguments.json);
        }
        Some(Description::Machine(_)) | None => {}
    }
    let machine = known.virtual_machine().map_err(usage)?;
    let meter = MeterPlaces::of_process().find_for(machine.architecture)?;
    if known.is_in_virtual_time() {
        let name = known.name();
        return Err(UsageError(format!(
            "{name} runs in virtual time; `tardy virtual repeat {name}` shows that it repeats"
        ))
        .into());
    }
    let mut target = emulated(known.name(), machine, &meter, StopRequests::default())?;
    target.prepare()?;
    let said = version_there(&mut target, &arguments.name, &meter)?;
    let notices: Vec<String> = target.notices().into_iter().map(|notice| notice.text).collect();
    let booted = target.booted().ok_or_else(|| anyhow!("failed to learn how target {} booted", arguments.name))?;
    let document = serde_json::json!({
        "target": target.name(), "kernel_release": booted.kernel_release, "meter": said,
        "boot_ms": u64::try_from(booted.boot_time.as_millis()).unwrap_or(u64::MAX), "restored": booted.restored,
        "notices": notices,
    });
    let seconds = booted.boot_time.as_secs_f64();
    let how = if booted.restored { "resumed from its saved state with" } else { "booted" };
    let mut lines =
        vec![format!("{} {how} {} in {seconds:.2} s and runs {said}", target.name(), booted.kernel_release)];
    lines.extend(notices);
    report(arguments.json, document, &lines.join("\n"))
}

/// Version that the meter reports there.
fn version_there(target: &mut dyn Target, name: &str, meter: &Path) -> anyhow::Result<String> {
    let mut running = target.start(&Command { program: meter.to_owned(), arguments: vec!["--version".into()] })?;
    let mut said = Vec::new();
    while running.elapsed() < VERSION_LIMIT {
        match running.read(POLL) {
            Output::Bytes(bytes) => said.extend(bytes),
            Output::Quiet => {}
            Output::Closed => break,
        }
    }
    if running.wait(POLL) != Some(CommandExit::Code(0)) {
        let words = running.diagnostics().join(" | ");
        return Err(anyhow!("failed to run the meter on target {name}: {words}"));
    }
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Prints the JSON document or the text.
fn report(json: bool, document: serde_json::Value, text: &str) -> anyhow::Result<Exit> {
    if json {
        json::print(&document)?;
    } else {
        let mut page = Page::for_stdout();
        text.lines().for_each(|line| page.line(line));
        page.print()?;
    }
    Ok(Exit::Measured)
}
