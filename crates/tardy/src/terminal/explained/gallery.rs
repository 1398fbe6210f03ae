//! The accounts in docs/explanation/gallery.md are those that `tardy explain` prints of cases in the corpus.

use super::account::{Kept, lay_out_explained};
use crate::terminal::page::Page;
use ::account::explain_case;
use archive::method::SampleWord;
use fixtures::repository::repository_path;
use std::fs;

/// Columns of an account in the document: what the pages of the book show without scrolling.
const COLUMNS: usize = 84;
/// If set, the accounts are written into the document.
const UPDATE: &str = "UPDATE_GOLDEN";

fn account(case: &str) -> String {
    let directory = repository_path("corpus/explain").join(case);
    let text = fs::read_to_string(directory.join("spike.json")).unwrap_or_else(|error| panic!("{case}: {error}"));
    let trace = fs::read(directory.join("trace.dat")).unwrap();
    let (spike, explanation) = explain_case(&text, &trace).expect("it describes a case");
    let mut page = Page::new(false).with_columns(COLUMNS);
    lay_out_explained(&spike, Some(&explanation), Kept::default(), SampleWord::default(), None, &mut page);
    page.text().trim().to_owned()
}

/// The document with the account of each case after its mark, and the names of the cases.
fn with_accounts(document: &str) -> (String, Vec<String>) {
    const MARK: &str = "<!-- account ";
    let mut parts = document.split(MARK);
    let (mut text, mut cases) = (parts.next().unwrap_or_default().to_owned(), Vec::new());
    for part in parts {
        let (case, rest) = part.split_once(" -->\n").expect("a mark names a case");
        let rest =
            rest.strip_prefix("```text\n").map_or(rest, |block| block.split_once("\n```\n").expect("a block ends").1);
        text += &format!("{MARK}{case} -->\n```text\n{}\n```\n{rest}", account(case));
        cases.push(case.to_owned());
    }
    (text, cases)
}

#[test]
fn the_gallery_shows_what_explain_prints() {
    let path = repository_path("docs/explanation/gallery.md");
    let document = fs::read_to_string(&path).unwrap();
    let (text, cases) = with_accounts(&document);
    assert!(cases.len() >= 10, "{cases:?}");
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(path, text).unwrap();
    }
    let differs = document.lines().zip(text.lines()).find(|(shown, printed)| shown != printed);
    assert!(document == text, "{differs:?}: {UPDATE}=1 writes the accounts");
}
