//! Rendered reports, kept in memory for the next reader.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Reports that are kept: explaining the traces of a run takes seconds.
const KEPT_MAX: usize = 16;
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The reports shown last, newest last.
#[derive(Debug, Default)]
pub struct Reports(Mutex<VecDeque<(String, Arc<str>)>>);

impl Reports {
    /// The report of the run with this digest, if it is kept.
    pub fn kept(&self, digest: &str) -> Option<Arc<str>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(of, _)| of == digest).map(|(_, page)| Arc::clone(page))
    }

    /// Keeps a report in place of the oldest.
    pub fn keep(&self, digest: &str, page: &Arc<str>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, _)| of != digest);
        kept.push_back((digest.to_owned(), Arc::clone(page)));
        while kept.len() > KEPT_MAX || kept.iter().map(|(_, page)| page.len()).sum::<usize>() > KEPT_BYTES_MAX {
            kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_reports_are_bounded_by_number_and_size() {
        let reports = Reports::default();
        let page = |bytes: usize| Arc::from("x".repeat(bytes));
        (0..40).for_each(|number| reports.keep(&number.to_string(), &page(10)));
        assert_eq!(reports.0.lock().unwrap().len(), KEPT_MAX);
        assert!(reports.kept("39").is_some() && reports.kept("0").is_none());
        reports.keep("large", &page(KEPT_BYTES_MAX));
        assert_eq!(reports.0.lock().unwrap().len(), 1);
        reports.keep("too large", &page(KEPT_BYTES_MAX + 1));
        assert!(reports.0.lock().unwrap().is_empty());
    }
}
