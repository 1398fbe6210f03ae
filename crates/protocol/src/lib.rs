//! The line between the host and a machine: what each side sends, and how it gets through.
//!
//! The messages of a run travel in the frames of [`archive::frame`], which are also what lies on disk. This crate holds
//! what exists only while the line does: [`relay`] passes frames on unread, [`console`] carries questions and answers past
//! what a kernel prints on the same line, and [`guest`] is the vocabulary of a virtual machine and its host.

pub mod console;
pub mod guest;
pub mod relay;
