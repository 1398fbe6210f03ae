//! Runs QEMU with a firmware of a few bytes instead of a kernel: twenty times, it reads the clock, executes the marker
//! and writes the clock to the debug console. Needs `qemu-system-x86_64`; `make e2e` runs it.

use ftrace::flight_record::{FlightGap, FlightRecord};
use prerequisites::require;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;
const INSTRUCTIONS_OF_A_ROUND: u32 = 4 + 4 * 5 + 1 + 2 * 1000 + 2;
/// Address of the instruction after `rdtsc` when the firmware runs from the top of the address space.
const MARKER_ADDRESS: u64 = 0xffff_001f;

#[rustfmt::skip]
const FIRMWARE: [u8; 0x5e] = [
    0xfa,                                       //          cli
    0x2e, 0x66, 0x0f, 0x01, 0x16, 0x58, 0x00,   //          lgdt  cs:[gdtr]
    0x0f, 0x20, 0xc0,                           //          mov   eax, cr0
    0x0c, 0x01,                                 //          or    al, 1
    0x0f, 0x22, 0xc0,                           //          mov   cr0, eax
    0x66, 0xea, 0x18, 0x00, 0xff, 0xff, 0x08, 0x00, //      jmp   8:flat
    0xb9, ROUNDS as u8, 0x00, 0x00, 0x00,       // flat:    mov   ecx, ROUNDS
    0x0f, 0x31,                                 // round:   rdtsc
    0x0f, 0x1f, 0x80, b't', b'd', b'y', b'!',   //          nop   [eax + 'tdy!']
    0x89, 0xc3,                                 //          mov   ebx, eax
    0xbe, 0x04, 0x00, 0x00, 0x00,               //          mov   esi, 4
    0x88, 0xd8,                                 // byte:    mov   al, bl
    0xe6, 0xe9,                                 //          out   0xe9, al
    0xc1, 0xeb, 0x08,                           //          shr   ebx, 8
    0x4e,                                       //          dec   esi
    0x75, 0xf6,                                 //          jnz   byte
    0xbf, 0xe8, 0x03, 0x00, 0x00,               //          mov   edi, 1000
    0x4f,                                       // work:    dec   edi
    0x75, 0xfd,                                 //          jnz   work
    0x49,                                       //          dec   ecx
    0x75, 0xdb,                                 //          jnz   round
    0xe6, 0xf4,                                 //          out   0xf4, al
    0xf4,                                       //          hlt
    0x00, 0x00, 0x00,
    0, 0, 0, 0, 0, 0, 0, 0,                     // gdt:     the null descriptor
    0xff, 0xff, 0, 0, 0, 0x9a, 0xcf, 0,         //          code, 32 bits, all addresses
    15, 0, 0x48, 0x00, 0xff, 0xff,              // gdtr:    limit and address of gdt
];
/// The reset vector, which contains a jump to the first byte.
const RESET: usize = 0xfff0;
const JUMP: [u8; 3] = [0xe9, 0x0d, 0x00];

fn image() -> Vec<u8> {
    let mut image = vec![0; 0x1_0000];
    image[..FIRMWARE.len()].copy_from_slice(&FIRMWARE);
    image[RESET..RESET + JUMP.len()].copy_from_slice(&JUMP);
    image
}

/// The library that Cargo built for this test.
fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let built = test.ancestors().skip(1).take(2).map(|place| place.join("libflight_recorder.so"));
    built.into_iter().find(|path| path.exists()).expect("the plugin is built with its tests")
}

/// QEMU with the firmware, not yet started.
fn machine(directory: &Path, plugin: Option<&str>) -> Command {
    std::fs::write(directory.join("firmware"), image()).expect("a file");
    let line = "-accel tcg,thread=single -machine pc -cpu qemu64 -smp 1 -m 16 -nodefaults -no-user-config -display none \
         -monitor none -net none -icount shift=0,align=off,sleep=off -chardev file,id=said,path=said \
         -device isa-debugcon,iobase=0xe9,chardev=said -device isa-debug-exit,iobase=0xf4,iosize=4 -bios firmware";
    let mut command = Command::new("qemu-system-x86_64");
    command.current_dir(directory).args(line.split_whitespace());
    if let Some(plugin) = plugin {
        command.args(["-plugin", plugin]);
    }
    command
}

/// Runs the firmware to its end; returns QEMU's output.
fn run(directory: &Path, plugin: Option<&str>) -> Output {
    machine(directory, plugin).output().expect("QEMU runs")
}

fn clocks(directory: &Path) -> Vec<u32> {
    let said = std::fs::read(directory.join("said")).expect("QEMU made the file");
    said.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

#[test]
#[ignore = "starts QEMU"]
fn the_record_shows_what_ran_and_costs_the_guest_nothing() {
    require!(Program("qemu-system-x86_64"));
    let directory = tempfile::tempdir().expect("a directory");
    run(directory.path(), None);
    let alone = clocks(directory.path());
    assert_eq!(alone.len(), ROUNDS);
    assert!(alone.windows(2).all(|pair| pair[1] - pair[0] == INSTRUCTIONS_OF_A_ROUND), "{alone:?}");

    let arguments = format!("{},out=flight,at=7,at=3,at=99", plugin().display());
    let output = run(directory.path(), Some(&arguments));
    assert_eq!(clocks(directory.path()), alone, "the guest noticed its recorder");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(complaints.contains("no record 99: ") && complaints.contains(" 20 markers"), "{complaints}");

    let file = std::fs::read(directory.path().join("flight.7")).expect("a record");
    let record = FlightRecord::parse(&file);
    assert_eq!((record.marker, record.gaps.as_slice()), (7, &[] as &[FlightGap]));
    // The marker ends the record, so the code executed since the marker four rounds ago took four rounds.
    let mut executed = 0;
    let mut met_after = Vec::new();
    for block in record.blocks.iter().rev() {
        executed += block.instructions;
        if block.address == MARKER_ADDRESS {
            met_after.push(executed - 1);
        }
    }
    let expected: Vec<u32> = (0..8).map(|rounds| rounds * INSTRUCTIONS_OF_A_ROUND).collect();
    assert_eq!(met_after, expected);
    assert_eq!(FlightRecord::parse(&std::fs::read(directory.path().join("flight.3")).expect("a record")).marker, 3);
}

#[test]
#[ignore = "starts QEMU"]
fn a_full_ring_says_how_much_it_forgot() {
    require!(Program("qemu-system-x86_64"));
    let directory = tempfile::tempdir().expect("a directory");
    run(directory.path(), Some(&format!("{},out=flight,at=19,blocks=64", plugin().display())));
    let file = std::fs::read(directory.path().join("flight.19")).expect("a record");
    let record = FlightRecord::parse(&file);
    assert_eq!(record.blocks.len(), 64);
    assert!(matches!(record.gaps.as_slice(), [FlightGap::Forgotten(18_000..)]), "{:?}", record.gaps);
}

/// A QEMU process to be ended.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address of the next instruction, from the registers that QEMU's debugger interface returns.
fn next_instruction(socket: &Path) -> u64 {
    let mut line = UnixStream::connect(socket).expect("a debugger is let in");
    line.write_all(b"+$g#67").expect("it listens");
    loop {
        let (mut packet, mut byte) = (Vec::new(), [0]);
        while byte[0] != b'#' {
            line.read_exact(&mut byte).expect("it answers");
            packet.push(byte[0]);
        }
        let packet = String::from_utf8(packet).expect("text");
        let answer = packet.split('$').nth(1).expect("a packet");
        // It may first report that the machine has stopped.
        if !answer.starts_with('T') {
            return u64::from_str_radix(&answer[16 * 16..17 * 16], 16).expect("a number").swap_bytes();
        }
    }
}

#[test]
#[ignore = "starts QEMU"]
fn the_machine_stands_before_the_block_that_was_named() {
    require!(Program("qemu-system-x86_64"));
    let directory = tempfile::tempdir().expect("a directory");
    let plugin = plugin();
    run(directory.path(), Some(&format!("{},out=flight,at=19", plugin.display())));
    let record = FlightRecord::parse(&std::fs::read(directory.path().join("flight.19")).expect("a record"));
    // Only once the code runs in a segment with base 0.
    for stop in [10, 5000, record.blocks.len() - 3] {
        let arguments = format!("{},out=here,stop={stop}", plugin.display());
        let mut command = machine(directory.path(), Some(&arguments));
        command.args(["-gdb", "unix:gdb,server=on,wait=off"]);
        let mut machine = Machine(command.spawn().expect("QEMU starts"));
        let (stopped, begun) = (directory.path().join("here.stopped"), Instant::now());
        while !stopped.exists() {
            assert!(machine.0.try_wait().expect("a child").is_none(), "it ran to its end");
            assert!(begun.elapsed() < Duration::from_secs(60), "it never stopped");
            std::thread::sleep(Duration::from_millis(10));
        }
        let block = &record.blocks[stop];
        assert_eq!(next_instruction(&directory.path().join("gdb")), block.address, "stop={stop}");
        std::fs::remove_file(stopped).expect("a file");
    }
    let arguments = format!("{},out=here,stop=99000000", plugin.display());
    let output = run(directory.path(), Some(&arguments));
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(complaints.contains(" block 99000000: "), "{complaints}");
}

#[test]
#[ignore = "starts QEMU"]
fn qemu_ends_when_the_arguments_are_wrong() {
    require!(Program("qemu-system-x86_64"));
    let directory = tempfile::tempdir().expect("a directory");
    let output = run(directory.path(), Some(&format!("{},at=1", plugin().display())));
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && complaints.contains("out=PREFIX"), "{complaints}");
}
