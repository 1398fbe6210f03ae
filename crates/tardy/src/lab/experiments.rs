//! The experiments in the directory of a lab, as `tardy experiment` stored them.

use crate::measuring::rounds::versus::Journal;
use crate::measuring::rounds::{Attempt, RoundsState};
use crate::measuring::variant::Variant;
use archive::directory::ArchiveDirectory;
use server::{ExperimentSeries, SeriesState, Side};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// Directories below each other in which experiments are found.
const DEPTH_MAX: usize = 3;
/// Experiments that are read; a lab with more keeps them in several directories.
const SERIES_MAX: usize = 500;
/// Directories that are looked at: a lab may have 10^5 archives.
const DIRECTORIES_MAX: usize = 200_000;

/// The experiments below a directory, newest first. A file that is none, or of a later version, is left out.
pub fn experiments_below(directory: &Path) -> Vec<ExperimentSeries> {
    let mut found = Vec::new();
    let mut left = DIRECTORIES_MAX;
    let mut level = vec![directory.to_owned()];
    for _ in 0..=DEPTH_MAX {
        let mut below = Vec::new();
        for path in level {
            let Some(rest) = left.checked_sub(1) else { break };
            left = rest;
            if ArchiveDirectory::open(&path).is_ok_and(|inside| inside.has(Journal::file())) {
                found.extend(series(directory, &path));
            } else if found.len() < SERIES_MAX {
                below.extend(directories(&path));
            }
        }
        level = below;
    }
    found.truncate(SERIES_MAX);
    found.sort_by(|one: &ExperimentSeries, other| {
        other.started_unix_ns.cmp(&one.started_unix_ns).then_with(|| one.name.cmp(&other.name))
    });
    found
}

/// Directories in one, without links and hidden ones.
fn directories(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let plain = entries.filter(|entry| {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    plain.map(|entry| entry.path())
}

fn series(lab: &Path, directory: &Path) -> Option<ExperimentSeries> {
    let journal = Journal::load(directory).ok()?;
    let place = directory.strip_prefix(lab).ok()?.to_string_lossy().into_owned();
    let (voids, void_because) = journal.rounds.voids();
    let void_because = void_because.map(str::to_owned);
    let rounds = journal.rounds.complete().filter_map(|attempt| archives(directory, attempt)).collect();
    Some(ExperimentSeries {
        key: Sha256::digest(place.as_bytes())[..8].iter().map(|byte| format!("{byte:02x}")).collect(),
        name: store::label(journal.question.name.as_deref().unwrap_or(if place.is_empty() {
            "experiment"
        } else {
            &place
        })),
        started_unix_ns: journal.started_unix_ns,
        state: match journal.rounds.state {
            RoundsState::Running => SeriesState::Running,
            RoundsState::Complete => SeriesState::Complete,
            RoundsState::Interrupted => SeriesState::Interrupted,
            RoundsState::Failed => SeriesState::Failed,
        },
        problem: journal.rounds.problem.clone(),
        a: side(&journal.question.a),
        b: side(&journal.question.b),
        rounds_asked: journal.rounds.rounds_asked,
        voids: voids as u64,
        void_because,
        emulated: journal.emulated,
        virtual_time: journal.virtual_time,
        result: journal.result.clone(),
        rounds,
    })
}

fn side(variant: &Variant) -> Side {
    Side { options: variant.options.clone(), before: variant.before.clone(), target: variant.target.clone() }
}

fn archives(directory: &Path, attempt: &Attempt) -> Option<[PathBuf; 2]> {
    let of = |variant: &str| Some(directory.join(&attempt.runs.iter().find(|run| run.variant == variant)?.archive));
    Some([of("a")?, of("b")?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::rounds::versus::Versus;
    use crate::measuring::rounds::{Rounds, VariantRun};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    fn journal(started_s: u64) -> Journal {
        let variant = |options: &str| Variant::parse(options, &["--duration".into(), "5s".into()], None).unwrap().0;
        let question = Versus {
            experiment_version: 1,
            name: (started_s == 9).then(|| "psi off".to_owned()),
            a: variant(""),
            b: variant("--priority 90"),
            until_decided: false,
            metrics: Vec::new(),
        };
        let mut rounds = Rounds::new(7, 3, vec!["a".into(), "b".into()]);
        let run = |variant: &str| VariantRun { variant: variant.into(), archive: format!("01-{variant}") };
        let order = vec!["b".to_owned(), "a".into()];
        let runs = vec![run("b"), run("a")];
        rounds.attempts.push(Attempt { number: 1, order: order.clone(), runs, void: None, failed: None });
        rounds.attempts.push(Attempt {
            number: 2,
            order,
            runs: vec![run("b")],
            void: Some("stopped".into()),
            failed: None,
        });
        Journal::new(question, rounds, 0.95, vec!["tardy".into()], Duration::from_secs(started_s))
    }

    #[test]
    fn experiments_are_found_below_a_directory_and_links_and_damaged_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let lab = folder.path().join("lab");
        let outside = folder.path().join("outside");
        for (place, started_s) in [(lab.join("kernels/first"), 5), (lab.join("second"), 9), (outside.clone(), 7)] {
            fs::create_dir_all(&place).unwrap();
            journal(started_s).save(&place).unwrap();
        }
        symlink(&outside, lab.join("link")).unwrap();
        fs::create_dir_all(lab.join("damaged")).unwrap();
        fs::write(lab.join("damaged/experiment.json"), "{").unwrap();
        let found = experiments_below(&lab);
        assert_eq!(found.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), ["psi off", "kernels/first"]);
        assert!(found[0].key != found[1].key && found[0].key.len() == 16);
        let first = lab.join("kernels/first");
        assert_eq!(found[1].rounds, [[first.join("01-a"), first.join("01-b")]]);
        assert_eq!((found[1].voids, found[1].void_because.as_deref()), (1, Some("stopped")));
        assert_eq!((found[1].b.options.as_str(), found[1].state), ("--priority 90", SeriesState::Running));
    }
}
