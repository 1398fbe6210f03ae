//! The first hour of a new user on this machine, with the real meter: what is typed, what is printed, which code it ends
//! with. `make e2e-first-hour` runs it.

mod desk;
mod examples;
mod mistakes;
mod runs;
