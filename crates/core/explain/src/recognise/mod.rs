//! Known causes, recognised in the account of a wake-up.

pub mod case;
pub mod controls;
pub mod culprits;
pub mod evidence;
pub mod functions;
