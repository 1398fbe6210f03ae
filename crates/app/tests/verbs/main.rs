//! Runs the binary `tardy` against a fake meter and on saved archives.

mod compare;
mod experiment;
mod export;
mod fake_meter;
mod functions;
mod judge;
mod observe;
mod perfetto_reader;
mod plan;
mod run;
mod saved;
mod target;
mod watch;
mod watch_live;
