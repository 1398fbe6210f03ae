//! Runs the binary `tardy` against a fake meter and on saved archives.

mod fake_meter;
mod observe;
mod run;
mod saved;
mod target;
