//! The machine of a step: a target as it is, or a virtual machine with the kernel that the plan selects.

use crate::exit::UsageError;
use crate::measuring::machine::usage;
use crate::measuring::signals::Signals;
use crate::plans::checked::CheckedStep;
use anyhow::anyhow;
use machines::board::AccessOptions;
use machines::qemu::kernel;
use machines::qemu::machine_file::VirtualMachine;
use machines::target_file::Description;
use machines::{KnownTarget, Target};
use runner::plan::KernelChoice;
use std::collections::BTreeMap;
use std::path::Path;
use words::printable::printable;

/// The package that each Debian kernel name refers to, by target and kernel: it stays the same for a whole round.
pub type Packages = BTreeMap<String, String>;

/// Checks that every target exists, before anything is measured.
///
/// # Errors
/// A [`UsageError`] that names the fix.
pub fn check_targets<'a>(steps: impl IntoIterator<Item = &'a CheckedStep>) -> Result<(), UsageError> {
    let targets = |step: &'a CheckedStep| {
        std::iter::once(&step.target).chain(step.stimulus.as_ref().map(|stimulus| &stimulus.target))
    };
    steps.into_iter().flat_map(targets).try_for_each(|target| target.known().map(drop))
}

/// The machine of a step, ready to be prepared.
///
/// # Errors
/// If its target is not known here, or its kernel is not available.
pub fn open(
    step: &CheckedStep,
    packages: &mut Packages,
    access: AccessOptions,
    meter: &Path,
    signals: &Signals,
) -> anyhow::Result<Box<dyn Target>> {
    let target = step.target.known()?;
    let stop = signals.requests().clone();
    let Some(choice) = &step.step.kernel else { return Ok(target.open(meter, access, stop)?) };
    let own = target.virtual_machine().map_err(usage)?;
    let mut machine = with_kernel(own.clone(), choice);
    let name = format!("{} {}", target.name(), machine.kernel);
    machine.package = packages.get(&name).cloned();
    let cache = kernel::cache()?;
    kernel::obtain(&mut machine, &cache, &mut |what| complain!("tardy: {}", printable(what)))
        .map_err(|why| anyhow!("failed to get the kernel {} for target {}: {why}", choice.name, target.name()))?;
    packages.extend(machine.package.clone().map(|package| (name, package)));
    Ok(KnownTarget::new(target.name(), Description::Machine(Box::new(machine))).open(meter, access, stop)?)
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
