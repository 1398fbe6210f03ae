//! Differences between the machines that QEMU emulates.

use crate::architecture::Architecture;

/// The chosen accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    Tcg,
    Kvm,
}

/// How to start an architecture's machine, and where to get its kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// QEMU's program, and the Debian package that contains it.
    pub program: &'static str,
    pub package: &'static str,
    pub machine: &'static str,
    /// The CPU model for emulation.
    pub cpu: &'static str,
    /// The guest kernel's name of the serial line.
    pub console: &'static str,
    /// Kernel arguments for emulation.
    pub emulated_arguments: &'static str,
    /// Debian's name of the architecture.
    pub debian: &'static str,
    /// Last part of the names of Debian's generic kernels for the architecture.
    pub flavour: &'static str,
    /// A release of Debian that has kernels if the machine's own has none.
    pub newer_release: Option<&'static str>,
}

/// q35, because microvm hangs with some kernels. `pauth-impdef`, because emulating the architected algorithm doubles
/// the time of everything. Emulated processors drift apart, so the kernel would distrust the TSC and use a slow clock
/// device.
const PLATFORMS: [Platform; 4] = [
    Platform {
        program: "qemu-system-x86_64",
        package: "qemu-system-x86",
        machine: "q35",
        cpu: "max",
        console: "ttyS0",
        emulated_arguments: "tsc=reliable clocksource=tsc no_timer_check",
        debian: "amd64",
        flavour: "amd64",
        newer_release: None,
    },
    Platform {
        program: "qemu-system-aarch64",
        package: "qemu-system-arm",
        machine: "virt",
        cpu: "max,pauth-impdef=on",
        console: "ttyAMA0",
        emulated_arguments: "",
        debian: "arm64",
        flavour: "arm64",
        newer_release: None,
    },
    Platform {
        program: "qemu-system-arm",
        package: "qemu-system-arm",
        machine: "virt,highmem=off",
        cpu: "cortex-a15",
        console: "ttyAMA0",
        emulated_arguments: "",
        debian: "armhf",
        flavour: "armmp",
        newer_release: Some("trixie"),
    },
    Platform {
        program: "qemu-system-riscv64",
        package: "qemu-system-misc",
        machine: "virt",
        cpu: "rv64",
        console: "ttyS0",
        emulated_arguments: "",
        debian: "riscv64",
        flavour: "riscv64",
        newer_release: Some("trixie"),
    },
];

impl Platform {
    pub fn of(architecture: Architecture) -> &'static Self {
        match architecture {
            Architecture::X86_64 => &PLATFORMS[0],
            Architecture::Arm64 => &PLATFORMS[1],
            Architecture::Armhf => &PLATFORMS[2],
            Architecture::Riscv64 => &PLATFORMS[3],
        }
    }

    /// Values of `-accel` and `-cpu`. `one_thread`: an emulated machine runs all its CPUs in one thread.
    pub fn processor(&self, accelerator: Accelerator, one_thread: bool) -> (&'static str, &'static str) {
        match (accelerator, one_thread) {
            (Accelerator::Tcg, false) => ("tcg,thread=multi", self.cpu),
            (Accelerator::Tcg, true) => ("tcg,thread=single", self.cpu),
            (Accelerator::Kvm, _) => ("kvm", "host"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_a_platform_of_its_own() {
        let programs = Architecture::ALL.map(|architecture| Platform::of(architecture).program);
        assert_eq!(programs, PLATFORMS.each_ref().map(|platform| platform.program));
        for (architecture, program) in Architecture::ALL.iter().zip(programs) {
            let same = program.ends_with(architecture.name());
            assert!(same || matches!(architecture, Architecture::Arm64 | Architecture::Armhf), "{program}");
        }
    }
}
