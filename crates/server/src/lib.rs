//! Serves a lab: its boards and runs as pages for people and as an HTTP API for programs.
//!
//! Pages hold every number as HTML; the scripts of `ui/` add the pictures. The crate decides nothing about runs: it shows
//! what the archives and the index over them contain. It listens on loopback without a login, elsewhere with tokens only.

pub mod access;
mod api;
mod guard;
mod limits;
mod listen;
mod pages;
pub mod problem;
mod site;

pub use api::{open_api, router};
pub use guard::Peer;
pub use limits::Limits;
pub use listen::{ListenError, Listener};
pub use site::{Archives, ReadError, Site};
