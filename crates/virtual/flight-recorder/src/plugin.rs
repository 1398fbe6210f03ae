//! Functions that QEMU calls: once at the start, for each translated block, and for each executed block and marker.

use crate::arguments::{ArgumentError, Arguments};
use crate::block::packed;
use crate::code::{BlockCode, Code};
use crate::marker::{is_halt, is_marker};
use crate::qemu::{self, Block, Info, NO_REGISTERS, PluginId};
use crate::record;
use crate::ring::Ring;
use crate::stop::{self, NoStop, StopMachine};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The version of QEMU's interface. QEMU reads it before anything else.
#[unsafe(no_mangle)]
#[used]
pub static qemu_plugin_version: c_int = 1;

struct Recorder {
    ring: Ring,
    arguments: Arguments,
    /// Markers executed so far.
    markers: AtomicU64,
    /// Only the thread that executes the guest translates, too, so the lock is never contended.
    code: Mutex<Code>,
    /// How to stop the machine, if requested.
    stop_machine: Option<StopMachine>,
    /// Number of executed blocks after which to stop; `u64::MAX` if not requested.
    stop_after: u64,
}

static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Sets up the recorder. QEMU exits if the result is not 0.
///
/// # Safety
/// Must be called by QEMU: `info` points to its description, `words` to `count` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    info: *const Info,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    // SAFETY: what QEMU passes lives for the length of the call.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let words = (0..count as usize).map(|at| unsafe { CStr::from_ptr(*words.add(at)) });
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    match set_up(info, &words) {
        Ok(recorder) => {
            // QEMU calls this once for a loaded library; a second call would not replace the first one's arguments.
            let _ = RECORDER.set(recorder);
            // SAFETY: the identity is the one QEMU gave, and the callbacks live as long as the library.
            unsafe {
                qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
                qemu::qemu_plugin_register_atexit_cb(id, on_exit, null_mut());
            }
            0
        }
        Err(why) => {
            complain(&why.to_string());
            -1
        }
    }
}

/// Why nothing is recorded.
enum SetUpError {
    Argument(ArgumentError),
    Processors,
    Stop(NoStop),
}

impl fmt::Display for SetUpError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(error) => error.fmt(out),
            Self::Processors => out.write_str("it records machines with one processor; use -smp 1"),
            Self::Stop(error) => error.fmt(out),
        }
    }
}

fn set_up(info: &Info, words: &[String]) -> Result<Recorder, SetUpError> {
    let arguments = Arguments::parse(words.iter().map(String::as_str)).map_err(SetUpError::Argument)?;
    if !info.system_emulation || info.processors != 1 {
        return Err(SetUpError::Processors);
    }
    let stop_machine = arguments.stop.map(|_| stop::find()).transpose().map_err(SetUpError::Stop)?;
    Ok(Recorder {
        stop_machine,
        stop_after: arguments.stop.unwrap_or(u64::MAX),
        ring: Ring::with_capacity(arguments.blocks),
        arguments,
        markers: AtomicU64::new(0),
        code: Mutex::default(),
    })
}

fn complain(why: &str) {
    eprintln!("tardy flight recorder: {why}");
}

extern "C" fn on_translation(_: PluginId, block: *mut Block) {
    // SAFETY: QEMU lends the block for the length of the call; its instructions are numbered from 0.
    let (address, count) = unsafe { (qemu::qemu_plugin_tb_vaddr(block), qemu::qemu_plugin_tb_n_insns(block)) };
    let mut halts = false;
    let mut code = BlockCode { lengths: Vec::with_capacity(count), bytes: Vec::new() };
    for at in 0..count {
        // SAFETY: as above; an instruction is as long as QEMU says, and its bytes stay until the call ends.
        let (instruction, bytes) = unsafe {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, at);
            let length = qemu::qemu_plugin_insn_size(instruction);
            let data = qemu::qemu_plugin_insn_data(instruction).cast::<u8>();
            (instruction, std::slice::from_raw_parts(data, length))
        };
        halts = is_halt(bytes);
        code.lengths.push(bytes.len() as u8);
        code.bytes.extend(bytes);
        if is_marker(bytes) {
            let executed = at + 1;
            // SAFETY: the instruction is one of the lent block; the datum is a number, not an address.
            unsafe {
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(
                    instruction,
                    on_marker,
                    NO_REGISTERS,
                    executed as *mut c_void,
                );
            }
        }
    }
    if let Some(recorder) = RECORDER.get() {
        recorder.code.lock().unwrap_or_else(PoisonError::into_inner).remember(address, code);
    }
    let word = packed(address, count, halts);
    // SAFETY: as above.
    unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, on_execution, NO_REGISTERS, word as *mut c_void) };
}

extern "C" fn on_execution(_: c_uint, word: *mut c_void) {
    if let Some(recorder) = RECORDER.get() {
        recorder.ring.push(word as u64);
        if recorder.ring.pushed() == recorder.stop_after {
            recorder.stop();
        }
    }
}

impl Recorder {
    /// Stops the machine after the current block, and reports it.
    #[cold]
    fn stop(&self) {
        let Some(stop_machine) = &self.stop_machine else { return };
        stop_machine.stop();
        let path = self.arguments.stopped();
        if let Err(error) = File::create(&path) {
            complain(&format!("failed to make {}: {error}", path.display()));
        }
    }
}

extern "C" fn on_marker(_: c_uint, executed: *mut c_void) {
    let Some(recorder) = RECORDER.get() else { return };
    let number = recorder.markers.load(Relaxed);
    recorder.markers.store(number + 1, Relaxed);
    if recorder.arguments.at.binary_search(&number).is_err() {
        return;
    }
    let path = recorder.arguments.path(number);
    let code = recorder.code.lock().unwrap_or_else(PoisonError::into_inner);
    let written = File::create(&path)
        .and_then(|file| record::write(&recorder.ring, &code, number, executed as usize as u32, BufWriter::new(file)));
    if let Err(error) = written {
        complain(&format!("failed to write {}: {error}", path.display()));
    }
}

/// Reports a requested record that was never written.
extern "C" fn on_exit(_: PluginId, _: *mut c_void) {
    let Some(recorder) = RECORDER.get() else { return };
    let met = recorder.markers.load(Relaxed);
    for number in recorder.arguments.at.iter().filter(|number| **number >= met) {
        complain(&format!("there is no record {number}: the guest executed {met} markers"));
    }
    let executed = recorder.ring.pushed();
    if let Some(stop) = recorder.arguments.stop.filter(|stop| *stop > executed) {
        complain(&format!("the guest was not stopped at block {stop}: it executed {executed}"));
    }
}
