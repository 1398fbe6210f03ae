//! A real archive with changed numbers, and with missing or duplicated messages: it can be opened, condensed and
//! judged.
#![no_main]

use archive::frame::{Decoder, Encoder, Item};
use archive::message::Message;
use archive::reader::Run;
use archive::summary::{ReportData, RunSummary};
use judge::figures::RunFigures;
use judge::history::HistoryRun;
use claims::limit::{Limit, Rate};
use judge::machine::DoubtKind;
use judge::proof::proof;
use judge::verdict::judge;
use libfuzzer_sys::{arbitrary, fuzz_target};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::{env, fs, process};
use tardy_fuzz::within_budget;

const STREAM: &[u8] = include_bytes!("../../corpus/archives/v1/stream.tardy");
const MANIFEST: &[u8] = include_bytes!("../../corpus/archives/v1/manifest.json");

static MESSAGES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let messages = Decoder::default().push(STREAM).into_iter().filter_map(|item| match item {
        Item::Message(message) => serde_json::to_value(message).ok(),
        _ => None,
    });
    messages.collect()
});
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = env::temp_dir().join(format!("tardy-fuzz-{}", process::id()));
    fs::create_dir_all(&directory).expect("a directory for archives");
    fs::write(directory.join("manifest.json"), MANIFEST).expect("a manifest");
    directory
});

#[derive(Debug, arbitrary::Arbitrary)]
enum Damage {
    /// Changes the number at a place of a message.
    Number {
        message: u16,
        place: u16,
        value: i64,
    },
    /// The same with extreme numbers.
    Edge {
        message: u16,
        place: u16,
        edge: u8,
    },
    Missing {
        message: u16,
    },
    Again {
        message: u16,
        after: u16,
    },
}

const EDGES: [i64; 8] = [0, 1, -1, i64::MAX, i64::MIN, u32::MAX as i64, i32::MIN as i64, 1_000_000_000_000_000];

fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => found.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| numbers(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| numbers(field, found)),
        _ => {}
    }
}

fn replace(messages: &mut [Value], message: u16, place: u16, number: Value) {
    let message = usize::from(message) % messages.len();
    let mut found = Vec::new();
    numbers(&mut messages[message], &mut found);
    if !found.is_empty() {
        let place = usize::from(place) % found.len();
        *found[place] = number;
    }
}

fuzz_target!(|damages: Vec<Damage>| {
    let mut messages = MESSAGES.clone();
    for damage in damages {
        if messages.is_empty() {
            break;
        }
        let count = messages.len();
        match damage {
            Damage::Number { message, place, value } => replace(&mut messages, message, place, value.into()),
            Damage::Edge { message, place, edge: 255 } => replace(&mut messages, message, place, u64::MAX.into()),
            Damage::Edge { message, place, edge } => {
                replace(&mut messages, message, place, EDGES[usize::from(edge) % EDGES.len()].into());
            }
            Damage::Missing { message } => drop(messages.remove(usize::from(message) % count)),
            Damage::Again { message, after } => {
                let again = messages[usize::from(message) % count].clone();
                messages.insert(usize::from(after) % (count + 1), again);
            }
        }
    }
    let mut encoder = Encoder::default();
    let sound = messages.into_iter().filter_map(|message| serde_json::from_value::<Message>(message).ok());
    let stream: Vec<u8> = sound.flat_map(|message| encoder.message(&message)).collect();
    let bytes = stream.len();
    fs::write(DIRECTORY.join("stream.tardy"), stream).expect("room for an archive");

    within_budget(bytes, || {
        let run = Run::open(&*DIRECTORY).expect("an archive is there");
        let summary = RunSummary::of(&run, &[]);
        ReportData::of(&run, &[]);
        let allow = Rate::parse("1/h").expect("a rate");
        for text in ["latency < 100", "p99.9 < 100", "missed < 5/min"] {
            let time_ns = |text: &str| text.parse::<u64>().map_err(|_| "no time".to_owned());
            let limit = Limit::parse(text, &allow, time_ns).expect("a limit");
            let judgement = judge(&run, &summary, &limit, 0.95, &DoubtKind::ALL);
            assert!(judgement.sentence.starts_with(judgement.verdict.words()), "{}", judgement.sentence);
        }
        proof(&run, &summary, None, 0.95);
        RunFigures::of(&run);
        HistoryRun::of(&run, summary);
    });
});
