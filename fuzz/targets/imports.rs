//! A valid result of another tool, damaged, or any bytes: imported in each format, and as the samples next to one.
#![no_main]

use interchange::imports::{FORMATS, Hints, archived, read};
use libfuzzer_sys::{arbitrary, fuzz_target};
use std::io::Cursor;
use tardy_fuzz::{Damage, spoilt, within_budget};

const SOUND: [&[u8]; 12] = [
    include_bytes!("../../corpus/imports/cyclictest-2.4/histofall.txt"),
    include_bytes!("../../corpus/imports/cyclictest-2.4/histogram.json"),
    include_bytes!("../../corpus/imports/cyclictest-2.4/live.txt"),
    include_bytes!("../../corpus/imports/columns/osadl.txt"),
    include_bytes!("../../corpus/imports/rteval/timerlat.xml"),
    include_bytes!("../../corpus/imports/rtla/timerlat.json"),
    include_bytes!("../../corpus/imports/rtla/timerlat.txt"),
    include_bytes!("../../corpus/imports/osadl/rack9slot9.json"),
    include_bytes!("../../corpus/imports/logs/histogram-twice.txt"),
    include_bytes!("../../corpus/imports/logs/verbose.txt"),
    include_bytes!("../../corpus/imports/rt-tests-2.4/oslat.json"),
    include_bytes!("../../corpus/imports/jitterdebugger-samples/results.json"),
];
const SAMPLES: &[u8] = include_bytes!("../../corpus/imports/jitterdebugger-samples/samples.raw");

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a [u8]),
    Damaged { which: u8, damages: Vec<Damage>, samples: Vec<Damage> },
}

fuzz_target!(|input: Input| {
    let (file, samples) = match input {
        Input::Any(bytes) => (bytes.to_vec(), bytes.to_vec()),
        Input::Damaged { which, damages, samples } => {
            (spoilt(SOUND[usize::from(which) % SOUND.len()], &damages), spoilt(SAMPLES, &samples))
        }
    };
    within_budget(file.len() + samples.len(), || {
        let formats = FORMATS.iter().copied().map(Some).chain([None]);
        for format in formats {
            let Ok(sources) = read(&file, &Hints { format, ..Hints::default() }) else { continue };
            for mut source in sources {
                if let Some(companion) = source.format.companion() {
                    (companion.add)(&mut source, &mut Cursor::new(&samples)).expect("memory can be read");
                }
                archived::messages(&source);
            }
        }
    });
});
