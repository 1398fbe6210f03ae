//! Everything that a page or a document shows of a run.

use super::block_requests;
use super::explaining::causes_of;
use archive::explanation::Explanation;
use archive::reader::Run;
use archive::summary::ReportData;

/// The figures of a run with what only its traces say: causes, and where the time of block requests went.
pub fn report_data_of(run: &Run, explanations: &[Explanation]) -> ReportData {
    let mut data = ReportData::of(run, explanations);
    data.summary.storage = block_requests::account_of(run);
    data.causes = Some(causes_of(run, explanations));
    data
}
