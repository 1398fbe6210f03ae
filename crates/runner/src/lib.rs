//! Machines in, finished archives out.
//!
//! [`run::run`] takes a [`machines::Target`] through one measurement and leaves an archive behind. It reports what happens
//! as [`event::Event`]s and prints nothing. It explains and judges nothing either: that is done on the archive.

pub mod conversation;
pub mod event;
pub mod facts;
pub mod plan;
pub mod problem;
pub mod restore;
pub mod run;
