//! Runs the binary `tardy` against a fake meter and on saved archives.

mod bisect;
mod check;
mod check_live;
mod compare;
mod experiment;
mod explain_diff;
mod export;
mod fake_meter;
mod functions;
mod history;
mod judge;
mod labgrid;
mod observe;
mod perfetto_reader;
mod plan;
mod results;
mod run;
mod saved;
mod target;
mod virtual_archives;
mod virtual_compare;
mod virtual_words;
mod watch;
mod watch_live;
