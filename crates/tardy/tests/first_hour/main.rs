//! The first hour of a new user on this machine, with the real meter: commands, their output and their exit codes.
//! `make e2e-first-hour` runs it.

mod desk;
mod examples;
mod mistakes;
mod runs;
mod virtual_machine;
mod worked;
