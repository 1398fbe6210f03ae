//! An external board that gives the stimuli of a run, and what it measured with its own clock.

use crate::histogram::{Histogram, bucket_of};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Port of latmon, where the address names no other.
pub const LATMON_PORT: u16 = 2306;
/// Address of a board that announces itself.
pub const ANNOUNCED: &str = "broadcast";
/// Most cells of a board's histogram that are kept.
pub const CELLS_MAX: usize = 1000;
/// Width of a cell.
pub const CELL_NS: i64 = 1000;
/// Longest address in a request.
const ADDRESS_LETTERS_MAX: usize = 255;

/// Language of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StimulusProtocol {
    /// EVL's latmon, which Zephyr has as a sample.
    Latmon,
}

impl fmt::Display for StimulusProtocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Latmon => "latmon",
        })
    }
}

/// The board that a run asks for stimuli, written `latmon:192.168.1.58`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StimulusRequest {
    pub protocol: StimulusProtocol,
    /// Host and port, or [`ANNOUNCED`].
    pub address: String,
}

/// The error in the text of a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StimulusWordsError {
    #[error("`{0}` is not a kind of board; write latmon:ADDRESS")]
    Protocol(String),
    #[error("`{0}` is not an address; write latmon:HOST, latmon:HOST:PORT, or latmon:broadcast")]
    Address(String),
}

impl StimulusRequest {
    /// Parses the value of `--stimulus`.
    ///
    /// # Errors
    /// [`StimulusWordsError`].
    pub fn parse(text: &str) -> Result<Self, StimulusWordsError> {
        let (protocol, address) = text.split_once(':').unwrap_or((text, ""));
        if protocol.trim() != "latmon" {
            return Err(StimulusWordsError::Protocol(protocol.into()));
        }
        let address = with_port(address.trim()).ok_or_else(|| StimulusWordsError::Address(address.into()))?;
        Ok(Self { protocol: StimulusProtocol::Latmon, address })
    }
}

impl fmt::Display for StimulusRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.protocol, self.address)
    }
}

/// An address with its port; `None`: it is no address.
fn with_port(address: &str) -> Option<String> {
    if address == ANNOUNCED {
        return Some(address.into());
    }
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, "")) => (format!("[{inside}]"), None),
        Some((inside, rest)) => (format!("[{inside}]"), Some(rest.strip_prefix(':')?)),
        None => address.split_once(':').map_or((address.to_owned(), None), |(host, port)| (host.into(), Some(port))),
    };
    let port: u16 = port.map_or(Some(LATMON_PORT), |port| port.parse().ok())?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let is_number = |letter: char| letter.is_ascii_hexdigit() || ":.".contains(letter);
    // Whether it is one, the resolver finds out.
    let fits = if host.starts_with('[') {
        bare.contains(':') && bare.chars().all(is_number)
    } else {
        bare.chars().all(is_name)
    };
    (port > 0 && !bare.is_empty() && bare.len() <= ADDRESS_LETTERS_MAX && fits).then(|| format!("{host}:{port}"))
}

/// Measurements of a board so far, from the edge that it gave to the edge that answered. Its own clock measured it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StimulusBoard {
    pub protocol: StimulusProtocol,
    /// As the host reached it.
    pub address: String,
    /// Time between an answer and the next stimulus, in µs.
    pub period_us: u32,
    /// Records with answers that the board sent.
    pub records: u64,
    /// Answers in them.
    pub answers: u64,
    /// Stimuli without an answer in time, and further periods that a late answer took.
    pub overruns: u64,
    pub latency_ns_min: Option<u64>,
    pub latency_ns_max: Option<u64>,
    pub latency_ns_sum: u64,
    /// Answers by latency in whole µs; the last cell also has all longer ones. Empty until the board has ended. It may have
    /// answers that are in no record, because the board warmed up meanwhile.
    #[serde(default)]
    pub cells: Vec<u32>,
    /// The board has sent everything it had.
    pub complete: bool,
}

impl StimulusBoard {
    /// A board that was asked for stimuli and has sent nothing yet.
    pub fn without_answers(protocol: StimulusProtocol, address: String, period_us: u32) -> Self {
        Self {
            protocol,
            address,
            period_us,
            records: 0,
            answers: 0,
            overruns: 0,
            latency_ns_min: None,
            latency_ns_max: None,
            latency_ns_sum: 0,
            cells: Vec::new(),
            complete: false,
        }
    }

    /// Restores the invariants on external data.
    pub fn normalised(mut self) -> Self {
        self.cells.truncate(CELLS_MAX);
        self
    }

    pub fn mean_ns(&self) -> Option<f64> {
        (self.answers > 0).then(|| self.latency_ns_sum as f64 / self.answers as f64)
    }

    /// The cells as a histogram of their upper edges, and the answers beyond the last one.
    pub fn histogram(&self) -> (Histogram, u64) {
        let Some((beyond, inside)) = self.cells.split_last() else { return (Histogram::default(), 0) };
        let bucket = |(cell, count): (usize, &u32)| {
            let edge_ns = (cell as i64 + 1).saturating_mul(CELL_NS);
            Some((u32::try_from(bucket_of(edge_ns)?).ok()?, u64::from(*count)))
        };
        let buckets = inside.iter().enumerate().filter(|(_, count)| **count > 0).filter_map(bucket).collect();
        (Histogram { buckets }.normalised(), u64::from(*beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let parsed = |text: &str| StimulusRequest::parse(text).map(|request| request.to_string());
        assert_eq!(parsed("latmon:192.168.1.58").as_deref(), Ok("latmon:192.168.1.58:2306"));
        assert_eq!(parsed("latmon:frdm-k64f.lab:99").as_deref(), Ok("latmon:frdm-k64f.lab:99"));
        assert_eq!(parsed("latmon:[fe80::1]").as_deref(), Ok("latmon:[fe80::1]:2306"));
        assert_eq!(parsed("latmon:broadcast").as_deref(), Ok("latmon:broadcast"));
        for wrong in
            ["latmon", "latmon:", "latmon:a:", "latmon:a:0", "latmon:a:b", "latmon:a b", "latmon:[::1]9", "latmon:[x]"]
        {
            assert!(matches!(parsed(wrong), Err(StimulusWordsError::Address(_))), "{wrong}");
        }
        assert!(matches!(parsed("udp:a"), Err(StimulusWordsError::Protocol(_))));
        let parsed = StimulusRequest::parse("latmon:a").unwrap();
        assert_eq!(StimulusRequest::parse(&parsed.to_string()), Ok(parsed));
    }

    #[test]
    fn a_cell_counts_as_its_upper_edge_and_the_last_one_as_beyond() {
        let board = StimulusBoard {
            protocol: StimulusProtocol::Latmon,
            address: String::new(),
            period_us: 1000,
            records: 1,
            answers: 4,
            overruns: 0,
            latency_ns_min: Some(1100),
            latency_ns_max: Some(9000),
            latency_ns_sum: 20_000,
            cells: vec![0, 3, 0, 1],
            complete: true,
        };
        let (histogram, beyond) = board.histogram();
        assert_eq!((histogram.quantile_ns(0.5), histogram.total(), beyond), (Some(2000), 3, 1));
        assert_eq!(board.mean_ns(), Some(5000.0));
        assert_eq!(StimulusBoard { cells: vec![1; 5000], ..board }.normalised().cells.len(), CELLS_MAX);
    }
}
