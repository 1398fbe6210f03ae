//! Finds the experiments of the lab, and their runs in the index.

use super::ExperimentSeries;
use crate::problem::Refusal;
use crate::site::Site;
use std::path::Path;
use std::sync::Arc;
use store::queries::run::RunRow;

/// Rounds that an answer lists; an experiment has a few dozen at most.
const ROUNDS_SHOWN: usize = 100;

/// Both runs of a round, as far as the index has them.
pub type Round = [Option<RunRow>; 2];

/// The experiments of the lab, newest first.
pub(crate) async fn all(site: &Arc<Site>) -> Result<Vec<ExperimentSeries>, Refusal> {
    let reader = Arc::clone(site);
    site.at_work(move || reader.archives().experiments(reader.directory())).await
}

/// The experiment with this key.
pub(crate) async fn with_key(site: &Arc<Site>, key: String) -> Result<ExperimentSeries, Refusal> {
    all(site).await?.into_iter().find(|series| series.key == key).ok_or(Refusal::NoSuchExperiment(key))
}

/// The runs of its first rounds.
pub(crate) async fn rounds_in_index(site: &Site, series: &ExperimentSeries) -> Result<Vec<Round>, Refusal> {
    let run_at = async |archive: &Path| site.store().run_at(archive).await.map_err(Refusal::of_store);
    let mut rounds = Vec::new();
    for [a, b] in series.rounds.iter().take(ROUNDS_SHOWN) {
        rounds.push([run_at(a).await?, run_at(b).await?]);
    }
    Ok(rounds)
}
