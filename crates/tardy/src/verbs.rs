//! The verbs of `tardy`, one file or folder each. No verb knows another one.

pub mod baseline;
pub mod bisect;
pub mod check;
pub mod collect;
pub mod compare;
pub mod completions;
pub mod cyclictest;
pub mod experiment;
pub mod explain;
pub mod export;
pub mod history;
pub mod import;
pub mod judge;
pub mod list;
pub mod load;
pub mod man;
pub mod observe;
pub mod plan;
pub mod record;
pub mod replay;
pub mod report;
pub mod restore;
pub mod run;
pub mod target;
pub mod verify;
pub mod watch;
