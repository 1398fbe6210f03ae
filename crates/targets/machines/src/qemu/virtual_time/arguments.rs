//! QEMU's command line for virtual time: no part of it may leak the host's time into the guest.

use super::super::machine_file::VirtualMachine;
use super::extras::{Extras, value};
use super::shared_memory::SHARED;
use std::path::Path;

/// File in the scratch directory for the console output.
pub const CONSOLE_FILE: &str = "console";

/// Disable what differs from boot to boot, and clocks that are cheaper to read than on this machine.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 nokaslr norandmaps random.trust_cpu=off \
                                random.trust_bootloader=on tsc=reliable";

/// The arguments of QEMU.
pub fn arguments(
    machine: &VirtualMachine,
    kernel: &Path,
    initramfs: &Path,
    scratch: &Path,
    extras: &Extras,
) -> Vec<String> {
    let path = |name: &str| value(&scratch.join(name));
    let mut words: Vec<String> = [
        "-name",
        // Named threads, so that the processor's can be identified.
        "tardy,debug-threads=on",
        "-accel",
        "tcg,thread=single",
        "-machine",
        "pc",
        "-cpu",
        "qemu64",
        "-smp",
        "1",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-monitor",
        "none",
        "-no-reboot",
        "-net",
        "none",
        "-rtc",
        "base=2020-01-01,clock=vm",
        "-seed",
        "1",
    ]
    .map(String::from)
    .to_vec();
    words.extend(["-icount".into(), format!("shift={},align=off,sleep=off", machine.instruction_shift)]);
    words.extend(["-m".into(), machine.memory_mb.to_string()]);
    let console = format!("file,id={CONSOLE_FILE},path={}", path(CONSOLE_FILE));
    words.extend(["-chardev".into(), console, "-serial".into(), format!("chardev:{CONSOLE_FILE}")]);
    for shared in &SHARED {
        let (name, path) = (shared.file, path(shared.file));
        let size = shared.bytes;
        words.extend(["-object".into(), format!("memory-backend-file,id={name},mem-path={path},size={size},share=on")]);
        words.extend(["-device".into(), format!("ivshmem-plain,memdev={name},addr={:#x}", shared.slot)]);
    }
    words.extend(["-kernel".into(), kernel.display().to_string(), "-initrd".into(), initramfs.display().to_string()]);
    let own = format!("{KERNEL_ARGUMENTS} {}", machine.kernel_arguments);
    words.extend(["-append".into(), own.trim_end().to_owned()]);
    words.extend(machine.qemu_arguments.iter().cloned());
    words.extend(extras.words());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_the_documented_one() {
        let machine = VirtualMachine { kernel_arguments: "psi=0".into(), ..VirtualMachine::in_virtual_time("/k") };
        let line =
            arguments(&machine, Path::new("/k"), Path::new("/i"), Path::new("/s,x"), &Extras::default()).join(" ");
        let expected = "-name tardy,debug-threads=on -accel tcg,thread=single -machine pc -cpu qemu64 -smp 1 -nodefaults -no-user-config \
             -display none -monitor none -no-reboot -net none -rtc base=2020-01-01,clock=vm -seed 1 \
             -icount shift=0,align=off,sleep=off -m 1024 -chardev file,id=console,path=/s,,x/console \
             -serial chardev:console \
             -object memory-backend-file,id=stream,mem-path=/s,,x/stream,size=536870912,share=on \
             -device ivshmem-plain,memdev=stream,addr=0x10 \
             -object memory-backend-file,id=symbols,mem-path=/s,,x/symbols,size=16777216,share=on \
             -device ivshmem-plain,memdev=symbols,addr=0x11 -kernel /k -initrd /i -append console=ttyS0 quiet panic=-1 \
             nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=on tsc=reliable psi=0";
        assert_eq!(line, expected);
    }
}
