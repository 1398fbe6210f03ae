//! Requests that this process answered.

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// Upper bounds of the buckets in s: pages take milliseconds, a report some seconds, and the limit is 30 s.
const BUCKETS_S: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    status: u16,
}

/// Counts of requests and a histogram of their durations.
#[derive(Debug)]
pub struct Requests {
    registry: Registry,
    answered: Family<Answered, Counter>,
    duration: Histogram,
}

impl Requests {
    pub fn new() -> Self {
        let (answered, duration) = (Family::default(), Histogram::new(BUCKETS_S));
        let mut registry = Registry::with_prefix("tardy_http");
        registry.register("requests", "Requests that were answered", answered.clone());
        let help = "Time from the head of a request to the head of its answer";
        registry.register_with_unit("request_duration", help, Unit::Seconds, duration.clone());
        Self { registry, answered, duration }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn answered(&self, method: &Method, status: StatusCode, took: Duration) {
        // A client may invent methods, and each would be a series.
        let method = ["GET", "HEAD", "POST", "PUT"].into_iter().find(|known| *known == method.as_str());
        let method = method.unwrap_or("other");
        self.answered.get_or_create(&Answered { method, status: status.as_u16() }).inc();
        self.duration.observe(took.as_secs_f64());
    }
}
