//! Our cyclictest beside that of rt-tests, and in the hands of those who read its output.

mod differential;
mod documented;
mod faults;
mod plot;
mod programs;
mod readers;
mod shape;
mod stopped;
