//! How often an address may send requests and wrong tokens.

use crate::limits::Limits;
use crate::problem::Refusal;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Addresses that are remembered; beyond, those with nothing to remember are forgotten.
const ADDRESSES_MAX: usize = 4096;

/// A bucket that fills at a rate; each request takes one.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl Bucket {
    fn full(size: f64, now: Instant) -> Self {
        Self { left: size, since: now }
    }

    /// Takes one, or returns the time in s until there is one.
    fn take(&mut self, size: f64, per_s: f64, now: Instant) -> Result<(), u64> {
        let passed_s = now.saturating_duration_since(self.since).as_secs_f64();
        self.left = (self.left + passed_s * per_s).min(size);
        self.since = now;
        if self.left < 1.0 {
            return Err(((1.0 - self.left) / per_s).ceil().max(1.0) as u64);
        }
        self.left -= 1.0;
        Ok(())
    }
}

/// The buckets of all addresses.
#[derive(Debug, Default)]
pub struct Rates {
    requests: Mutex<HashMap<IpAddr, Bucket>>,
    wrong_tokens: Mutex<HashMap<IpAddr, Bucket>>,
}

impl Rates {
    /// Counts a request.
    ///
    /// # Errors
    /// If the address sends too many.
    pub fn request(&self, from: IpAddr, now: Instant, limits: &Limits) -> Result<(), Refusal> {
        let size = f64::from(limits.requests_at_once);
        take(&self.requests, from, size, f64::from(limits.requests_per_s), now)
    }

    /// Counts a wrong token.
    ///
    /// # Errors
    /// If the address sends too many: guessing must not pay.
    pub fn wrong_token(&self, from: IpAddr, now: Instant, limits: &Limits) -> Result<(), Refusal> {
        let size = f64::from(limits.wrong_tokens_per_min);
        take(&self.wrong_tokens, from, size, size / 60.0, now)
    }
}

fn take(of: &Mutex<HashMap<IpAddr, Bucket>>, from: IpAddr, size: f64, per_s: f64, now: Instant) -> Result<(), Refusal> {
    let mut buckets: MutexGuard<_> = of.lock().unwrap_or_else(PoisonError::into_inner);
    if buckets.len() >= ADDRESSES_MAX {
        buckets.retain(|_, bucket| {
            let passed_s = now.saturating_duration_since(bucket.since).as_secs_f64();
            bucket.left + passed_s * per_s < size
        });
    }
    let bucket = buckets.entry(network(from)).or_insert_with(|| Bucket::full(size, now));
    bucket.take(size, per_s, now).map_err(|wait_s| Refusal::TooMany { wait_s })
}

/// One client can have every address of a /64 network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_none() => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))
        }
        other => other.to_canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    #[test]
    fn an_address_that_sends_too_much_waits_and_others_do_not() {
        let limits = Limits { requests_per_s: 2, requests_at_once: 3, ..Limits::default() };
        let (rates, start) = (Rates::default(), Instant::now());
        let [a, b] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        for _ in 0..3 {
            assert_eq!(rates.request(a, start, &limits), Ok(()));
        }
        assert_eq!(rates.request(a, start, &limits), Err(Refusal::TooMany { wait_s: 1 }));
        assert_eq!(rates.request(b, start, &limits), Ok(()));
        let later = start + Duration::from_secs(1);
        assert_eq!(rates.request(a, later, &limits), Ok(()));
        assert_eq!(rates.request(a, later, &limits), Ok(()));
        assert!(rates.request(a, later, &limits).is_err());
    }

    #[test]
    fn wrong_tokens_have_their_own_limit() {
        let limits = Limits { wrong_tokens_per_min: 2, ..Limits::default() };
        let (rates, start) = (Rates::default(), Instant::now());
        let from = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(rates.wrong_token(from, start, &limits), Ok(()));
        assert_eq!(rates.wrong_token(from, start, &limits), Ok(()));
        assert_eq!(rates.wrong_token(from, start, &limits), Err(Refusal::TooMany { wait_s: 30 }));
    }

    #[test]
    fn a_network_of_version_6_counts_as_one_address() {
        let [a, b, c] = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(|text| text.parse::<IpAddr>().unwrap());
        assert_eq!(network(a), network(b));
        assert_ne!(network(a), network(c));
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)));
    }

    #[test]
    fn memory_for_addresses_is_bounded_by_those_that_are_remembered() {
        let limits = Limits::default();
        let (rates, start) = (Rates::default(), Instant::now());
        for number in 0..3 * ADDRESSES_MAX as u32 {
            let from = IpAddr::from(Ipv4Addr::from(number));
            // Ten minutes apart every bucket is full again.
            rates.request(from, start + Duration::from_secs(600) * number, &limits).unwrap();
        }
        assert!(rates.requests.lock().unwrap().len() <= ADDRESSES_MAX);
    }
}
