//! The meter as the first process of a machine in virtual time, where each executed instruction is a nanosecond.
//!
//! The emulator derives time from the executed code, as long as nothing visible to the guest depends on the host's
//! time. So the guest receives nothing: its plan is in the initial file system. It measures as on any machine; the
//! meter's output goes to memory that is a file of the host. [`crate::kernel::wake_up_mark`] marks the wake-ups for the
//! emulator's flight recorder.

mod error;
mod symbols;

use crate::kernel::clock;
use crate::kernel::shared_memory::SharedMemory;
pub use error::VirtualTimeError;
use protocol::guest::{METER, STREAM_PCI_SLOT, SYMBOLS_PCI_SLOT, VIRTUAL_TIME_FILE, VirtualTimePlan};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

const RELAY_BYTES: usize = 32 << 10;

/// The plan of this machine, if it runs in virtual time.
///
/// # Errors
/// [`VirtualTimeError`] if there is a plan but it is invalid.
pub fn plan() -> Result<Option<VirtualTimePlan>, VirtualTimeError> {
    let path = Path::new("/").join(VIRTUAL_TIME_FILE);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(VirtualTimeError::ReadPlan { path, error }),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| VirtualTimeError::Plan { path, error })
}

/// Executes the plan, from its start instant to the last byte of the stream.
///
/// # Errors
/// [`VirtualTimeError`] if the meter could not be run or the machine shares no memory with its host.
pub fn run(plan: &VirtualTimePlan) -> Result<(), VirtualTimeError> {
    // The host name is part of the fingerprint; a machine without one is acceptable.
    let _ = std::fs::write("/proc/sys/kernel/hostname", &plan.hostname);
    // The time for mapping depends on the kernel, so this precedes the start instant.
    let stream = SharedMemory::open(STREAM_PCI_SLOT)?;
    clock::sleep_until_ns(plan.start_ns);
    let mut child = Command::new(Path::new("/").join(METER))
        .arg("measure")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(VirtualTimeError::StartMeter)?;
    // The end of its input would look to the meter like the loss of its host.
    let mut input = child.stdin.take();
    let output = child.stdout.take();
    let mut line = serde_json::to_vec(&plan.settings).expect("settings have only string keys");
    line.push(b'\n');
    if let Some(input) = &mut input {
        input.write_all(&line).map_err(VirtualTimeError::SendSettings)?;
    }
    if let Some(output) = output {
        relay(output, stream).map_err(VirtualTimeError::PassStream)?;
    }
    child.wait().map_err(VirtualTimeError::AwaitMeter)?;
    drop(input);
    if plan.symbols {
        symbols::send(SharedMemory::open(SYMBOLS_PCI_SLOT)?).map_err(VirtualTimeError::SendSymbols)?;
    }
    Ok(())
}

fn relay(mut from: ChildStdout, mut to: SharedMemory) -> io::Result<()> {
    let mut buffer = vec![0; RELAY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
