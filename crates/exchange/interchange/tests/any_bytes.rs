//! Parsers of formats never panic on any bytes, and what they accept makes a consistent archive.

use fixtures::repository::repository_path;
use interchange::imports::source::{Series, Source};
use interchange::imports::{FORMATS, Hints, ImportFormat, account, read};
use proptest::prelude::*;
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

fn corpus() -> PathBuf {
    repository_path("corpus/imports")
}

/// Every file below `corpus/imports/`, in a fixed order.
fn fixtures() -> Vec<Vec<u8>> {
    let entries = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries(corpus()).filter(|path| path.is_dir()).flat_map(entries).filter(|path| path.is_file()).collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn hints() -> impl Strategy<Value = Hints> {
    let formats: Vec<Option<&'static dyn ImportFormat>> = FORMATS.iter().copied().map(Some).chain([None]).collect();
    let series = prop_oneof![Just(Series::Thread), Just(Series::Irq)];
    (proptest::sample::select(formats), series).prop_map(|(format, series)| Hints { format, unit: None, series })
}

fn check(source: &Source) {
    for (thread, accounted) in source.threads.iter().zip(account::threads(source)) {
        let lost: u64 = accounted.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.count));
        let kept = accounted.histogram.total();
        assert!(kept.saturating_add(lost) >= accounted.totals.cycles, "{thread:?} {accounted:?}");
    }
}

fn any_read(bytes: &[u8], hints: &Hints) {
    match read(bytes, hints) {
        Ok(sources) => sources.iter().for_each(check),
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Cut(usize),
    Byte(usize, u8),
    /// A number becomes the largest possible, or larger.
    Digits(usize, &'static str),
    Without(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        (
            any::<usize>(),
            proptest::sample::select(vec![
                "18446744073709551615",
                "-9223372036854775808",
                "9999999999999999999999999999999999999999",
                "-nan",
                "1e308",
                "0"
            ])
        )
            .prop_map(|(at, digits)| Damage::Digits(at, digits)),
        (any::<usize>(), 1usize..200).prop_map(|(at, length)| Damage::Without(at, length)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let length = bytes.len().max(1);
        match *damage {
            Damage::Cut(at) => bytes.truncate(at % length),
            Damage::Byte(at, byte) => {
                if let Some(slot) = bytes.get_mut(at % length) {
                    *slot = byte;
                }
            }
            Damage::Digits(at, digits) => {
                let Some(from) = bytes.iter().skip(at % length).position(u8::is_ascii_digit) else { continue };
                let from = from + at % length;
                let count = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(from..from + count, digits.bytes());
            }
            Damage::Without(at, count) => {
                let from = at % length;
                bytes.drain(from.min(bytes.len())..(from + count).min(bytes.len()));
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), hints in hints()) {
        any_read(&bytes, &hints);
    }

    #[test]
    fn damaged_fixtures_never_panic(which in any::<usize>(), damages in proptest::collection::vec(damage(), 1..4), hints in hints()) {
        let fixtures = fixtures();
        any_read(&damaged(fixtures[which % fixtures.len()].clone(), &damages), &hints);
        any_read(&damaged(fixtures[which % fixtures.len()].clone(), &damages), &Hints::default());
    }

    #[test]
    fn damaged_samples_never_panic(damages in proptest::collection::vec(damage(), 0..6)) {
        let results = fs::read(corpus().join("jitterdebugger-samples/results.json")).unwrap();
        let samples = fs::read(corpus().join("jitterdebugger-samples/samples.raw")).unwrap();
        let mut source = read(&results, &Hints::default()).unwrap().remove(0);
        let companion = source.format.companion().unwrap();
        (companion.add)(&mut source, &mut Cursor::new(damaged(samples, &damages))).unwrap();
        check(&source);
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    for (open, close) in [("{\"thread\":", "}"), ("<rteval>", "</rteval>"), ("[", "]")] {
        let text = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        any_read(text.as_bytes(), &Hints::default());
    }
}
