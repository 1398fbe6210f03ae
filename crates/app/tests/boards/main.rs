//! `tardy` against boards: a real OpenSSH server on loopback, behind which there is nothing but BusyBox. Where the machine
//! cannot make one, the tests say so and pass.

mod bench;
mod dead_lines;
mod labgrid;
mod places;
mod plans;
mod reboots;
mod server;
mod ssh;
