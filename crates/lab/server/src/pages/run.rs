//! A run: its report as `tardy report` writes it, with the way back to its board.

use super::links::board_address;
use crate::problem::Refusal;
use crate::site::Site;
use account::{Account, ExplanationSource};
use archive::reader::OpenError;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use report::Place;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use store::queries::run::RunRow;

/// Reports that are kept: explaining the traces of a run takes seconds.
const KEPT_MAX: usize = 16;
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The reports shown last, newest last.
#[derive(Debug, Default)]
pub struct Reports(Mutex<VecDeque<(String, Arc<str>)>>);

impl Reports {
    fn kept(&self, digest: &str) -> Option<Arc<str>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(of, _)| of == digest).map(|(_, page)| Arc::clone(page))
    }

    fn keep(&self, digest: &str, page: &Arc<str>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, _)| of != digest);
        kept.push_back((digest.to_owned(), Arc::clone(page)));
        while kept.len() > KEPT_MAX || kept.iter().map(|(_, page)| page.len()).sum::<usize>() > KEPT_BYTES_MAX {
            kept.pop_front();
        }
    }
}

/// The report of a run.
pub async fn report(site: &Arc<Site>, run: &RunRow) -> Result<Response, Refusal> {
    let page = match site.reports().kept(&run.digest) {
        Some(page) => page,
        None => {
            let archive = site.store().archive_of(&run.digest).await.map_err(Refusal::of_store)?;
            let archive = archive.ok_or_else(|| Refusal::NoSuchRun(run.digest.clone()))?;
            let places = [
                Place { address: "/".into(), name: "Fleet".into() },
                Place { address: board_address(&run.board), name: run.board.clone() },
            ];
            let rendered = site.at_work(move || {
                let account = Account::open(archive, ExplanationSource::StoredOrTraces)?;
                Ok(Arc::from(report::render_html_below(&account.report_data(), &places)))
            });
            let page: Arc<str> = rendered.await?.map_err(|error: OpenError| Refusal::Unreadable(error.to_string()))?;
            site.reports().keep(&run.digest, &page);
            page
        }
    };
    let mut answer = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page.to_string()).into_response();
    // The report contains its script and styles, and names their checksums.
    let policy = format!("{}; frame-ancestors 'none'", report::content_security_policy());
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(answer)
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
