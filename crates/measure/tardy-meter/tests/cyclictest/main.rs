//! This project's cyclictest compared with that of rt-tests, and with parsers of its output.

mod differential;
mod documented;
mod faults;
mod plot;
mod programs;
mod readers;
mod shape;
mod stopped;
