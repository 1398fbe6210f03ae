//! A virtual machine as a target: it boots for its first command, and every change is lost with the machine.
//!
//! The meter is the guest's first and only program; `guest` in the meter is the other end, and
//! docs/how-to/virtual-machines.md describes the target file.

mod absences;
mod apt;
mod arguments;
mod command;
mod cpio;
mod debian;
mod elf;
pub mod error;
mod file_error;
mod guest_reports;
mod image;
mod initramfs;
pub mod kernel;
mod kernel_error;
mod lifeline;
mod machine;
pub mod machine_file;
mod modules;
mod package;
mod platform;
pub mod problem;
mod process;
mod programs;
mod saved_state;
mod unpack;
pub mod virtual_time;
mod vmlinux;

#[cfg(any(test, feature = "fakes"))]
pub mod fake_machine;
#[cfg(test)]
mod tests;

use super::console::Console;
use super::scratch::Scratch;
use super::{Caveat, Command, RunningCommand, Target, TargetError};
use crate::architecture::Architecture;
use crate::stop::StopRequests;
use archive::message::{Problem, Severity};
use command::GuestRun;
use error::{BootError, PrepareError};
use file_error::FileError;
use guest_reports::lock;
use initramfs::SentFile;
use kernel::Kernel;
use machine::{Boot, Machine};
use machine_file::{AcceleratorChoice, VirtualMachine, path_and_value};
use platform::{Accelerator, Platform};
use problem::StateProblem;
use protocol::guest::{FILE_BYTES_MAX, GuestCommand, parts_of_path};
use saved_state::error::StateError;
use saved_state::{Ingredients, States};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A guest boots with KVM in about a second, unless something is wrong with KVM.
const KVM_LIMIT: Duration = Duration::from_secs(10);
const KVM_DEVICE: &str = "/dev/kvm";
const SETTLE_STEP: Duration = Duration::from_millis(50);

/// A virtual machine.
pub struct QemuTarget {
    /// The name in archives; it includes the accelerator once that is known.
    name: String,
    plain_name: String,
    machine: VirtualMachine,
    meter: PathBuf,
    cache: PathBuf,
    kvm: PathBuf,
    stop: StopRequests,
    scratch: Option<Scratch>,
    ready: Option<Ready>,
    sent: Vec<SentFile>,
    console: Arc<Mutex<Console>>,
    booted: Option<Booted>,
    /// The machine of the last command, which may still be running.
    running: Option<Arc<Mutex<Machine>>>,
    notices: Vec<Problem>,
}

/// Results of `prepare`.
struct Ready {
    program: PathBuf,
    kernel: Kernel,
    meter: Vec<u8>,
    accelerator: Accelerator,
}

/// The last boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booted {
    pub kernel_release: String,
    /// Time from starting QEMU to the guest's first message.
    pub boot_time: Duration,
    /// Whether it was restored from a saved state instead of booting.
    pub restored: bool,
}

impl QemuTarget {
    /// A target that runs `meter`, with kernels from `cache`. Stop requests are honoured while it boots.
    pub fn new(name: &str, machine: VirtualMachine, meter: &Path, cache: &Path, stop: StopRequests) -> Self {
        Self {
            name: name.into(),
            plain_name: name.into(),
            machine,
            meter: meter.into(),
            cache: cache.into(),
            kvm: KVM_DEVICE.into(),
            stop,
            scratch: None,
            ready: None,
            sent: Vec::new(),
            console: Arc::default(),
            booted: None,
            running: None,
            notices: Vec::new(),
        }
    }

    /// Data of the last boot.
    pub fn booted(&self) -> Option<&Booted> {
        self.booted.as_ref()
    }

    fn prepared(&mut self) -> Result<(), PrepareError> {
        self.end();
        let program = find_program(&self.machine)?;
        let mut kernel = kernel::find(&self.machine, &self.cache)?;
        for module in kernel::own_modules(&self.machine, &self.cache)? {
            if !kernel.modules.iter().any(|(name, _)| *name == module.0) {
                kernel.modules.push(module);
            }
        }
        for file in programs::to_send(&self.machine.start_programs)? {
            self.sent.retain(|sent| sent.path != file.path);
            self.sent.push(file);
        }
        let meter = static_meter(&self.meter, self.machine.architecture)?;
        self.scratch = Some(Scratch::make("vm").map_err(PrepareError::NoScratch)?);
        self.ready = Some(Ready { program, kernel, meter, accelerator: Accelerator::Tcg });
        let accelerator = match self.machine.accel {
            AcceleratorChoice::Tcg | AcceleratorChoice::TcgSingle => Accelerator::Tcg,
            AcceleratorChoice::Kvm => Accelerator::Kvm,
            AcceleratorChoice::Auto => {
                if self.boots_with_kvm() {
                    Accelerator::Kvm
                } else {
                    Accelerator::Tcg
                }
            }
        };
        if let Some(ready) = &mut self.ready {
            ready.accelerator = accelerator;
        }
        self.name = match accelerator {
            Accelerator::Tcg => format!("{} (emulated)", self.plain_name),
            Accelerator::Kvm => format!("{} (virtual)", self.plain_name),
        };
        Ok(())
    }

    /// A /dev/kvm that hangs, or is refused inside another virtual machine, fails only when used.
    fn boots_with_kvm(&mut self) -> bool {
        let own = Architecture::of_host() == Some(self.machine.architecture);
        let usable = own && fs::OpenOptions::new().read(true).write(true).open(&self.kvm).is_ok();
        let limit = KVM_LIMIT.min(Duration::from_secs(u64::from(self.machine.boot_seconds)));
        usable && self.boot(Accelerator::Kvm, limit).is_ok()
    }

    fn boot(&mut self, accelerator: Accelerator, limit: Duration) -> Result<Machine, BootError> {
        let plan = self.plan(accelerator, limit)?;
        // Each boot has a separate console: the archive gets that of the last one.
        self.console = Arc::default();
        Machine::boot(&plan, &self.console, &self.stop)
    }

    fn plan(&self, accelerator: Accelerator, limit: Duration) -> Result<Boot, BootError> {
        let (Some(ready), Some(scratch)) = (&self.ready, &self.scratch) else {
            return Err(BootError::NotPrepared);
        };
        let initramfs = scratch.0.join("initramfs");
        fs::write(&initramfs, initramfs::build(&ready.meter, &ready.kernel, &self.sent)?)
            .map_err(FileError::writing(&initramfs))?;
        Ok(Boot {
            program: ready.program.clone(),
            arguments: arguments::arguments(&self.machine, accelerator, &ready.kernel.image, &initramfs, &scratch.0),
            monitored: self.machine.saved_state,
            scratch: scratch.0.clone(),
            limit,
        })
    }

    /// The running machine without a command.
    fn idle(&self) -> Option<MutexGuard<'_, Machine>> {
        let mut machine = lock(self.running.as_ref()?);
        machine.is_ready().then_some(machine)
    }

    fn begin(&mut self, command: &Command) -> Result<Arc<Mutex<Machine>>, BootError> {
        if self.idle().is_none() {
            self.end();
            let accelerator = self.ready.as_ref().map_or(Accelerator::Tcg, |ready| ready.accelerator);
            let mut machine = match self.machine.saved_state && accelerator == Accelerator::Tcg {
                true => self.restore_or_save()?,
                false => self.boot_and_settle(accelerator)?,
            };
            self.set(&mut machine)?;
            self.running = Some(Arc::new(Mutex::new(machine)));
        }
        let machine = self.running.clone().ok_or(BootError::NotPrepared)?;
        // The clock of a saved machine stood still since then.
        let restored = self.booted.as_ref().is_some_and(|booted| booted.restored);
        let command = GuestCommand {
            hostname: self.plain_name.clone(),
            arguments: command.arguments.clone(),
            realtime_ns: restored.then(unix_ns),
            report_clock: self.keeps_the_hosts_time(),
        };
        lock(&machine).run(&command).map_err(BootError::WentAway)?;
        Ok(machine)
    }

    /// Whether the guest's clock runs at the host's speed, so that absences recorded by the host can be converted to
    /// guest time.
    fn keeps_the_hosts_time(&self) -> bool {
        !self.machine.qemu_arguments.iter().any(|word| word.trim_start_matches('-') == "icount")
    }

    fn boot_and_settle(&mut self, accelerator: Accelerator) -> Result<Machine, BootError> {
        let machine = self.boot(accelerator, Duration::from_secs(u64::from(self.machine.boot_seconds)))?;
        self.note(&machine, false);
        let (begun, pause) = (Instant::now(), Duration::from_secs(u64::from(self.machine.settle_seconds)));
        while begun.elapsed() < pause && self.stop.count() == 0 {
            thread::sleep(SETTLE_STEP);
        }
        Ok(machine)
    }

    /// Writes the settings of the target file.
    fn set(&self, machine: &mut Machine) -> Result<(), BootError> {
        for (path, value) in self.machine.settings.iter().filter_map(|setting| path_and_value(setting)) {
            let refused = |source| BootError::Setting { path: path.into(), value: value.into(), source };
            machine.put(path, false, value.as_bytes()).map_err(refused)?;
        }
        Ok(())
    }

    fn note(&mut self, machine: &Machine, restored: bool) {
        let kernel_release = machine.kernel_release.clone();
        self.booted = Some(Booted { kernel_release, boot_time: machine.boot_time, restored });
    }

    /// Restores a machine from a saved state, or boots one and saves its state.
    fn restore_or_save(&mut self) -> Result<Machine, BootError> {
        let limit = Duration::from_secs(u64::from(self.machine.boot_seconds));
        let plan = self.plan(Accelerator::Tcg, limit)?;
        let states = States::beside(&self.cache);
        let key = self.key(&plan)?;
        if let Some(path) = states.find(&key) {
            self.console = Arc::default();
            let loading = Boot { arguments: [&plan.arguments[..], &arguments::incoming()].concat(), ..plan.clone() };
            let opened = fs::File::open(&path).map_err(|error| FileError::reading(&path)(error).into());
            match opened.and_then(|mut state| Machine::load(&loading, &self.console, &self.stop, &mut state)) {
                Ok(machine) => {
                    self.note(&machine, true);
                    self.notices.push(notice(&StateProblem::Restored));
                    return Ok(machine);
                }
                Err(why) if self.stop.count() > 0 => return Err(why),
                Err(why) => {
                    states.remove(&key);
                    self.notices.push(notice(&StateProblem::NotLoaded { why: why.to_string() }));
                }
            }
        }
        let mut machine = self.boot_and_settle(Accelerator::Tcg)?;
        if self.stop.count() == 0
            && let Err(why) = keep(&mut machine, &plan.scratch, &states, &key)
        {
            self.notices.push(notice(&StateProblem::NotSaved { why: why.to_string() }));
        }
        Ok(machine)
    }

    /// The name of the state for a boot.
    fn key(&self, plan: &Boot) -> Result<String, BootError> {
        let ready = self.ready.as_ref().ok_or(BootError::NotPrepared)?;
        let initramfs = initramfs::build(&ready.meter, &ready.kernel, &self.sent)?;
        let scratch = plan.scratch.display().to_string();
        let arguments: Vec<String> = plan.arguments.iter().map(|word| word.replace(&scratch, "")).collect();
        let ingredients = Ingredients {
            program: &plan.program,
            arguments: &arguments,
            kernel: &ready.kernel.image,
            initramfs: &initramfs,
            settle_seconds: self.machine.settle_seconds,
        };
        Ok(ingredients.key()?)
    }

    /// Switches the machine off, if there is one.
    fn end(&mut self) {
        if let Some(machine) = self.running.take() {
            let mut machine = lock(&machine);
            if machine.is_ready() {
                machine.farewell();
            }
            machine.kill();
        }
    }
}

/// Saves the state of a machine under this name.
fn keep(machine: &mut Machine, scratch: &Path, states: &States, key: &str) -> Result<(), StateError> {
    let (mut file, path) = states.begin().map_err(StateError::NotWritten)?;
    let saved = machine.save(scratch, &mut file);
    let saved = saved.and_then(|()| states.finish(&path, key).map_err(StateError::NotWritten));
    if saved.is_err() {
        // Its content is not a complete state.
        let _ = fs::remove_file(&path);
    }
    saved
}

fn notice(kind: &StateProblem) -> Problem {
    Problem::new(Severity::Notice, kind)
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A path of the guest as a string.
fn in_guest(path: &Path) -> io::Result<&str> {
    let text = path.to_str().filter(|text| parts_of_path(text).is_some());
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not an absolute path without dots"))
}

/// An emulated processor needs most of a minute to patch every function of its kernel, and is silent meanwhile.
const SLOWDOWN_EMULATED: u32 = 4;

impl Target for QemuTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn slowdown(&self) -> u32 {
        match self.ready.as_ref().map(|ready| ready.accelerator) {
            Some(Accelerator::Kvm) => 1,
            Some(Accelerator::Tcg) | None => SLOWDOWN_EMULATED,
        }
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.prepared().map_err(|why| TargetError::Prepare { target: self.plain_name.clone(), why: why.into() })
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let read = || {
            let file = SentFile::read(from, to)?;
            if let Some(mut machine) = self.idle() {
                machine.put(in_guest(to)?, file.executable, &file.data)?;
            }
            Ok(file)
        };
        let file = read().map_err(|source| self.copy_failed(from, to, source))?;
        self.sent.retain(|sent| sent.path != file.path);
        self.sent.push(file);
        Ok(())
    }

    /// Runs the meter in the guest, whatever program the command names. Boots unless the previous command succeeded.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        match self.begin(command) {
            Ok(machine) => {
                let watch = self.keeps_the_hosts_time().then(|| lock(&machine).watch_processors(self.machine.cpus));
                Ok(Box::new(GuestRun::new(machine, watch)))
            }
            Err(_) if self.stop.count() > 0 => Err(TargetError::Stopped { target: self.plain_name.clone() }),
            Err(why) => Err(TargetError::Boot { target: self.plain_name.clone(), why: why.into() }),
        }
    }

    /// Works only between commands: before the first one no machine is running, and afterwards it stays until it is
    /// closed.
    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let fetch = || {
            let path = in_guest(from)?;
            let mut machine = self.idle().ok_or_else(|| io::Error::other("no machine is up and idle"))?;
            fs::write(to, machine.get(path, FILE_BYTES_MAX)?)
        };
        fetch().map_err(|source| self.copy_failed(from, to, source))
    }

    fn close(&mut self) -> Result<(), TargetError> {
        self.end();
        self.scratch = None;
        Ok(())
    }

    fn console(&self) -> Vec<u8> {
        lock(&self.console).text()
    }

    fn forgets(&self) -> bool {
        true
    }

    fn notices(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.notices)
    }

    fn caveat(&self) -> Option<Caveat> {
        Some(match self.ready.as_ref()?.accelerator {
            Accelerator::Tcg => Caveat::Emulated,
            Accelerator::Kvm => Caveat::Virtual,
        })
    }
}

impl QemuTarget {
    fn copy_failed(&self, from: &Path, to: &Path, source: io::Error) -> TargetError {
        TargetError::Copy { target: self.plain_name.clone(), from: from.to_owned(), to: to.to_owned(), source }
    }
}

/// The bytes of a meter for guests of this architecture.
fn static_meter(path: &Path, wanted: Architecture) -> Result<Vec<u8>, PrepareError> {
    let meter = fs::read(path).map_err(FileError::reading(path))?;
    if elf::needs_loader(&meter) {
        return Err(PrepareError::MeterNotStatic { meter: path.to_owned() });
    }
    if let Some(found) = Architecture::of_program(&meter).filter(|found| *found != wanted) {
        return Err(PrepareError::MeterArchitecture { meter: path.to_owned(), found, wanted });
    }
    Ok(meter)
}

fn find_program(machine: &VirtualMachine) -> Result<PathBuf, PrepareError> {
    let program = machine.program();
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&places).map(|folder| folder.join(&program));
    let found = if program.components().count() > 1 {
        program.is_file().then(|| program.clone())
    } else {
        candidates.find(|path| path.is_file())
    };
    let package = Platform::of(machine.architecture).package;
    found.ok_or(PrepareError::NoProgram { program, package })
}
