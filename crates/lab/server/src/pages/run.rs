//! A run: its report as `tardy report` writes it, with the way back to its board.

use super::links::board_address;
use crate::problem::Refusal;
use crate::site::Site;
use account::{Account, ExplanationSource};
use archive::reader::OpenError;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use report::Place;
use std::sync::Arc;
use store::queries::run::RunRow;

/// The report of a run.
pub async fn report(site: &Arc<Site>, run: &RunRow) -> Result<Response, Refusal> {
    let page = match site.reports().kept(&run.digest) {
        Some(page) => page,
        None => {
            let archive = site.store().archive_of(&run.digest).await.map_err(Refusal::of_store)?;
            let archive = archive.ok_or_else(|| Refusal::NoSuchRun(run.digest.clone()))?;
            let places = [
                Place { address: "/fleet".into(), name: "Fleet".into() },
                Place { address: board_address(&run.board), name: run.board.clone() },
            ];
            let rendered = site.at_work(move || {
                let account = Account::open(archive, ExplanationSource::StoredOrTraces)?;
                let judgements = account.limit_judgements();
                Ok(Arc::from(report::render_html_below(&account.report_data(), &judgements, &places)))
            });
            let page: Arc<str> = rendered.await?.map_err(|error: OpenError| Refusal::Unreadable(error.to_string()))?;
            site.reports().keep(&run.digest, &page);
            page
        }
    };
    Ok(as_report(page.to_string()))
}

/// A page of `report`, which contains its script and styles, and names their checksums.
pub fn as_report(page: String) -> Response {
    let mut answer = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
    let policy = format!("{}; frame-ancestors 'none'", report::content_security_policy());
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}
