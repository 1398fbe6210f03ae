//! Whole traces in, explanations out: the corpus with its expected findings, and hostile input.

mod catalogue;
mod corpus;
mod hostile;
mod lacking;
mod marks;
mod other_cpus;
mod recomputed;
mod trace_builder;
