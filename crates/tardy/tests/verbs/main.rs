//! Runs the binary `tardy` against a fake meter and on saved archives.

mod audit;
mod audit_intercepted_live;
mod audit_live;
mod audit_preloaded_live;
mod audit_programs_live;
mod audit_storms_live;
mod bisect;
mod chains;
mod chains_live;
mod check;
mod check_live;
mod compare;
mod documents;
mod emulator;
#[cfg(feature = "lab")]
mod encrypted;
mod execution_map_live;
mod experiment;
mod explain_bound;
mod explain_diff;
mod export;
mod external;
mod flood;
mod functions;
mod gallery;
mod git_bisect;
mod guard_live;
mod guard_outputs_live;
mod history;
mod hostile;
mod judge;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "lab")]
mod lab_killed;
mod labgrid;
mod large;
mod live_view;
mod methods_listed_live;
mod methods_live;
mod own_code_live;
mod plan;
#[cfg(feature = "lab")]
mod publish;
#[cfg(feature = "lab")]
mod push;
mod recorded_twice_live;
mod results;
mod roles;
mod roles_cut_live;
mod roles_live;
mod run;
mod saved;
mod setup_live;
mod short;
mod stimulus_board;
mod storage_live;
mod target;
mod top_live;
mod tracing_cost;
mod tune;
mod tutorial;
mod virtual_archives;
mod virtual_compare;
mod virtual_replay;
mod virtual_verbs;
mod virtual_words;
mod watch;
mod watch_live;
mod watch_restarts_live;
mod watch_weeks_live;
mod widths;
