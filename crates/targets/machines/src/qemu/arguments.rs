//! QEMU's command line.

use super::machine_file::{AcceleratorChoice, VirtualMachine};
use super::platform::{Accelerator, Platform};
use protocol::guest::{DATA_PORT, WORDS_PORT};
use std::path::Path;

/// File names of the host's sockets to which QEMU connects.
pub const CONSOLE_SOCKET: &str = "console";
pub const DATA_SOCKET: &str = "data";
pub const WORDS_SOCKET: &str = "words";
pub const MONITOR_SOCKET: &str = "monitor";

/// The arguments of QEMU. `scratch` is the directory with the sockets.
///
/// The console is a serial line, because that works from the first instruction on. With `panic=-1` and `-no-reboot`
/// QEMU exits when the guest panics.
pub fn arguments(
    machine: &VirtualMachine,
    accelerator: Accelerator,
    kernel: &Path,
    initramfs: &Path,
    scratch: &Path,
) -> Vec<String> {
    let socket = |name: &str| format!("socket,id={name},path={}", doubled(&scratch.join(name)));
    let platform = Platform::of(machine.architecture);
    let (accel, cpu) = platform.processor(accelerator, machine.accel == AcceleratorChoice::TcgSingle);
    let mut words: Vec<String> = [
        "-name",
        "tardy,debug-threads=on",
        "-machine",
        platform.machine,
        "-accel",
        accel,
        "-cpu",
        cpu,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-monitor",
        "none",
        "-no-reboot",
    ]
    .map(String::from)
    .to_vec();
    words.extend(["-smp".into(), machine.cpus.to_string(), "-m".into(), machine.memory_mb.to_string()]);
    words.extend(["-kernel".into(), kernel.display().to_string(), "-initrd".into(), initramfs.display().to_string()]);
    words.extend(["-append".into(), kernel_arguments(machine, accelerator)]);
    words.extend(["-chardev".into(), socket(CONSOLE_SOCKET), "-serial".into(), format!("chardev:{CONSOLE_SOCKET}")]);
    words.extend(["-device".into(), "virtio-serial-pci".into()]);
    for (name, port) in [(DATA_SOCKET, DATA_PORT), (WORDS_SOCKET, WORDS_PORT)] {
        words.extend(["-chardev".into(), socket(name)]);
        words.extend(["-device".into(), format!("virtserialport,chardev={name},name={port}")]);
    }
    if machine.saved_state {
        words.extend(["-chardev".into(), socket(MONITOR_SOCKET)]);
        words.extend(["-mon".into(), format!("chardev={MONITOR_SOCKET},mode=control")]);
    }
    words.extend(machine.qemu_arguments.iter().cloned());
    words
}

/// Additional arguments that make QEMU wait for a state instead of booting.
pub fn incoming() -> [String; 2] {
    ["-incoming", "defer"].map(String::from)
}

fn kernel_arguments(machine: &VirtualMachine, accelerator: Accelerator) -> String {
    let platform = Platform::of(machine.architecture);
    let mut words = vec![format!("console={} quiet panic=-1", platform.console)];
    if accelerator == Accelerator::Tcg {
        words.push(platform.emulated_arguments.into());
    }
    words.push(machine.kernel_arguments.clone());
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// QEMU splits option values at commas; a doubled comma is a literal one.
fn doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Architecture;

    fn line(machine: &VirtualMachine, accelerator: Accelerator) -> String {
        arguments(machine, accelerator, Path::new("/k"), Path::new("/i"), Path::new("/s,x")).join(" ")
    }

    #[test]
    fn the_command_line_is_the_documented_one() {
        let machine = VirtualMachine {
            cpus: 4,
            kernel_arguments: "isolcpus=3".into(),
            qemu_arguments: vec!["-seed".into(), "1".into()],
            ..VirtualMachine::new("/k")
        };
        let expected = "-name tardy,debug-threads=on -machine q35 -accel tcg,thread=multi -cpu max -nodefaults -no-user-config -display none \
             -monitor none -no-reboot -smp 4 -m 1024 -kernel /k -initrd /i -append console=ttyS0 quiet panic=-1 \
             tsc=reliable clocksource=tsc no_timer_check isolcpus=3 -chardev socket,id=console,path=/s,,x/console -serial chardev:console \
             -device virtio-serial-pci -chardev socket,id=data,path=/s,,x/data \
             -device virtserialport,chardev=data,name=tardy.data -chardev socket,id=words,path=/s,,x/words \
             -device virtserialport,chardev=words,name=tardy.words -seed 1";
        assert_eq!(line(&machine, Accelerator::Tcg), expected);
        let real = line(&machine, Accelerator::Kvm);
        assert!(real.contains("-accel kvm -cpu host") && !real.contains("tsc="), "{real}");
        let other = line(&VirtualMachine { architecture: Architecture::Arm64, ..machine }, Accelerator::Tcg);
        assert!(
            other.contains("-machine virt ") && other.contains("console=ttyAMA0 quiet panic=-1 isolcpus=3 "),
            "{other}"
        );
    }
}
