//! Serves a lab: its boards and runs as pages for people and as an HTTP API for programs.
//!
//! Pages hold every number as HTML; the scripts of `ui/` add reading by pointer and keys. The crate decides nothing about runs:
//! it shows what the index contains and what `judge` finds in it. It listens on loopback without a login, elsewhere with
//! tokens or behind a proxy that logs people in.

pub mod access;
mod alerting;
mod api;
mod change_searches;
mod changes;
mod data;
pub mod desk;
mod experiments;
mod follow;
mod guard;
mod known_archives;
mod limits;
mod listen;
mod live;
mod metrics;
mod pages;
pub mod problem;
mod reports;
mod site;

pub use alerting::alert;
pub use api::{open_api, router};
pub use experiments::{ExperimentSeries, SeriesState, Side};
pub use follow::add_new_archives;
pub use guard::{Peer, Proxy, ProxyError};
pub use limits::Limits;
pub use listen::{ListenError, Listener};
pub use site::{Archives, Lab, PlanError, Site};
