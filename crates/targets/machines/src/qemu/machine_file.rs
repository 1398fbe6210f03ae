//! The TOML of a virtual machine's target file.

use super::platform::Platform;
use super::saved_state;
use crate::architecture::Architecture;
use crate::boot_words::BootWords;
use crate::target_syntax::{SyntaxError, read_checked};
use archive::settings::SettingChange;
use protocol::guest::parts_of_path;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

/// The executor of the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AcceleratorChoice {
    /// KVM if a guest boots with it in a short time, otherwise emulation.
    #[default]
    Auto,
    /// Emulation, on any host; each CPU in its own thread.
    Tcg,
    /// Emulation with all CPUs in one thread: slower, but without races when a kernel patches itself.
    #[serde(rename = "tcg-single")]
    TcgSingle,
    /// The host's processor.
    Kvm,
}

/// A virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtualMachine {
    /// `qemu`: the kind of target that the file describes.
    pub backend: Backend,
    #[serde(default)]
    pub architecture: Architecture,
    /// `debian:SERIES`, or the path of a bzImage, vmlinux, Image or zImage.
    pub kernel: String,
    /// The package that `debian:SERIES` was resolved to, `name=version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// A directory like /lib/modules/RELEASE, for a kernel given by its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modules: Option<PathBuf>,
    /// Modules that the guest loads before anything else: names of the kernel's own, then files in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_modules: Vec<PathBuf>,
    #[serde(default)]
    pub accel: AcceleratorChoice,
    #[serde(default = "cpus")]
    pub cpus: u32,
    #[serde(default = "memory_mb")]
    pub memory_mb: u32,
    /// Static programs of the host that the guest starts after booting, each with its arguments: `PATH [ARGUMENT...]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_programs: Vec<String>,
    /// Added to the kernel's command line.
    #[serde(default)]
    pub kernel_arguments: String,
    /// Added to QEMU's command line, one argument each.
    #[serde(default)]
    pub qemu_arguments: Vec<String>,
    /// QEMU, as a name in PATH or as a path; that of the architecture if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<PathBuf>,
    /// Time limit for booting.
    #[serde(default = "boot_seconds")]
    pub boot_seconds: u32,
    /// Pause between the end of booting and the first command.
    #[serde(default = "settle_seconds")]
    pub settle_seconds: u32,
    /// Save the booted machine in a file and restore it the next time, instead of booting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saved_state: bool,
    /// In virtual time: the guest's clock when the meter starts; booting must have ended by then.
    #[serde(default = "start_seconds")]
    pub start_seconds: u32,
    /// In virtual time: an instruction takes two to the power of this many nanoseconds.
    #[serde(default)]
    pub instruction_shift: u8,
    /// Files that every boot writes before the first command, as `PATH=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// A machine with an ordinary clock.
    #[default]
    Qemu,
    /// A machine whose clock counts executed instructions.
    Virtual,
}

/// Why a text is not the target file of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineFileError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("cpus is a number from 1 to 255")]
    Cpus,
    #[error("memory_mb is a number from 16 to 1048576")]
    Memory,
    #[error("boot_seconds is at least 1")]
    BootSeconds,
    #[error("accel = \"kvm\" is for guests of the host's own architecture, and this one is {architecture}")]
    ForeignKvm { architecture: Architecture },
    #[error("modules goes with a kernel given by its path; a Debian kernel brings its own")]
    Modules,
    #[error("saved_state is not for machines in virtual time, which must all have the same past")]
    SavedVirtualTime,
    #[error("saved_state is for emulated machines; with KVM a guest boots as fast")]
    SavedKvm,
    #[error("saved_state is for machines without disks: what is on one would not be what the memory believes")]
    SavedDisk,
    #[error("virtual time is there for x86_64 guests only")]
    VirtualTimeArchitecture,
    #[error("a machine in virtual time has cpus = 1 and accel = \"tcg\"")]
    VirtualTimeCpus,
    #[error("instruction_shift is a number from 0 to 10")]
    InstructionShift,
    #[error("start_seconds is a number from 1 to 3600")]
    StartSeconds,
    #[error("settings has `{0}`; write PATH=VALUE with a path below /proc or /sys")]
    Setting(String),
    #[error("start_programs has an empty entry; write PATH [ARGUMENT...]")]
    EmptyProgram,
    #[error("a machine in virtual time starts no programs; `tardy run --load` runs work beside the measurement")]
    ProgramsInVirtualTime,
    #[error(
        "the host writes settings after booting, and sends nothing to a machine in virtual time; use `tardy run --set`"
    )]
    SettingsInVirtualTime,
}

/// The parts of a setting; `None` if it has none, or leads elsewhere than to the kernel's settings.
pub fn path_and_value(setting: &str) -> Option<(&str, &str)> {
    let (path, value) = setting.split_once('=')?;
    let is_the_kernels = path.starts_with("/proc/") || path.starts_with("/sys/");
    (is_the_kernels && parts_of_path(path).is_some() && !value.is_empty()).then_some((path, value))
}

fn cpus() -> u32 {
    2
}

fn memory_mb() -> u32 {
    1024
}

fn boot_seconds() -> u32 {
    90
}

fn settle_seconds() -> u32 {
    1
}

fn start_seconds() -> u32 {
    5
}

impl VirtualMachine {
    /// A machine with this kernel and defaults for everything else.
    pub fn new(kernel: &str) -> Self {
        Self {
            backend: Backend::Qemu,
            architecture: Architecture::default(),
            kernel: kernel.into(),
            package: None,
            modules: None,
            load_modules: Vec::new(),
            start_programs: Vec::new(),
            accel: AcceleratorChoice::Auto,
            cpus: cpus(),
            memory_mb: memory_mb(),
            kernel_arguments: String::new(),
            qemu_arguments: Vec::new(),
            qemu: None,
            boot_seconds: boot_seconds(),
            settle_seconds: settle_seconds(),
            saved_state: false,
            start_seconds: start_seconds(),
            instruction_shift: 0,
            settings: Vec::new(),
        }
    }

    /// A machine in virtual time with this kernel and defaults for everything else.
    pub fn in_virtual_time(kernel: &str) -> Self {
        Self { backend: Backend::Virtual, accel: AcceleratorChoice::Tcg, cpus: 1, ..Self::new(kernel) }
    }

    /// Parses a target file.
    ///
    /// # Errors
    /// [`MachineFileError`].
    pub fn parse(text: &str) -> Result<Self, MachineFileError> {
        read_checked(text, Self::check)
    }

    /// Whether the values are consistent.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), MachineFileError> {
        if !(1..=255).contains(&self.cpus) {
            return Err(MachineFileError::Cpus);
        }
        if !(16..=1 << 20).contains(&self.memory_mb) {
            return Err(MachineFileError::Memory);
        }
        if self.backend == Backend::Virtual {
            self.check_virtual_time()?;
        }
        if self.boot_seconds == 0 {
            return Err(MachineFileError::BootSeconds);
        }
        if self.accel == AcceleratorChoice::Kvm && Architecture::of_host() != Some(self.architecture) {
            return Err(MachineFileError::ForeignKvm { architecture: self.architecture });
        }
        if self.saved_state {
            self.check_saved_state()?;
        }
        if self.start_programs.iter().any(|program| program.trim().is_empty()) {
            return Err(MachineFileError::EmptyProgram);
        }
        if self.kernel.starts_with("debian:") && self.modules.is_some() {
            return Err(MachineFileError::Modules);
        }
        match self.settings.iter().find(|setting| path_and_value(setting).is_none()) {
            Some(wrong) => Err(MachineFileError::Setting(wrong.clone())),
            None => Ok(()),
        }
    }

    fn check_saved_state(&self) -> Result<(), MachineFileError> {
        if self.backend == Backend::Virtual {
            return Err(MachineFileError::SavedVirtualTime);
        }
        if self.accel == AcceleratorChoice::Kvm {
            return Err(MachineFileError::SavedKvm);
        }
        if saved_state::has_disk(&self.qemu_arguments) {
            return Err(MachineFileError::SavedDisk);
        }
        Ok(())
    }

    fn check_virtual_time(&self) -> Result<(), MachineFileError> {
        if self.architecture != Architecture::X86_64 {
            return Err(MachineFileError::VirtualTimeArchitecture);
        }
        if self.cpus != 1 || self.accel == AcceleratorChoice::Kvm {
            return Err(MachineFileError::VirtualTimeCpus);
        }
        if self.instruction_shift > 10 {
            return Err(MachineFileError::InstructionShift);
        }
        if !(1..=3600).contains(&self.start_seconds) {
            return Err(MachineFileError::StartSeconds);
        }
        if !self.settings.is_empty() {
            return Err(MachineFileError::SettingsInVirtualTime);
        }
        if !self.start_programs.is_empty() {
            return Err(MachineFileError::ProgramsInVirtualTime);
        }
        Ok(())
    }

    /// The same machine whose boots also have these words, and write these files in place of older values for them; `None` if it
    /// lacks a word to remove.
    pub fn changed(&self, words: &BootWords, changes: &[SettingChange]) -> Option<Self> {
        let kernel_arguments = words.applied_to(&self.kernel_arguments)?;
        let is_changed = |setting: &String| {
            path_and_value(setting).is_some_and(|(path, _)| changes.iter().any(|change| change.path == path))
        };
        let kept = self.settings.iter().filter(|setting| !is_changed(setting)).cloned();
        let settings = kept.chain(changes.iter().map(|change| format!("{}={}", change.path, change.value))).collect();
        Some(Self { kernel_arguments, settings, ..self.clone() })
    }

    /// QEMU, as a name in PATH or as a path.
    pub fn program(&self) -> PathBuf {
        self.qemu.clone().unwrap_or_else(|| Platform::of(self.architecture).program.into())
    }

    /// The text of a target file.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a machine has only plain values")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_file_has_the_defaults_and_a_written_one_comes_back() {
        let machine = VirtualMachine::parse("backend = \"qemu\"\nkernel = \"debian:6.1-rt\"\n").unwrap();
        assert_eq!(machine, VirtualMachine::new("debian:6.1-rt"));
        let whole = VirtualMachine {
            package: Some("linux-image-6.1.0-56-rt-amd64=6.1.192-2".into()),
            accel: AcceleratorChoice::Tcg,
            qemu_arguments: vec!["-seed".into(), "1".into()],
            kernel_arguments: "isolcpus=1 \"quoted\"".into(),
            ..machine
        };
        assert_eq!(VirtualMachine::parse(&whole.to_text()).unwrap(), whole);
    }

    #[test]
    fn a_changed_machine_has_the_new_words_and_values_alone() {
        let text = "backend = \"qemu\"\nkernel = \"/k\"\nkernel_arguments = \"quiet debug\"\nsettings = [\"/proc/a=1\", \"/sys/b=2\"]";
        let machine = VirtualMachine::parse(text).unwrap();
        let words = BootWords { add: vec!["nohz=off".into()], remove: vec!["debug".into()] };
        let changes = [SettingChange { path: "/proc/a".into(), value: "0".into() }];
        let changed = machine.changed(&words, &changes).unwrap();
        assert_eq!(changed.kernel_arguments, "quiet nohz=off");
        assert_eq!(changed.settings, ["/sys/b=2", "/proc/a=0"]);
        assert_eq!(VirtualMachine::parse(&changed.to_text()).unwrap(), changed);
        assert_eq!(changed.changed(&words, &[]), None, "it lacks the word by now");
    }

    #[test]
    fn an_invalid_key_or_value_is_named() {
        let wrong = |line: &str| {
            VirtualMachine::parse(&format!("backend = \"qemu\"\nkernel = \"/k\"\n{line}")).unwrap_err().to_string()
        };
        assert!(wrong("cpu = 2").contains("cpu"));
        assert!(wrong("cpus = 0").contains("255"));
        assert!(wrong("memory_mb = 1").contains("16 to"));
        assert!(wrong("accel = \"hax\"").contains("tcg"));
        assert!(wrong("architecture = \"sparc\"").contains("arm64"));
        let foreign = if Architecture::of_host() == Some(Architecture::Riscv64) { "arm64" } else { "riscv64" };
        assert!(wrong(&format!("accel = \"kvm\"\narchitecture = \"{foreign}\"")).contains("own architecture"));
        assert!(wrong("saved_state = true\naccel = \"kvm\"").contains("KVM"));
        assert!(wrong("saved_state = true\nqemu_arguments = [\"-hda\", \"x\"]").contains("disks"));
        let exact = "backend = \"virtual\"\nkernel = \"/k\"\ncpus = 1\nsaved_state = true";
        assert_eq!(VirtualMachine::parse(exact), Err(MachineFileError::SavedVirtualTime));
        assert!(wrong("settings = [\"kernel.x=1\"]").contains("PATH=VALUE"));
        assert!(wrong("settings = [\"/proc/../etc/passwd=1\"]").contains("PATH=VALUE"));
        let exact = "backend = \"virtual\"\nkernel = \"/k\"\ncpus = 1\nsettings = [\"/proc/x=1\"]";
        assert_eq!(VirtualMachine::parse(exact), Err(MachineFileError::SettingsInVirtualTime));
        assert!(wrong("start_programs = [\" \"]").contains("ARGUMENT"));
        let exact = "backend = \"virtual\"\nkernel = \"/k\"\ncpus = 1\nstart_programs = [\"/bin/x\"]";
        assert_eq!(VirtualMachine::parse(exact), Err(MachineFileError::ProgramsInVirtualTime));
        let board = VirtualMachine::parse("backend = \"ssh\"\nkernel = \"/k\"");
        assert!(board.unwrap_err().to_string().contains("qemu"));
        assert!(VirtualMachine::parse("backend = \"qemu\"\nkernel = \"debian:6.1\"\nmodules = \"/m\"").is_err());
    }
}
