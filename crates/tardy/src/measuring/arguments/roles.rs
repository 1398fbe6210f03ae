//! The settings of each machine of a run whose stimuli another target gives.

use super::RunArguments;
use super::declared::Contradiction;
use super::stimulus::{STIMULUS, StimulusSource};
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use machines::local;

/// Time beside that of the measurement for which a target answers if nothing ends it: the other machine must have started by
/// then, and a host that vanishes leaves no run for ever.
const STARTING_NS_MAX: u64 = 600_000_000_000;

/// The part of another machine in a run.
#[derive(Debug, Clone)]
pub struct RoleSettings {
    /// Name of a target, or `local`.
    pub machine: String,
    pub settings: RunSettings,
}

impl RunArguments {
    /// The machine that gives the stimuli to this target, if there is one.
    ///
    /// # Errors
    /// If method, options and machines do not fit together.
    pub fn stimulus_machine(&self, target: &str, virtual_time: bool) -> Result<Option<RoleSettings>, Contradiction> {
        let Some((_, stimulus)) = self.divided(&self.undivided_settings(virtual_time)?, virtual_time)? else {
            return Ok(None);
        };
        if stimulus.machine == target && target != local::NAME {
            return refused(&format!("{target} is the target itself; name another machine"));
        }
        Ok(Some(stimulus))
    }

    /// The settings of the target, and those of the machine that gives it the stimuli. Loads, kernel settings, CPUs and the trace
    /// are those of the machine under test.
    pub(super) fn divided(
        &self,
        whole: &RunSettings,
        virtual_time: bool,
    ) -> Result<Option<(RunSettings, RoleSettings)>, Contradiction> {
        let Some(StimulusSource::Machine(request)) = &self.measurement.stimulus else { return Ok(None) };
        if virtual_time {
            return refused("a machine in virtual time has no wires to another one");
        }
        if self.extent.limit.is_some() {
            return refused(
                "a --limit would be for both machines; leave it out, and judge the archive of one of them: tardy judge",
            );
        }
        let (answer, stimulus) =
            request.divide(&whole.method).map_err(|error| Contradiction::new(STIMULUS, error.to_string()))?;
        let answering_ns = |ns: u64| ns.saturating_add(whole.settle_ns).saturating_add(STARTING_NS_MAX);
        let target = RunSettings {
            method: answer,
            // It ends when the other machine has measured.
            duration_ns: whole.duration_ns.map(answering_ns),
            cycles: None,
            dither_seed: None,
            ..whole.clone()
        };
        let settings = RunSettings {
            method: stimulus,
            cpus: None,
            loads: Vec::new(),
            settings: Vec::new(),
            sources: Vec::new(),
            trace: TraceSettings { mode: SnapshotMode::Off, tracer: None, ..whole.trace.clone() },
            ..whole.clone()
        };
        Ok(Some((target, RoleSettings { machine: request.machine.clone(), settings })))
    }
}

fn refused<T>(why: &str) -> Result<T, Contradiction> {
    Err(Contradiction::new(STIMULUS, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::Role;

    fn divided(words: &str) -> Result<(RunSettings, RoleSettings), String> {
        let arguments = RunArguments::of_words(words.split_whitespace()).unwrap();
        let settings = arguments.settings(false).map_err(|error| error.to_string())?;
        let stimulus = arguments.stimulus_machine(&arguments.target, false).map_err(|error| error.to_string())?;
        Ok((settings, stimulus.unwrap()))
    }

    #[test]
    fn what_disturbs_and_explains_is_on_the_target_and_time_is_counted_on_the_other_machine() {
        let words = "--target board --method serial:port=/dev/ttyS1 --stimulus pc:port=/dev/ttyUSB0 -D 10s --settle 1s \
                     -l 9 --seed 3 --load cpu:1 --cpus 1 --set kernel.x=1 -p 70";
        let (target, RoleSettings { machine, settings: stimulus }) = divided(words).unwrap();
        assert_eq!(machine, "pc");
        assert_eq!((target.duration_ns, target.cycles, target.dither_seed), (Some(611_000_000_000), None, None));
        assert_eq!(
            (stimulus.duration_ns, stimulus.cycles, stimulus.dither_seed),
            (Some(10_000_000_000), Some(9), Some(3))
        );
        assert_eq!((target.loads.len(), target.settings.len(), target.cpus.as_deref()), (1, 1, Some(&[1][..])));
        assert_eq!((stimulus.loads.len(), stimulus.settings.len(), stimulus.cpus.as_deref()), (0, 0, None));
        assert_eq!((target.trace.mode, stimulus.trace.mode), (SnapshotMode::Auto, SnapshotMode::Off));
        assert_eq!((target.priority, stimulus.priority), (70, 70));
        assert_eq!((target.method.end(), stimulus.method.end()), (Some(Role::Answer), Some(Role::Stimulus)));
        assert!(target.stimulus.is_none() && stimulus.stimulus.is_none(), "there is no board");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let serial = "--method serial:port=/dev/ttyS1";
        for (words, named) in [
            (format!("{serial} --stimulus pc --limit 1ms"), "tardy judge"),
            (format!("{serial} --target pc --stimulus pc"), "the target itself"),
            ("--stimulus pc".into(), "timer has one machine"),
        ] {
            let refused = divided(&words).unwrap_err();
            assert!(refused.contains(named), "{words}: {refused}");
        }
        let arguments = RunArguments::of_words(format!("{serial} --stimulus pc").split_whitespace()).unwrap();
        assert!(arguments.settings(true).unwrap_err().to_string().contains("virtual time"));
        assert!(divided(&format!("{serial} --stimulus local")).is_ok(), "two ports of one machine");
    }
}
