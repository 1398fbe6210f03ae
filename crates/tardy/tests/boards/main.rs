//! `tardy` against boards: a real OpenSSH server on loopback in front of a BusyBox system, and a console on a terminal.
//! If the machine cannot provide one, the tests say so and pass.

mod bench;
mod console;
mod dead_lines;
mod host;
mod labgrid;
mod places;
mod plans;
mod reboots;
mod serial;
mod server;
mod ssh;
mod watching;
