//! The parts of docs/explanation/ground-truth.md that are written by programs: what is injected, and what came of it.

use crate::experiments::{EXPERIMENTS, Experiment};
use crate::place::Place;
use archive::culprit::Culprit;
use thiserror::Error;

/// The list of experiments.
pub const EXPERIMENTS_PART: &str = "experiments";
/// The counts of the last series.
pub const RESULTS_PART: &str = "results";

/// Why a document was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DocumentError {
    #[error("the document has no part between `<!-- {part}: ... -->` and `<!-- end of {part} -->`")]
    NoPart { part: &'static str },
}

/// The document with another text in one of its parts; the comments around it stay.
///
/// # Errors
/// When the document does not have the comments.
pub fn with_part(document: &str, part: &'static str, text: &str) -> Result<String, DocumentError> {
    let missing = DocumentError::NoPart { part };
    let (before, rest) = document.split_once(&format!("<!-- {part}: ")).ok_or_else(|| missing.clone())?;
    let (how, rest) = rest.split_once(" -->\n").ok_or_else(|| missing.clone())?;
    let end = format!("<!-- end of {part} -->");
    let (_, after) = rest.split_once(&end).ok_or(missing)?;
    Ok(format!("{before}<!-- {part}: {how} -->\n\n{}\n\n{end}{after}", text.trim()))
}

/// The injections, their places and their right answers, as a table in Markdown.
pub fn experiments() -> String {
    let mut text = String::from("| experiment | where | how | right |\n|---|---|---|---|\n");
    for experiment in EXPERIMENTS {
        let right = match experiment.parts {
            [] => experiment.culprits.iter().map(Culprit::id).collect::<Vec<_>>().join(", "),
            _ => "by kind".into(),
        };
        text += &format!("| {} | {} | {} | {right} |\n", experiment.name, places(experiment), experiment.how);
    }
    text
}

fn places(experiment: &Experiment) -> String {
    let mut names: Vec<&str> = Vec::new();
    for place in experiment.places {
        let name = match place {
            Place::Here => "here",
            Place::Virtual(_) => "emulated",
            Place::VirtualTime(_) => "virtual time",
            Place::ArmVirtualTime(_) => "arm64",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let names = names.join(", ");
    match experiment.places {
        [Place::VirtualTime(kernel)] | [Place::Here, Place::VirtualTime(kernel)] => {
            format!("{names} ({})", crate::place::series(kernel))
        }
        _ => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::repository::repository_path;
    use std::fs;

    #[test]
    fn a_part_is_replaced_and_nothing_else() {
        let document = "a\n<!-- results: by hand -->\nold\n<!-- end of results -->\nb\n";
        let written = with_part(document, RESULTS_PART, "new\n").unwrap();
        assert_eq!(written, "a\n<!-- results: by hand -->\n\nnew\n\n<!-- end of results -->\nb\n");
        assert_eq!(with_part(&written, RESULTS_PART, "new").unwrap(), written);
        assert_eq!(with_part("a", RESULTS_PART, "new"), Err(DocumentError::NoPart { part: RESULTS_PART }));
    }

    #[test]
    fn the_document_lists_every_experiment() {
        let path = repository_path("docs/explanation/ground-truth.md");
        let document = fs::read_to_string(&path).unwrap();
        let written = with_part(&document, EXPERIMENTS_PART, &experiments()).unwrap();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &written).unwrap();
        }
        assert!(document == written, "another list of experiments; UPDATE_GOLDEN=1 cargo test -p truth writes it");
    }
}
