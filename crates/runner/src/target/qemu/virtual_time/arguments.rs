//! QEMU's command line for virtual time: nothing in it may let the host's time reach the guest.

use super::super::file::VirtualMachine;
use archive::guest::{STREAM_IO_PORT, SYMBOLS_IO_PORT};
use std::path::Path;

/// Files of the scratch directory that QEMU writes.
pub const CONSOLE_FILE: &str = "console";
pub const STREAM_FILE: &str = "stream";
pub const SYMBOLS_FILE: &str = "symbols";

/// What would differ from boot to boot, and clocks whose reading costs less than it would here.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 nokaslr norandmaps random.trust_cpu=off \
                                random.trust_bootloader=on tsc=reliable";

/// The words after the program's name.
pub fn arguments(machine: &VirtualMachine, kernel: &Path, initramfs: &Path, scratch: &Path) -> Vec<String> {
    let file =
        |name: &str| format!("file,id={name},path={}", scratch.join(name).display().to_string().replace(',', ",,"));
    let mut words: Vec<String> = [
        "-name",
        "tardy",
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
    words.extend(["-chardev".into(), file(CONSOLE_FILE), "-serial".into(), format!("chardev:{CONSOLE_FILE}")]);
    for (name, port) in [(STREAM_FILE, STREAM_IO_PORT), (SYMBOLS_FILE, SYMBOLS_IO_PORT)] {
        words.extend(["-chardev".into(), file(name)]);
        words.extend(["-device".into(), format!("isa-debugcon,iobase={port:#x},chardev={name}")]);
    }
    words.extend(["-kernel".into(), kernel.display().to_string(), "-initrd".into(), initramfs.display().to_string()]);
    let own = format!("{KERNEL_ARGUMENTS} {}", machine.kernel_arguments);
    words.extend(["-append".into(), own.trim_end().to_owned()]);
    words.extend(machine.qemu_arguments.iter().cloned());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_the_documented_one() {
        let machine = VirtualMachine { kernel_arguments: "psi=0".into(), ..VirtualMachine::in_virtual_time("/k") };
        let line = arguments(&machine, Path::new("/k"), Path::new("/i"), Path::new("/s,x")).join(" ");
        let expected = "-name tardy -accel tcg,thread=single -machine pc -cpu qemu64 -smp 1 -nodefaults -no-user-config \
             -display none -monitor none -no-reboot -net none -rtc base=2020-01-01,clock=vm -seed 1 \
             -icount shift=0,align=off,sleep=off -m 1024 -chardev file,id=console,path=/s,,x/console \
             -serial chardev:console -chardev file,id=stream,path=/s,,x/stream \
             -device isa-debugcon,iobase=0xe9,chardev=stream -chardev file,id=symbols,path=/s,,x/symbols \
             -device isa-debugcon,iobase=0xea,chardev=symbols -kernel /k -initrd /i -append console=ttyS0 quiet panic=-1 \
             nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=on tsc=reliable psi=0";
        assert_eq!(line, expected);
    }
}
