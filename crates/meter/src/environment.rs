//! The fingerprint of this machine: what must be equal for two runs to be comparable.

pub(crate) mod task_stat;
