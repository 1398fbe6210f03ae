//! One of the two ways to run that an experiment compares.

use super::arguments::RunArguments;
use super::arguments::words::reason;
use super::machine::find;
use crate::exit::UsageError;
use archive::settings::RunSettings;
use machines::KnownTarget;
use serde::{Deserialize, Serialize};

/// One way to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// As typed: the options of this variant, without those that both share.
    pub options: String,
    /// Shell command on the host before each run.
    pub before: Option<String>,
    pub target: String,
    pub settings: RunSettings,
}

/// The options of `tardy run` in `both` and in a text.
fn arguments(options: &str, both: &[String]) -> Result<RunArguments, UsageError> {
    let own = shlex::split(options)
        .ok_or_else(|| UsageError(format!("the options `{options}`: a quote or a backslash has no end")))?;
    let run = RunArguments::of_words(both.iter().chain(&own).map(String::as_str))
        .map_err(|error| UsageError(format!("the options `{options}`: {}", reason(&error))))?;
    if run.output.out.is_some() || run.output.json || run.output.quiet {
        return Err(UsageError("--out, --json and --quiet belong before `--`: they are the experiment's".into()));
    }
    Ok(run)
}

/// The settings of a run on this target in virtual time with these options, which name no other one.
///
/// # Errors
/// If they are not options of `tardy run`, or a variant cannot have them.
pub fn settings_in_virtual_time(target: &str, options: &[String]) -> Result<RunSettings, UsageError> {
    arguments("", &[&["--target".to_owned(), target.to_owned()], options].concat())?
        .settings(true)
        .map_err(UsageError::from)
}

impl Variant {
    /// The variant with these options, and the target that they name.
    ///
    /// # Errors
    /// If the options are not options of `tardy run`, a variant cannot have them, or there is no such target.
    pub fn parse(options: &str, both: &[String], before: Option<String>) -> Result<(Self, KnownTarget), UsageError> {
        let run = arguments(options, both)?;
        let target = find(&run.target)?;
        let settings = run.settings(target.is_in_virtual_time())?;
        Ok((Self { options: options.trim().into(), before, target: run.target, settings }, target))
    }

    /// The target to measure on after the command before the run: such a command may have written the target's file.
    ///
    /// # Errors
    /// If the file cannot be used any more.
    pub fn target_after_command(&self, target: &KnownTarget) -> Result<KnownTarget, UsageError> {
        if self.before.is_some() { find(&self.target) } else { Ok(target.clone()) }
    }

    /// Expected number of samples of a run, as far as its settings determine it.
    pub fn samples(&self) -> f64 {
        samples(&self.settings)
    }
}

/// Expected number of samples of a run with these settings, as far as they determine it.
pub fn samples(settings: &RunSettings) -> f64 {
    let timed = settings.duration_ns.map(|ns| ns as f64 / settings.interval_ns.max(1) as f64);
    let counted = settings.cycles.map(|cycles| cycles as f64);
    threads(settings) * timed.into_iter().chain(counted).fold(f64::INFINITY, f64::min)
}

/// Number of measuring threads, one if the meter chooses the CPUs.
pub fn threads(settings: &RunSettings) -> f64 {
    settings.cpus.as_ref().map_or(1, Vec::len).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(options: &str, both: &[&str]) -> Result<Variant, UsageError> {
        let both: Vec<String> = both.iter().map(|word| (*word).to_owned()).collect();
        Variant::parse(options, &both, None).map(|(variant, _)| variant)
    }

    #[test]
    fn options_are_split_as_a_shell_does() {
        let made = variant("--load-cmd 'make -j4' --load-cmd \"echo it's\"", &[]).unwrap();
        let lines: Vec<String> = made.settings.loads.iter().map(|load| load.text()).collect();
        assert_eq!(lines, ["make -j4", "echo it's"]);
        assert!(variant("--load-cmd 'make", &[]).unwrap_err().0.contains("has no end"));
        assert_eq!(variant("", &[]).unwrap().options, "");
    }

    #[test]
    fn a_variant_adds_to_what_both_share() {
        let made = variant("--priority 90 --load-cmd 'make -j4'", &["--duration", "20s", "--cpus", "0-1"]).unwrap();
        assert_eq!((made.settings.priority, made.settings.duration_ns), (90, Some(20_000_000_000)));
        assert_eq!((made.settings.loads.len(), made.target.as_str()), (1, "local"));
        assert_eq!(made.samples(), 40_000.0);
    }

    #[test]
    fn options_that_are_none_are_refused_with_their_name() {
        assert!(variant("--prio 90", &[]).unwrap_err().0.contains("--prio"));
        assert!(variant("--priority 90", &["--priority", "80"]).unwrap_err().0.contains("--priority"));
        assert!(variant("--out x", &[]).unwrap_err().0.contains("--out"));
    }
}
