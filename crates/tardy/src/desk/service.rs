//! Answers the server's page: its state, its reports, and what a browser asks for.

use super::state::{Shared, link, locked};
use super::{findings, sharing};
use account::{Account, ExplanationSource};
use archive::reader::Run;
use server::desk::{Change, Desk, DeskReport, DeskState, ShareError};
use std::sync::Arc;

impl Desk for Shared {
    fn state(&self) -> Arc<DeskState> {
        self.newest()
    }

    fn report_of(&self, spike: u32) -> Option<DeskReport> {
        let mut run = Run::open_without_seconds(self.archive()?).ok()?;
        run.spikes.retain(|found| found.number == spike);
        (!run.spikes.is_empty()).then(|| DeskReport { account: Account::of(run, ExplanationSource::Traces) })
    }

    fn change(&self, fingerprint: &str, change: Change) {
        findings::change(self, fingerprint, change);
    }

    fn keep(&self, keeps: bool) {
        Self::keep(self, keeps);
    }

    fn share(&self) -> Result<Vec<u8>, ShareError> {
        let _alone = locked(&self.sharing);
        let archive = self.archive().ok_or_else(|| ShareError("nothing has been measured yet".into()))?;
        sharing::share(&archive).map_err(|error| ShareError(format!("{error:#}")))
    }

    fn entered(&self, next: &str) {
        let link = link(&locked(&self.address), next);
        complain!("tardy desk: a browser opened the page; another one takes {link}");
    }
}
