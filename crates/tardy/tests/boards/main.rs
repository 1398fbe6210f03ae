//! `tardy` against boards: a real OpenSSH server on loopback, behind which there is nothing but BusyBox, and a console
//! behind a terminal. Where the machine cannot make one, the tests say so and pass.

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
