//! The report pages of docs/explanation/gallery.md are those of the runs in `corpus/gallery`, each named after its cause.

use fixtures::fake_meter::*;
use fixtures::repository::repository_path;
use std::collections::BTreeSet;
use std::fs;

fn runs() -> BTreeSet<String> {
    let entries = fs::read_dir(repository_path("corpus/gallery")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_document_leads_to_the_page_of_every_run() {
    let document = fs::read_to_string(repository_path("docs/explanation/gallery.md")).unwrap();
    let pages = document.split("](report-pages/").skip(1).map(|rest| rest.split_once(".html)").unwrap().0.to_owned());
    let (saved, shown): (BTreeSet<String>, BTreeSet<String>) =
        pages.partition(|name| repository_path("corpus/archives").join(name).is_dir());
    assert_eq!(saved.len(), 1, "{saved:?}");
    assert_eq!(shown, runs());
    assert!(shown.len() >= 10, "{shown:?}");
}

#[test]
fn the_latest_wake_up_of_every_run_has_the_cause_that_the_run_is_named_after() {
    let bench = Bench::new();
    for name in runs() {
        let run = repository_path("corpus/gallery").join(&name);
        let explained = bench.run(&["explain", "--json", run.to_str().unwrap()]).json();
        let latest = &explained["spikes"][0];
        assert_eq!(latest["status"], "explained", "{name}");
        assert_eq!(latest["findings"][0]["culprit"], name.as_str(), "{name}: {}", latest["findings"][0]["sentence"]);
    }
}
