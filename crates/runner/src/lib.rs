//! Targets in, finished archives out.
//!
//! [`run::run`] takes a [`target::Target`] through one measurement and leaves an archive behind. It tells what happens as
//! [`event::Event`]s and prints nothing. It explains and judges nothing either: that is done on the archive.

pub mod architecture;
pub mod conversation;
pub mod event;
pub mod facts;
pub mod meter;
pub mod plan;
pub mod recorder;
pub mod restore;
pub mod run;
pub mod stop;
pub mod target;
