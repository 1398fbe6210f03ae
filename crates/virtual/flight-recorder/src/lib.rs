//! The flight recorder of virtual time: a QEMU plugin that remembers the blocks of code that the guest executed last.
//!
//! It runs entirely outside the guest, so a run with the recorder is identical to one without it, to the nanosecond.
//! The guest's meter executes a [`marker`] at every wake-up it counts; at those selected by the [`arguments`] the
//! [`ring`] of blocks is written to a [`record`], with their [`code`].
//!
//! [`plugin`] defines the functions that QEMU calls, and [`qemu`] declares its interface. Both are excluded from unit
//! tests, which run without QEMU.

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
