//! A sound archive whose manifest, explanations and samples are damaged: every document of it can be made.
#![no_main]

use account::{Account, ExplanationSource};
use archive::method::Method;
use archive::reader::Run;
use archive::samples_file;
use interchange::exports::{ExportInput, ExportedRun, FORMATS, Options};
use libfuzzer_sys::{arbitrary, fuzz_target};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{env, fs, process};
use tardy_fuzz::{Damage, spoilt, within_budget};

const STREAM: &[u8] = include_bytes!("../../corpus/archives/v1/stream.tardy");
const MANIFEST: &[u8] = include_bytes!("../../corpus/archives/v1/manifest.json");
const EXPLANATIONS: &[u8] = include_bytes!("../../corpus/archives/v1/explanations.json");

static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = env::temp_dir().join(format!("tardy-fuzz-documents-{}", process::id()));
    fs::create_dir_all(directory.join("samples")).expect("a directory for archives");
    fs::write(directory.join("stream.tardy"), STREAM).expect("a stream");
    directory
});

#[derive(Debug, arbitrary::Arbitrary)]
enum Change<'a> {
    Damages(Vec<Damage>),
    /// A number at a place becomes this text, such as a larger number.
    Number(u16, i64),
    Any(&'a [u8]),
}

/// Replaces the numbers of a JSON text: damage of bytes leaves few texts that can be read.
fn with_number(text: &[u8], which: u16, number: i64) -> Vec<u8> {
    let starts: Vec<usize> =
        (1..text.len()).filter(|at| text[*at].is_ascii_digit() && matches!(text[at - 1], b':' | b'-')).collect();
    let Some(start) = starts.get(usize::from(which) % starts.len().max(1)) else { return text.to_vec() };
    let digits = text[*start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = start - usize::from(text[start - 1] == b'-');
    let end = start + digits + usize::from(text[start] == b'-');
    [&text[..start], number.to_string().as_bytes(), &text[end..]].concat()
}

fn changed(sound: &[u8], changes: &[Change]) -> Vec<u8> {
    changes.iter().take(8).fold(sound.to_vec(), |text, change| match change {
        Change::Damages(damages) => spoilt(&text, damages),
        Change::Number(which, number) => with_number(&text, *which, *number),
        Change::Any(bytes) => bytes.to_vec(),
    })
}

#[derive(Debug, arbitrary::Arbitrary)]
struct Input<'a> {
    manifest: Vec<Change<'a>>,
    explanations: Vec<Change<'a>>,
    samples: &'a [u8],
}

fn write_all(run: Run) {
    let account = Account::of(run, ExplanationSource::Stored);
    let (runs, options) = ([ExportedRun::alone(account)], Options::default());
    let Some(input) = ExportInput::new(&runs, &options, &|_| Ok(Vec::new())) else { return };
    for format in FORMATS {
        let mut bytes = Vec::new();
        if format.write(&input, &mut bytes).is_ok() && format.name() != "perfetto" {
            let text = String::from_utf8(bytes).expect("a text");
            assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{}", format.name());
        }
    }
}

fuzz_target!(|input: Input| {
    let manifest = changed(MANIFEST, &input.manifest);
    let explanations = changed(EXPLANATIONS, &input.explanations);
    for (name, bytes) in
        [("manifest.json", &manifest[..]), ("explanations.json", &explanations), ("samples/0.bin", input.samples)]
    {
        fs::write(DIRECTORY.join(name), bytes).expect("room for an archive");
    }
    within_budget(STREAM.len() + manifest.len() + explanations.len() + input.samples.len(), || {
        samples_file::records(input.samples).for_each(drop);
        let Ok(mut run) = Run::open(&*DIRECTORY) else { return };
        let explanations = run.explanations().unwrap_or_default();
        report::render_html(&archive::summary::ReportData::of(&run, &explanations), &[]);
        write_all(run.clone());
        if let Some(settings) = run.manifest.as_mut().and_then(|manifest| manifest.settings.as_mut()) {
            settings.method = Method::Map.into();
            write_all(run);
        }
    });
});
