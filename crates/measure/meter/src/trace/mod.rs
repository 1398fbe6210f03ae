//! A kernel trace that always runs, and snapshots of it around spikes during the measurement.
//!
//! A [`snapshotter`] is a way in which a kernel can provide a stretch of its past, and [`arming`] chooses one; [`capture`] is the
//! thread that waits for spikes and copies; [`stitch`] combines two buffers into one past;
//! `earlier` keeps the end of one copy for the next; [`past`] determines what a copy
//! proves; [`assemble`] makes a file from the copies; [`retention`] decides which snapshots are kept. [`stacks`] samples what watched
//! threads do themselves.

pub mod announced_until;
pub mod arming;
pub mod assemble;
pub mod both_buffers;
pub mod capture;
pub mod capturing;
mod doorbell;
mod earlier;
pub mod error;
pub mod events;
pub mod flip;
pub mod held_tracing;
pub mod kernel_swap;
pub mod late_interrupts;
pub mod live;
pub mod maxima;
pub mod past;
pub mod retention;
pub mod share;
pub mod snapshotter;
pub mod stacks;
pub mod stitch;
pub mod streamed;
mod swap_notifications;
mod wakeup;
