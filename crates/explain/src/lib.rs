//! Snapshot and late sample in, ledger and culprit out.
