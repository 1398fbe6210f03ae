//! Runs measurements on machines and writes their archives.
//!
//! [`run::run`] performs one measurement on a [`machines::Target`] and leaves an archive behind. It reports
//! [`event::Event`]s and prints nothing. Explaining and judging work on the archive and are not part of this crate.

pub mod conversation;
pub mod event;
pub mod facts;
pub mod plan;
pub mod problem;
pub mod restore;
pub mod roles;
pub mod run;
pub mod stimulus;
