//! The structure of the repository, as its documents promise it. Each test is named after the rule it checks.

mod arrows;
mod circles;
mod commands;
mod compilers;
mod dependencies;
mod documents;
mod facts;
mod layers;
mod loads;
mod problems;
mod prose;
mod purity;
mod repository;
mod sentences;
mod sources;
mod verbs;
mod version;
mod words;
