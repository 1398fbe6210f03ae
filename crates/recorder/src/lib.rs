//! The flight recorder of virtual time: a plugin for QEMU that remembers which blocks of code the guest executed last.
//!
//! Nothing of it is in the guest, so a run with the recorder is, to the nanosecond, the run without it. The guest's meter
//! executes a [`marker`] at every wake-up it counts; at the ones asked for in the [`arguments`] the [`ring`] of blocks is
//! written to a [`record`], with the [`code`] they consist of.
//!
//! QEMU finds the functions it calls in [`plugin`]; what it offers is declared in [`qemu`]. Both are left out of unit
//! tests, which are programs of their own and run without QEMU.

#[cfg_attr(test, allow(dead_code))]
mod arguments;
mod block;
#[cfg_attr(test, allow(dead_code))]
mod code;
#[cfg_attr(test, allow(dead_code))]
mod marker;
#[cfg(not(test))]
mod plugin;
#[cfg(not(test))]
mod qemu;
mod record;
mod ring;
#[cfg(not(test))]
mod stop;
