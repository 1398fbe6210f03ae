//! The meter as the first process of a machine in virtual time, where each executed instruction is a nanosecond.
//!
//! The emulator makes time a property of the code, as long as nothing the guest sees depends on the host's. So the guest
//! hears nothing: what it is to do lies in its initial file system. It measures as on any machine; what the meter writes
//! goes to memory that is a file of the host's. [`crate::kernel::wake_up_mark`] tells the emulator's flight recorder where the wake-ups are.

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

/// What this machine is to do in virtual time, if that is what it is for.
///
/// # Errors
/// [`VirtualTimeError`], when the plan is there and cannot be understood.
pub fn plan() -> Result<Option<VirtualTimePlan>, VirtualTimeError> {
    let path = Path::new("/").join(VIRTUAL_TIME_FILE);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(VirtualTimeError::ReadPlan { path, error }),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| VirtualTimeError::Plan { path, error })
}

/// Carries the plan out, from the instant it names to the last byte of the stream.
///
/// # Errors
/// [`VirtualTimeError`], when the meter could not be run or the machine shares no memory with its host.
pub fn run(plan: &VirtualTimePlan) -> Result<(), VirtualTimeError> {
    // The fingerprint names the machine; a machine without a name is as good.
    let _ = std::fs::write("/proc/sys/kernel/hostname", &plan.hostname);
    // Mapping takes the kernel a while that differs from kernel to kernel, so it is done before the instant.
    let stream = SharedMemory::open(STREAM_PCI_SLOT)?;
    clock::sleep_until_ns(plan.start_ns);
    let mut child = Command::new(Path::new("/").join(METER))
        .arg("measure")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(VirtualTimeError::StartMeter)?;
    // The end of its input would tell the meter that its host has gone.
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
