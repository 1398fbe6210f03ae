//! Runs the binary `tardy` against a fake meter and on saved archives.

mod fake_meter;
mod run;
mod saved;
mod target;
