//! A trace of the kernel that always runs, and snapshots of it around spikes while the measurement goes on.
//!
//! [`snapshotter`] knows the ways in which a kernel can hand over a stretch of its past; [`capture`] is the thread that
//! waits for spikes and copies; [`stitch`] makes one past of two buffers; [`past`] says what a copy proves; [`assemble`]
//! makes a file of what was copied; [`retention`] decides which snapshots stay.

pub mod announced_until;
pub mod assemble;
pub mod both_buffers;
pub mod capture;
pub mod capturing;
pub mod error;
pub mod events;
pub mod flip;
pub mod kernel_swap;
pub mod maxima;
pub mod past;
pub mod retention;
pub mod snapshotter;
pub mod stitch;
mod swap_notifications;
mod wakeup;
