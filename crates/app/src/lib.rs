//! The host command line: run, explain, report, restore.
