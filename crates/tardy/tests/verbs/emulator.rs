//! A shell script as the emulator: it writes at once what a machine in virtual time would report at its end. This tests
//! everything that the host does with such a machine without booting one.

use crate::virtual_archives::bench_of_seeds;
use fixtures::fake_meter::Bench;
use fixtures::repository::repository_path;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Index of the byte count in the guest's shared memories, in words of that size.
const STREAM_WRITTEN_AT: u64 = (512 << 20) / 8 - 1;
const SYMBOLS_WRITTEN_AT: u64 = (16 << 20) / 8 - 1;
/// Source of the record of any wake-up.
const RECORD: &str = "preempt-off";
/// Position of the wake-up's number in it.
const MARKER: std::ops::Range<usize> = 16..24;
/// A wake-up to record.
pub const RECORDED: u64 = 7;

/// Writes to `emulators` that it ran, and its task; hangs if `hang` matches the task.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ "$*" != --version ] || { echo "an emulator of a test"; exit; }
for word; do
  case $word in
    memory-backend-file,id=stream,*) stream=${word#*mem-path=}; stream=${stream%,size=*} ;;
    memory-backend-file,id=symbols,*) symbols=${word#*mem-path=}; symbols=${symbols%,size=*} ;;
    *,out=*,at=*) prefix=${word#*,out=}; prefix=${prefix%%,*}; at=${word#*,at=}; at=${at%%,*} ;;
  esac
  case $before in
    -initrd) initramfs=$word ;;
    -append) kernel=${word##* } ;;
  esac
  before=$word
done
asked="$* $(grep -ao '"symbols":true' "$initramfs")"
echo "$$ $asked" >> "$here/emulators"
[ ! -e "$here/hang" ] || case $asked in *$(cat "$here/hang")*) exec sleep 1000 ;; esac
case $asked in *-plugin*) if [ -e "$here/no-plugins" ]; then echo "qemu: -plugin x: invalid option" >&2; exit 1; fi ;; esac
seed=$(grep -ao '"dither_seed":[0-9]*' "$initramfs" | head -n 1)
said=$here/$kernel-${seed#*:}
[ -e "$said" ] || said=$here/old-1
send() { dd if="$1" of="$2" conv=notrunc status=none; dd if="$1.bytes" of="$2" bs=8 seek="$3" conv=notrunc status=none; }
send "$said" "$stream" STREAM_WRITTEN_AT
case $asked in *'"symbols":true'*) send "$here/functions" "$symbols" SYMBOLS_WRITTEN_AT ;; esac
[ -n "$prefix" ] || exit 0
cp "$here/record" "$prefix.$at"
printf "$(printf '\\%o\\%o' $((at % 256)) $((at / 256)))" | dd of="$prefix.$at" bs=1 seek=MARKER_AT conv=notrunc status=none
"#;

/// A bench with the targets `old` and `new` in virtual time, with two kernels; the second is later.
pub fn laboratory() -> Bench {
    let bench = bench_of_seeds();
    let corpus = repository_path("corpus/flight-records").join(RECORD);
    let mut record = fs::read(corpus.join("record.bin")).unwrap();
    record[MARKER].fill(0);
    fs::write(bench.path("record"), record).unwrap();
    let functions = fs::read(corpus.join("symbols.txt")).unwrap();
    fs::write(bench.path("functions"), &functions).unwrap();
    fs::write(bench.path("functions.bytes"), (functions.len() as u64).to_le_bytes()).unwrap();
    for (name, _) in crate::virtual_archives::KERNELS {
        for seed in crate::virtual_archives::SEEDS {
            let bytes = fs::metadata(bench.path(&format!("{name}-{seed}"))).unwrap().len();
            fs::write(bench.path(&format!("{name}-{seed}.bytes")), bytes.to_le_bytes()).unwrap();
        }
    }
    let script = SCRIPT
        .replace("STREAM_WRITTEN_AT", &STREAM_WRITTEN_AT.to_string())
        .replace("SYMBOLS_WRITTEN_AT", &SYMBOLS_WRITTEN_AT.to_string())
        .replace("MARKER_AT", &MARKER.start.to_string());
    program(&bench.path("qemu"), &script);
    // Only the header of an image is read: an ELF file of 64 bits for x86-64.
    let mut image = vec![0; 64];
    image[..6].copy_from_slice(b"\x7fELF\x02\x01");
    image[18] = 62;
    fs::write(bench.path("vmlinux"), image).unwrap();
    fs::create_dir(bench.path("targets")).unwrap();
    for (name, _) in crate::virtual_archives::KERNELS {
        let file = format!(
            "backend = \"virtual\"\nkernel = {:?}\nqemu = {:?}\ncpus = 1\nkernel_arguments = \"{name}\"\n",
            bench.path("vmlinux"),
            bench.path("qemu")
        );
        fs::write(bench.path(&format!("targets/{name}.toml")), file).unwrap();
    }
    bench
}

/// An executable file.
pub fn program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// `tardy` with the bench's own cache and recorder; the script ignores the contents of the recorder.
pub fn tardy(bench: &Bench, words: &[&str]) -> Command {
    let mut command = bench.tardy(words);
    command.env("XDG_CACHE_HOME", bench.path("cache")).env("TARDY_FLIGHT_RECORDER", bench.path("record"));
    command
}

/// Process ids and commands of the emulators so far, in order.
pub fn emulators(bench: &Bench) -> Vec<(i32, String)> {
    let text = fs::read_to_string(bench.path("emulators")).unwrap_or_default();
    let line = |line: &str| {
        let (pid, asked) = line.split_once(' ')?;
        Some((pid.parse().ok()?, asked.to_owned()))
    };
    // The last line may be incomplete.
    text.lines().filter_map(line).collect()
}
