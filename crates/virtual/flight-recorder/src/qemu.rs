//! QEMU's plugin interface, version 1: QEMU 6.0 to 8.2.
//!
//! Declared here because Debian does not package the header. Names and types are those of QEMU's `qemu-plugin.h`; QEMU
//! rejects a plugin with an unsupported version.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub type PluginId = u64;

/// A block of guest code during its translation.
#[repr(C)]
pub struct Block {
    opaque: [u8; 0],
}

/// An instruction of such a block.
#[repr(C)]
pub struct Instruction {
    opaque: [u8; 0],
}

/// The kind of QEMU that loads the plugin.
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
    pub version_min: c_int,
    pub version_now: c_int,
    /// Whether a whole machine is emulated, not a single program.
    pub system_emulation: bool,
    /// Valid if a whole machine is emulated.
    pub processors: c_int,
    pub processors_max: c_int,
}

/// The callback reads and writes no guest register.
pub const NO_REGISTERS: c_int = 0;
unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: PluginId, callback: extern "C" fn(PluginId, *mut Block));
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: extern "C" fn(c_uint, *mut c_void),
        registers: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, *mut c_void),
        registers: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_atexit_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut c_void),
        data: *mut c_void,
    );
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, at: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const c_void;
    pub fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    /// From the C library; QEMU uses it to find `qemu_plugin_install`.
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}
