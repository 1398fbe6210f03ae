//! The static target binary: measure, load, trace, snapshot.
