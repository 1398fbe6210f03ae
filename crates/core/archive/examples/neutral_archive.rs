//! Makes a small anonymous archive from one of a run: `neutral_archive RUN CUTS DIRECTORY [NAME=NEUTRAL]...`.
//!
//! Machine, boot and command line are replaced. A spike's trace is taken from `CUTS/<spike>/trace.dat` if it exists,
//! otherwise from the run. In traces every thread called NAME becomes NEUTRAL; both must have the same length, so that
//! no offset changes.

use archive::environment::Environment;
use archive::explanation::Explanation;
use archive::frame::{CHUNK_BYTES, Decoder, Encoder, Item};
use archive::layout::file_path;
use archive::message::{FileKind, Message};
use archive::reader::Run;
use archive::writer::RunWriter;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let (from, cuts, to) = (argument("RUN")?, PathBuf::from(argument("CUTS")?), argument("DIRECTORY")?);
    let names: Vec<(String, String)> = arguments.map(|pair| pair_of(&pair)).collect::<Result<_, _>>()?;
    let run = Run::open(from)?;
    let mut manifest = run.manifest.clone().ok_or("the run has no manifest")?;
    manifest.id = "example".into();
    if let Some(program) = manifest.command.first_mut() {
        *program = "tardy".into();
    }
    if let Some(out) = manifest.command.iter().position(|word| word == "-o" || word == "--out") {
        manifest.command[out + 1] = "example".into();
    }
    let (state, ended) = (manifest.state, manifest.ended_unix_ns.unwrap_or(manifest.started_unix_ns));
    let mut writer = RunWriter::create(to, manifest)?;
    let mut decoder = Decoder::default();
    let mut items = decoder.push(&fs::read(run.directory.join("stream.tardy"))?);
    items.extend(decoder.finish());
    let mut trace_bytes = 0;
    for item in items {
        match item {
            Item::Message(Message::FileBegin { file, kind }) => {
                let cut = match kind {
                    FileKind::SpikeTrace { spike } => cuts.join(spike.to_string()).join("trace.dat"),
                    _ => PathBuf::new(),
                };
                let Ok(mut bytes) = fs::read(cut).or_else(|_| fs::read(run.directory.join(file_path(kind)))) else {
                    continue;
                };
                names.iter().for_each(|(name, neutral)| rename(&mut bytes, name, neutral));
                trace_bytes = bytes.len() as u64;
                store_file(&mut writer, file, kind, &bytes)?;
            }
            Item::Message(Message::FileEnd { .. }) => {}
            Item::Message(mut message) => {
                neutralise(&mut message, trace_bytes);
                writer.store(&Item::Message(message))?;
            }
            other => writer.store(&other)?,
        }
    }
    let written = Run::open(writer.finish(state, None, ended)?)?;
    if let Some(explanations) = run.explanations() {
        let mut text = serde_json::to_string(&explanations)?;
        names.iter().for_each(|(name, neutral)| text = text.replace(name, neutral));
        written.save_explanations(&serde_json::from_str::<Vec<Explanation>>(&text)?)?;
    }
    println!("{}: {} gaps", written.directory.display(), written.gaps.len());
    Ok(())
}

fn pair_of(pair: &str) -> Result<(String, String), String> {
    let (name, neutral) = pair.split_once('=').ok_or(format!("{pair} is not NAME=NEUTRAL"))?;
    let same = name.len() == neutral.len() && !name.is_empty();
    same.then(|| (name.into(), neutral.into())).ok_or(format!("{pair}: the names differ in length"))
}

/// Replaces a name that is a whole word: in a record it ends in a zero byte, in a list of threads the line ends.
fn rename(bytes: &mut [u8], name: &str, neutral: &str) {
    let ends = |byte: Option<&u8>| matches!(byte, Some(0 | b'\n'));
    for at in 0..bytes.len().saturating_sub(name.len()) {
        if bytes[at..].starts_with(name.as_bytes()) && ends(bytes.get(at + name.len())) {
            bytes[at..at + name.len()].copy_from_slice(neutral.as_bytes());
        }
    }
}

fn neutralise(message: &mut Message, trace_bytes: u64) {
    match message {
        Message::Hello { boot_id, .. } => *boot_id = "00000000-0000-0000-0000-000000000000".into(),
        Message::Environment(environment) => {
            let kept = std::mem::take(environment.as_mut());
            **environment = Environment {
                hostname: "example".into(),
                kernel_release: kept.kernel_release.split('-').next().unwrap_or_default().into(),
                kernel_version: "#1 SMP".into(),
                command_line: Some("quiet".into()),
                load_average: None,
                ..kept
            };
        }
        Message::Spike(spike) => {
            if let Some(snapshot) = &mut spike.snapshot {
                snapshot.trace_bytes = trace_bytes;
            }
        }
        _ => {}
    }
}

/// Passes a file to the writer as a meter would send it.
fn store_file(writer: &mut RunWriter, file: u32, kind: FileKind, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut encoder = Encoder::default();
    let mut frames = encoder.message(&Message::FileBegin { file, kind });
    for (index, data) in bytes.chunks(CHUNK_BYTES).enumerate() {
        frames.extend(encoder.chunk(file, (index * CHUNK_BYTES) as u64, data));
    }
    frames.extend(encoder.message(&Message::FileEnd { file, bytes: bytes.len() as u64 }));
    for item in Decoder::default().push(&frames) {
        writer.store(&item)?;
    }
    Ok(())
}
