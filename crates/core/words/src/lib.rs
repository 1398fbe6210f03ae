//! Formats figures, instants, errors and the archive's terms for users, the same in sentences, on terminals and on pages; and reads
//! times that users write.

#![deny(clippy::disallowed_methods)]

pub mod address;
pub mod amounts;
pub mod calendar;
pub mod causes;
pub mod chain;
pub mod claims;
pub mod culprits;
pub mod elsewhere;
pub mod evidence;
pub mod explanation;
pub mod figures;
pub mod guarding;
pub mod holders;
pub mod mark;
pub mod new_cause;
pub mod observation;
pub mod own_code;
pub mod printable;
pub mod run_causes;
pub mod saved;
pub mod sentence;
pub mod setup;
pub mod shell;
pub mod spikes;
pub mod time;
pub mod top;
pub mod trace_event;
pub mod vocabulary;
pub mod voice;
