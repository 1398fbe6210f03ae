//! Ingredients of a machine in virtual time: everything that can change a nanosecond, except the settings of the run.

use super::boot::Boot;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

/// The ingredients of a boot, by name. A file that cannot be read is left out; the boot will report it.
pub fn of(boot: &Boot) -> BTreeMap<String, String> {
    let machine = &boot.machine;
    let mut ingredients: BTreeMap<String, String> = [
        ("host name", boot.hostname.clone()),
        ("kernel arguments", machine.kernel_arguments.clone()),
        ("memory in MB", machine.memory_mb.to_string()),
        ("meter", sum(&boot.meter)),
        ("start in s", machine.start_seconds.to_string()),
        ("instruction shift", machine.instruction_shift.to_string()),
        ("arguments of the emulator", machine.qemu_arguments.join(" ")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let kernel = fs::read(&boot.kernel.image).ok().map(|image| ("kernel".to_owned(), sum(&image)));
    let configuration = boot.kernel.configuration.as_ref();
    let configuration = configuration.map(|(_, bytes)| ("kernel configuration".to_owned(), sum(bytes)));
    let emulator = version(boot).map(|version| ("emulator".to_owned(), version));
    ingredients.extend([kernel, configuration, emulator].into_iter().flatten());
    let sent = boot.sent.iter();
    ingredients.extend(sent.map(|file| (format!("file {}", file.path.display()), sum(&file.data))));
    let modules = boot.kernel.modules.iter();
    ingredients.extend(modules.map(|(name, bytes)| (format!("module {name}"), sum(bytes))));
    ingredients
}

fn sum(bytes: &[u8]) -> String {
    let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{sum}")
}

/// The first line of the emulator's version output.
fn version(boot: &Boot) -> Option<String> {
    let output = Command::new(&boot.program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::super::kernel::Kernel;
    use super::super::super::machine_file::VirtualMachine;
    use super::*;

    fn boot(directory: &tempfile::TempDir, arguments: &str) -> Boot {
        let image = directory.path().join("kernel");
        fs::write(&image, b"kernel").unwrap();
        let machine =
            VirtualMachine { kernel_arguments: arguments.into(), ..VirtualMachine::in_virtual_time("/kernel") };
        Boot {
            program: "true".into(),
            machine,
            kernel: Kernel { image, modules: vec![("inject".into(), b"module".to_vec())], configuration: None },
            meter: b"meter".to_vec(),
            hostname: "exact".into(),
            sent: Vec::new(),
            scratch: directory.path().into(),
            extras: Default::default(),
        }
    }

    #[test]
    fn whatever_differs_shows_under_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (of(&boot(&directory, "")), of(&boot(&directory, "psi=0")));
        let differing: Vec<&String> = one.keys().filter(|name| one[*name] != other[*name]).collect();
        assert_eq!(differing, ["kernel arguments"]);
        assert_eq!(one["module inject"].len(), "sha256:".len() + 64);
        assert_ne!(one["module inject"], one["kernel"]);
    }
}
