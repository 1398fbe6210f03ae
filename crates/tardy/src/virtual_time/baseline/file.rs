//! The file: TOML with one line per seed and per cause, so that a change of one shows as a change of one line.

use crate::exit::UsageError;
use archive::atomic_file::write_atomically;
use judge::virtual_time::Baseline;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const HEADER: &str = "\
# Expected results in virtual time: executed instructions, no time of any hardware.
# `tardy virtual baseline check` measures again and reports what changed; `tardy virtual baseline write` makes this file.
";
/// Upper bound of the size of a baseline file.
const BYTES_MAX: u64 = 16 << 20;

/// Reads a file.
///
/// # Errors
/// A [`UsageError`] that says what is wrong with it.
pub fn read(path: &Path) -> Result<Baseline, UsageError> {
    let fail = |why: String| UsageError(format!("failed to read the baseline {}: {why}", path.display()));
    let size = fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > BYTES_MAX {
        return Err(fail("it is larger than any baseline".into()));
    }
    let text = fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    parse(&text).map_err(fail)
}

/// Writes a file.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, baseline: &Baseline) -> anyhow::Result<()> {
    Ok(write_atomically(path, to_text(baseline).as_bytes())?)
}

/// # Errors
/// Reason why the text is refused, with its line if known.
fn parse(text: &str) -> Result<Baseline, String> {
    let baseline: Baseline = toml::from_str(text).map_err(|error| error.to_string().trim().to_owned())?;
    baseline.check().map(|()| baseline).map_err(|error| error.to_string())
}

fn to_text(baseline: &Baseline) -> String {
    let mut text = HEADER.to_owned();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!("baseline_version = {}", baseline.baseline_version));
    line(format!("virtual_time = {}", baseline.virtual_time));
    line(format!("kernel = {}", quoted(&baseline.kernel)));
    line(format!("target = {}", quoted(&baseline.target)));
    line(format!("tolerance_percent = {:?}", baseline.tolerance_percent));
    line(format!("idle_tolerance_ns = {}", baseline.idle_tolerance_ns));
    let options: Vec<String> = baseline.options.iter().map(|word| quoted(word)).collect();
    line(format!("options = [{}]", options.join(", ")));
    for (name, seeds) in [("idle", &baseline.idle), ("loaded", &baseline.loaded)] {
        line(format!("\n{name} = ["));
        for seed in seeds {
            let mut figures = format!(
                "seed = {}, samples = {}, p50_ns = {}, p99_ns = {}",
                seed.seed, seed.samples, seed.p50_ns, seed.p99_ns
            );
            if let Some(ns) = seed.p99_9_ns {
                let _ = write!(figures, ", p99_9_ns = {ns}");
            }
            line(format!("  {{ {figures}, max_ns = {} }},", seed.max_ns));
        }
        line("]".into());
    }
    line("\ncauses = [".into());
    for cause in &baseline.causes {
        let (culprit, function) = (quoted(cause.stored_culprit()), quoted(&cause.function));
        let figures = format!("longest_ns = {}, seeds = {}", cause.longest_ns, cause.seeds);
        line(format!("  {{ culprit = {culprit}, function = {function}, {figures} }},"));
    }
    line("]\n\n[ingredients]".into());
    for (name, value) in &baseline.ingredients {
        line(format!("{} = {}", quoted(name), quoted(value)));
    }
    text
}

/// A TOML string on a single line, also for keys, which cannot span several lines. JSON's escapes are valid in TOML;
/// only the delete character needs an additional one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::virtual_time::{BaselineCause, SeedFigures};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn seed(number: u64, max_ns: i64) -> SeedFigures {
        let p99_9_ns = (max_ns % 2 == 0).then_some(max_ns - 1);
        SeedFigures { seed: number, samples: 1000, p50_ns: 3577, p99_ns: 4890, p99_9_ns, max_ns }
    }

    fn baseline(text: &str, max_ns: i64) -> Baseline {
        Baseline {
            baseline_version: 1,
            virtual_time: true,
            kernel: text.into(),
            target: "exact".into(),
            tolerance_percent: 2.5,
            idle_tolerance_ns: 20,
            options: vec!["--load".into(), text.into()],
            ingredients: BTreeMap::from([("kernel".into(), "sha256:00".into()), (text.into(), text.into())]),
            idle: vec![seed(1, 4000)],
            loaded: vec![seed(1, max_ns), seed(2, 9000)],
            causes: vec![BaselineCause {
                culprit: Some("irqs-off".into()),
                function: text.into(),
                longest_ns: 412_000,
                seeds: 2,
            }],
        }
    }

    #[test]
    fn a_seed_is_a_line() {
        let (old, new) = (to_text(&baseline("6.1", 8012)), to_text(&baseline("6.1", 8512)));
        let changed: Vec<&str> = new.lines().filter(|line| !old.contains(line)).collect();
        assert_eq!(
            changed,
            ["  { seed = 1, samples = 1000, p50_ns = 3577, p99_ns = 4890, p99_9_ns = 8511, max_ns = 8512 },"]
        );
        assert!(old.starts_with("# ") && old.lines().next().unwrap().contains("virtual time"));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let sound = to_text(&baseline("6.1", 8012));
        let wrong = |old: &str, new: &str| parse(&sound.replacen(old, new, 1)).unwrap_err();
        assert!(wrong("baseline_version = 1", "baseline_version = 2").contains("newer"));
        assert!(wrong("virtual_time = true", "virtual_time = false").contains("virtual time"));
        assert!(wrong("tolerance_percent = 2.5", "tolerance_percent = nan").contains("0 to 1000"));
        assert!(wrong("idle_tolerance_ns = 20", "idle_tolerance_ns = -1").contains("0 or more"));
        assert!(wrong("seed = 2", "seed = 1").contains("twice"));
        assert!(wrong("max_ns = 8012", "max_us = 8012").contains("max_us"));
        assert!(wrong("kernel = \"6.1\"", "").contains("kernel"));
        assert!(parse("").unwrap_err().contains("baseline_version"));
        let folder = tempfile::tempdir().unwrap();
        assert!(read(&folder.path().join("none")).unwrap_err().0.contains("none"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(text in any::<String>(), max_ns in 0i64..i64::MAX) {
            let baseline = baseline(&text, max_ns);
            prop_assert_eq!(parse(&to_text(&baseline)), Ok(baseline));
        }

        #[test]
        fn any_text_is_a_baseline_or_a_sentence(text in "\\PC{0,200}", at in 0usize..900) {
            let sound = to_text(&baseline("6.1", 8012));
            let spoilt: String = sound.chars().take(at).chain(text.chars()).chain(sound.chars().skip(at + 3)).collect();
            for text in [text, spoilt] {
                if let Err(why) = parse(&text) {
                    prop_assert!(!why.is_empty());
                }
            }
        }
    }
}
