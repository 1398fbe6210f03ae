//! The first hour of a new user on this machine, with the real meter: commands, their output and their exit codes.
//! `make test` runs what needs no download, `make e2e-first-hour` all of it.

mod desk;
mod examples;
mod mistakes;
mod other_tools;
mod plans;
mod runs;
mod virtual_machine;
mod worked;
