//! The part of gdb's remote protocol that reading a processor's registers needs.
//!
//! A packet is `$`, data, `#` and two hexadecimal digits, the sum of the data's bytes; `+` acknowledges one.
//! <https://sourceware.org/gdb/current/onlinedocs/gdb.html/Remote-Protocol.html>

use super::error::DebuggerError;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);
const PACKET_BYTES_MAX: usize = 1 << 16;
/// In the order of the packet `g` of x86-64, 8 bytes each, followed by the flags with 4 bytes.
const NAMES: [&str; 17] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
];

/// The registers of a processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registers {
    /// Name and value of each, in the processor's order.
    pub general: Vec<(&'static str, u64)>,
    pub flags: u32,
}

impl Registers {
    /// Address of the next instruction.
    pub fn next(&self) -> Option<u64> {
        self.general.iter().find(|(name, _)| *name == "rip").map(|(_, value)| *value)
    }

    /// Whether interrupts are enabled.
    pub fn takes_interrupts(&self) -> bool {
        const INTERRUPT: u32 = 1 << 9;
        self.flags & INTERRUPT != 0
    }
}

/// Reads the registers, and disconnects without resuming the machine.
///
/// # Errors
/// [`DebuggerError`].
pub fn registers(socket: &Path) -> Result<Registers, DebuggerError> {
    let answer = asked(socket, "g")?;
    read(&answer).ok_or(DebuggerError::Registers { answer })
}

/// Without this, a debugger that single-steps sees no interrupts, and time does not advance.
///
/// # Errors
/// [`DebuggerError`].
pub fn step_as_it_happened(socket: &Path) -> Result<(), DebuggerError> {
    let answer = asked(socket, "Qqemu.sstep=1")?;
    if answer == "OK" { Ok(()) } else { Err(DebuggerError::Steps { answer }) }
}

/// Connecting stops a running machine; a stopped one stays stopped.
fn asked(socket: &Path, question: &str) -> std::io::Result<String> {
    let mut line = UnixStream::connect(socket)?;
    let limit = Some(ANSWER_LIMIT);
    line.set_read_timeout(limit)?;
    line.set_write_timeout(limit)?;
    line.write_all(&packet(question))?;
    loop {
        let answer = answer(&mut line)?;
        // If the machine was about to stop, a message about the stop comes first.
        if !answer.starts_with(['T', 'S']) {
            return Ok(answer);
        }
    }
}

fn packet(data: &str) -> Vec<u8> {
    let sum = data.bytes().fold(0_u8, u8::wrapping_add);
    format!("+${data}#{sum:02x}").into_bytes()
}

/// Reads the data of the next packet and acknowledges it.
fn answer(line: &mut (impl Read + Write)) -> std::io::Result<String> {
    let mut data: Option<Vec<u8>> = None;
    let mut one = [0];
    loop {
        line.read_exact(&mut one)?;
        match (one[0], &mut data) {
            (b'$', _) => data = Some(Vec::new()),
            (b'#', Some(whole)) => {
                line.read_exact(&mut [0; 2])?;
                line.write_all(b"+")?;
                return Ok(String::from_utf8_lossy(whole).into_owned());
            }
            (byte, Some(whole)) if whole.len() < PACKET_BYTES_MAX => whole.push(byte),
            (_, Some(_)) => return Err(std::io::ErrorKind::InvalidData.into()),
            (_, None) => {}
        }
    }
}

fn read(answer: &str) -> Option<Registers> {
    let digits = answer.as_bytes();
    let number = |at: usize, size: usize| {
        let bytes = digits.get(2 * at..2 * (at + size))?.chunks_exact(2);
        bytes.rev().try_fold(0_u64, |value, pair| {
            Some(value << 8 | u64::from(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?))
        })
    };
    let general: Option<Vec<_>> = (0..).zip(NAMES).map(|(at, name)| Some((name, number(8 * at, 8)?))).collect();
    Some(Registers { general: general?, flags: number(8 * NAMES.len(), 4)? as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::Shutdown;
    use std::os::unix::net::UnixListener;
    use std::thread;

    /// Answers one packet.
    fn answered(bytes: &'static [u8]) -> Result<Registers, DebuggerError> {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("gdb");
        let listener = UnixListener::bind(&socket).unwrap();
        let host = thread::spawn(move || {
            let (mut line, _) = listener.accept().unwrap();
            let mut question = [0; 6];
            line.read_exact(&mut question).unwrap();
            line.write_all(bytes).unwrap();
            line.shutdown(Shutdown::Write).unwrap();
            // Acknowledgements are read, so that none is refused.
            let _ = line.read_to_end(&mut Vec::new());
            question
        });
        let registers = registers(&socket);
        assert_eq!(&host.join().unwrap(), b"+$g#67");
        registers
    }

    #[test]
    fn the_registers_are_read_and_what_is_none_is_said() {
        let mut packet = String::from("+$");
        for number in 0..17_u64 {
            let bytes = (0xffff_ffff_8100_0000 + number).to_le_bytes();
            packet.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
        }
        packet.insert_str(0, "+$T02thread:01;#07");
        packet.push_str("46020000#00");
        let registers = answered(packet.leak().as_bytes()).unwrap();
        assert_eq!((registers.next(), registers.flags), (Some(0xffff_ffff_8100_0010), 0x246));
        assert!(registers.takes_interrupts());
        assert!(matches!(answered(b"+$E01#a6"), Err(DebuggerError::Registers { answer }) if answer == "E01"));
        assert!(answered(b"+$0000").is_err(), "the other end goes");
    }

    proptest! {
        #[test]
        fn any_answer_is_registers_or_none(answer in ".{0,400}") {
            let _ = read(&answer);
        }
    }
}
