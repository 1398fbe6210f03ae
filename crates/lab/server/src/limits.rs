//! Limits of one client.

use std::time::Duration;

/// Limits on requests and connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest body of a request, in bytes, except of an upload.
    pub body_bytes_max: usize,
    /// Largest upload of an archive, in bytes and in files.
    pub upload_bytes_max: u64,
    pub upload_files_max: usize,
    /// Longest time for an upload, and longest time during which it sends nothing.
    pub upload: Duration,
    pub upload_idle: Duration,
    /// Uploads at a time.
    pub uploads: usize,
    /// Streams of events at a time, and the longest time of one; a browser then connects again.
    pub streams: usize,
    pub stream: Duration,
    /// Longest time from the head of a request to the head of its answer.
    pub request: Duration,
    /// Longest time for the head of a request, and longest idle time between two requests.
    pub head: Duration,
    /// Longest time during which a client accepts no byte of an answer.
    pub stalled: Duration,
    /// Connections at a time, and how many of them one address may have.
    pub connections: usize,
    pub connections_of_one: usize,
    /// Requests per second of one address, on average, and how many it may send at once.
    pub requests_per_s: u32,
    pub requests_at_once: u32,
    /// Wrong tokens per minute of one address.
    pub wrong_tokens_per_min: u32,
    /// How long open requests may take after the end was requested.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 << 10,
            upload_bytes_max: 8 << 30,
            upload_files_max: 100_000,
            upload: Duration::from_secs(3600),
            upload_idle: Duration::from_secs(30),
            uploads: 4,
            streams: 64,
            stream: Duration::from_secs(600),
            request: Duration::from_secs(30),
            head: Duration::from_secs(15),
            stalled: Duration::from_secs(30),
            connections: 512,
            connections_of_one: 128,
            requests_per_s: 50,
            requests_at_once: 200,
            wrong_tokens_per_min: 10,
            farewell: Duration::from_secs(5),
        }
    }
}
