//! The machine of a step: a target as it is, or a virtual machine with the kernel that the plan selects.

use crate::exit::UsageError;
use crate::measuring::machine::{find_target, open_virtual, open_with};
use crate::measuring::signals::Signals;
use crate::plans::checked::CheckedStep;
use anyhow::anyhow;
use machines::Target;
use machines::board::AccessOptions;
use machines::qemu::kernel;
use machines::qemu::machine_file::VirtualMachine;
use machines::target_file::TargetFiles;
use runner::plan::KernelChoice;
use runner::plan::step::Step;
use std::collections::BTreeMap;
use std::path::Path;
use words::printable::printable;

/// The package that each Debian kernel name refers to, by target and kernel: it stays the same for a whole round.
pub type Packages = BTreeMap<String, String>;

/// Checks that every target exists, before anything is measured.
///
/// # Errors
/// A [`UsageError`] that names the fix.
pub fn find_targets<'a>(steps: impl IntoIterator<Item = &'a CheckedStep>) -> Result<(), UsageError> {
    let names = |step: &'a CheckedStep| {
        let stimulus = step.stimulus.as_ref().map(|stimulus| &stimulus.machine);
        std::iter::once(&step.step.target).chain(stimulus)
    };
    steps.into_iter().flat_map(names).try_for_each(|name| find_target(name))
}

/// The machine of a step, ready to be prepared.
///
/// # Errors
/// If there is no such target, or its kernel is not available.
pub fn open(
    step: &Step,
    packages: &mut Packages,
    access: AccessOptions,
    meter: &Path,
    signals: &Signals,
) -> anyhow::Result<Box<dyn Target>> {
    let Some(choice) = &step.kernel else { return open_with(&step.target, meter, signals, access) };
    let own = TargetFiles::of_process().read(&step.target).map_err(|error| UsageError(error.to_string()))?;
    let mut machine = with_kernel(own, choice);
    let name = format!("{} {}", step.target, machine.kernel);
    machine.package = packages.get(&name).cloned();
    let cache = kernel::cache()?;
    kernel::obtain(&mut machine, &cache, &mut |what| complain!("tardy: {}", printable(what)))
        .map_err(|why| anyhow!("failed to get the kernel {} for target {}: {why}", choice.name, step.target))?;
    packages.extend(machine.package.clone().map(|package| (name, package)));
    open_virtual(&step.target, machine, meter, signals.requests().clone())
}

fn with_kernel(own: VirtualMachine, choice: &KernelChoice) -> VirtualMachine {
    let arguments = format!("{} {}", own.kernel_arguments, choice.arguments);
    VirtualMachine {
        kernel: choice.kernel.clone(),
        package: None,
        modules: choice.modules.as_ref().map(Into::into),
        kernel_arguments: arguments.trim().to_owned(),
        ..own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_kernel_takes_the_place_of_the_machines_own() {
        let own = VirtualMachine {
            package: Some("linux=1".into()),
            kernel_arguments: "isolcpus=1".into(),
            cpus: 4,
            ..VirtualMachine::new("debian:6.1-rt")
        };
        let choice = KernelChoice {
            name: "none".into(),
            kernel: "debian:6.1".into(),
            modules: None,
            arguments: "preempt=none".into(),
            line: 1,
        };
        let expected = VirtualMachine {
            kernel: "debian:6.1".into(),
            package: None,
            kernel_arguments: "isolcpus=1 preempt=none".into(),
            ..own.clone()
        };
        assert_eq!(with_kernel(own, &choice), expected);
    }
}
