//! The options of `tardy run` from the keys of a plan: each key sets one field, with the parser of its option.

use super::stimulus::{StimulusSource, StimulusSourceError};
use super::trace::TraceName;
use super::tracer::SourceName;
use super::words::defaults;
use super::{CpuList, RunArguments, SettingError, setting_change};
use crate::options::quantity::{
    QuantityError, cpus, interval_ns, latency_ns, positive_time_ns, real_time_priority, time_ns, whole_microseconds_ns,
};
use archive::load::LoadWordsError;
use archive::method::{MethodRequest, MethodWordsError};
use archive::settings::LoadRequest;
use clap::ValueEnum;
use runner::plan::LoadChoice;
use runner::plan::document::{Problem, Written};
use runner::plan::options::{Choice, FlagKey, ListKey, PlanOption, TextKey};
use std::str::FromStr;
use thiserror::Error;

/// What is wrong with a value of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Load(#[from] LoadWordsError),
    #[error(transparent)]
    Method(#[from] MethodWordsError),
    #[error(transparent)]
    Stimulus(#[from] StimulusSourceError),
    #[error("`{value}` is not one of {}", .names.join(", "))]
    Name { value: String, names: Vec<String> },
    #[error("`{value}` is not a whole number of at least {least}")]
    Number { value: String, least: u64 },
}

impl RunArguments {
    /// The arguments that a plan with these options and this load requests, and every problem with them, each with its
    /// line.
    pub fn planned(options: &[PlanOption], load: &LoadChoice) -> (Self, Vec<Problem>) {
        let mut arguments = defaults();
        let mut problems = Vec::new();
        let mut add = |name: &str, line: usize, outcome: Result<(), ValueError>| {
            problems.extend(outcome.err().map(|why| Problem { line: Some(line), text: format!("{name}: {why}") }));
        };
        for PlanOption { name, choice, line } in options {
            match choice {
                Choice::Text(key, value) => add(name, *line, arguments.set_text(*key, value)),
                Choice::Flag(key, value) => arguments.set_flag(*key, *value),
                Choice::List(key, values) => {
                    values.iter().for_each(|value| add(name, value.line, arguments.push(*key, &value.text)));
                }
                Choice::Setting(value) => {
                    let change = setting_change(name, value).map_err(ValueError::from);
                    add(name, *line, change.map(|change| arguments.settings.push(change)));
                }
            }
        }
        for Written { text, line } in &load.builtin {
            let request = LoadRequest::parse(text).map_err(ValueError::from);
            add("loads", *line, request.map(|request| arguments.load.loads.push(request)));
        }
        arguments.load.load_commands.extend(load.commands.iter().map(|command| command.text.clone()));
        problems.extend(arguments.contradictions(options));
        (arguments, problems)
    }

    fn set_text(&mut self, key: TextKey, value: &str) -> Result<(), ValueError> {
        match key {
            TextKey::Method => self.method = MethodRequest::parse(value)?,
            TextKey::Stimulus => self.stimulus = Some(StimulusSource::parse(value)?),
            TextKey::Duration => self.extent.duration = Some(positive_time_ns(value)?),
            TextKey::Cycles => self.cycles = Some(number(value, 1)?),
            TextKey::Interval => self.interval = interval_ns(value)?,
            TextKey::Seed => self.seed = Some(number(value, 0)?),
            TextKey::Settle => self.settle = time_ns(value).map_err(QuantityError::from)?,
            TextKey::Cpus => self.cpus = Some(CpuList(cpus(value)?)),
            TextKey::Policy => self.policy = named(value)?,
            TextKey::Priority => self.priority = real_time_priority(value)?,
            TextKey::CpuDmaLatency => self.cpu_dma_latency = Some(whole_microseconds_ns(value)?),
            TextKey::WorstKept => self.output.worst_kept = Some(number(value, 0)?),
            TextKey::MeterTimeout => self.output.silence = positive_time_ns(value).map_err(QuantityError::from)?,
            TextKey::TraceMode => self.trace.trace = named::<TraceName>(value)?,
            TextKey::TraceThreshold => self.trace.trace_threshold = latency_ns(value)?,
            TextKey::BufferKb => self.trace.buffer_kb = Some(number(value, 8)?),
            TextKey::Snapshots => self.trace.snapshots = Some(number(value, 0)?),
            TextKey::BudgetMb => self.trace.budget_mb = Some(number(value, 1)?),
            TextKey::Controls => self.trace.controls = number(value, 0)?,
            TextKey::Tracer => self.tracers.tracer = Some(value.into()),
            TextKey::TracerThreshold => self.tracers.tracer_threshold = Some(whole_microseconds_ns(value)?),
        }
        Ok(())
    }

    fn set_flag(&mut self, key: FlagKey, value: bool) {
        match key {
            FlagKey::LockMemory => self.no_lock_memory = !value,
            FlagKey::Counters => self.no_counters = !value,
            FlagKey::Degrade => self.degrade = value,
            FlagKey::EverySample => self.output.every_sample = value,
            FlagKey::BesideOthers => self.trace.beside_others = value,
            FlagKey::Stack => self.tracers.stack = value,
        }
    }

    fn push(&mut self, key: ListKey, value: &str) -> Result<(), ValueError> {
        match key {
            ListKey::Functions => self.tracers.functions.extend(value.split(',').map(str::to_owned)),
            ListKey::FunctionsNot => self.tracers.functions_not.extend(value.split(',').map(str::to_owned)),
            ListKey::Sources => self.tracers.sources.push(named::<SourceName>(value)?),
        }
        Ok(())
    }

    /// Keys that lack a key they require; on a command line clap checks this.
    fn contradictions(&self, options: &[PlanOption]) -> Vec<Problem> {
        if self.tracers.tracer.is_some() {
            return Vec::new();
        }
        let of_a_tracer = |option: &&PlanOption| {
            matches!(
                option.choice,
                Choice::List(ListKey::Functions | ListKey::FunctionsNot, _) | Choice::Text(TextKey::TracerThreshold, _)
            )
        };
        let problem = |option: &PlanOption| Problem {
            line: Some(option.line),
            text: format!("{}: needs `tracer` in [trace], like tracer = \"function\"", option.name),
        };
        options.iter().filter(of_a_tracer).map(problem).collect()
    }
}

fn named<T: ValueEnum>(value: &str) -> Result<T, ValueError> {
    T::from_str(value, false).map_err(|_| ValueError::Name {
        value: value.into(),
        names: T::value_variants()
            .iter()
            .filter_map(|name| Some(name.to_possible_value()?.get_name().into()))
            .collect(),
    })
}

fn number<T: FromStr + PartialOrd + TryFrom<u64>>(value: &str, least: u64) -> Result<T, ValueError> {
    let enough = |number: &T| T::try_from(least).is_ok_and(|least| *number >= least);
    value.parse().ok().filter(enough).ok_or_else(|| ValueError::Number { value: value.into(), least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner::plan::Plan;
    use runner::plan::options::{MEASUREMENT, TRACE};

    /// Each key of a plan with a value, and the equivalent words of the command line.
    const SAME: [(&str, &str, &str, &str); 30] = [
        ("measurement", "method", "\"semaphore:kind=sysv\"", "--method semaphore:kind=sysv"),
        ("measurement", "stimulus", "\"latmon:10.0.0.7\"", "--stimulus latmon:10.0.0.7"),
        ("measurement", "duration", "\"2s\"", "--duration 2s"),
        ("measurement", "cycles", "7", "--cycles 7"),
        ("measurement", "interval", "\"250us\"", "--interval 250us"),
        ("measurement", "seed", "9", "--seed 9"),
        ("measurement", "settle", "\"1s\"", "--settle 1s"),
        ("measurement", "cpus", "\"0-1,3\"", "--cpus 0-1,3"),
        ("measurement", "policy", "\"rr\"", "--policy rr"),
        ("measurement", "priority", "90", "--priority 90"),
        ("measurement", "lock_memory", "false", "--no-lock-memory"),
        ("measurement", "cpu_dma_latency", "\"20us\"", "--cpu-dma-latency 20us"),
        ("measurement", "counters", "false", "--no-counters"),
        ("measurement", "degrade", "true", "--degrade"),
        ("measurement", "every_sample", "true", "--every-sample"),
        ("measurement", "worst_kept", "7", "--worst-kept 7"),
        ("measurement", "meter_timeout", "\"9s\"", "--meter-timeout 9s"),
        ("trace", "mode", "\"flip\"", "--trace flip"),
        ("trace", "threshold", "\"20us\"", "--trace-threshold 20us"),
        ("trace", "buffer_kb", "64", "--buffer-kb 64"),
        ("trace", "snapshots", "3", "--snapshots 3"),
        ("trace", "budget_mb", "2", "--budget-mb 2"),
        ("trace", "controls", "1", "--controls 1"),
        ("trace", "beside_others", "true", "--beside-others"),
        ("trace", "tracer", "\"irqsoff\"", "--tracer irqsoff"),
        ("trace", "functions", "[\"ext4_*\", \":mod:x\"]", "--functions ext4_*,:mod:x"),
        ("trace", "functions_not", "\"*rcu*\"", "--functions-not *rcu*"),
        ("trace", "tracer_threshold", "\"50us\"", "--tracer-threshold 50us"),
        ("trace", "stack", "true", "--stack"),
        ("trace", "sources", "[\"hwlat\", \"osnoise\"]", "--source hwlat --source osnoise"),
    ];

    fn planned(text: &str) -> (RunArguments, Vec<Problem>) {
        let (plan, found) = Plan::read("x", text);
        assert_eq!(found, [], "{text}");
        let step = plan.unwrap().steps().remove(0);
        RunArguments::planned(&step.options, &step.load)
    }

    #[test]
    fn a_key_asks_for_what_its_option_of_run_asks_for() {
        let usual = format!("{:?}", defaults());
        for (section, key, value, words) in SAME {
            let needs_tracer = key.starts_with("functions") || key == "tracer_threshold";
            let (with, beside) =
                if needs_tracer { ("tracer = \"function\"\n", "--tracer function ") } else { ("", "") };
            let (found, problems) = planned(&format!("[{section}]\n{with}{key} = {value}\n"));
            assert_eq!(problems, [], "{key}");
            let words = format!("{beside}{words}");
            let typed = RunArguments::of_words(words.split_whitespace()).unwrap();
            assert_eq!(format!("{found:?}"), format!("{typed:?}"), "{key}");
            assert_ne!(format!("{found:?}"), usual, "{key} = {value} changes nothing");
        }
        let (found, problems) = planned(
            "loads = [{ run = \"cpu:2 + messaging\", command = \"make -j4\" }]\n[set]\n\"kernel.sched_rt_runtime_us\" = -1\n",
        );
        let words = ["--load=cpu:2", "--load=messaging", "--load-cmd=make -j4", "--set=kernel.sched_rt_runtime_us=-1"];
        assert_eq!((format!("{found:?}"), problems), (format!("{:?}", RunArguments::of_words(words).unwrap()), vec![]));
    }

    #[test]
    fn every_option_of_run_has_a_key_or_a_reason_to_have_none() {
        use clap::Args;
        // A plan sets these in another way, or they apply only to virtual time, to a single process or to a command, or take
        // a file.
        let without = [
            "fio",
            "load",
            "load-cmd",
            "load-once",
            "stop-at-limit",
            "set",
            "limit",
            "target",
            "seeds",
            "trace-pid",
            "trace-children",
            "out",
            "json",
            "quiet",
            "no-live",
        ];
        let keys: Vec<(&str, &str)> = MEASUREMENT
            .iter()
            .map(|(name, _)| ("measurement", *name))
            .chain(TRACE.iter().map(|(name, _)| ("trace", *name)))
            .collect();
        let tried: Vec<(&str, &str)> = SAME.iter().map(|(section, key, ..)| (*section, *key)).collect();
        assert_eq!(keys, tried, "every key is compared with its option");
        let command = RunArguments::augment_args(clap::Command::new("run"));
        for option in command.get_arguments().filter_map(|option| option.get_long()) {
            let word = format!("--{option}");
            let has_key = SAME.iter().any(|(.., words)| words.split_whitespace().any(|known| known == word));
            assert!(has_key || without.contains(&option), "{word} of `tardy run` has no key in a plan");
        }
    }

    #[test]
    fn numbers_have_the_bounds_of_their_options() {
        let problem = |text: &str| planned(text).1.into_iter().map(|problem| problem.text).collect::<Vec<_>>();
        for (section, key, refused, least) in [
            ("measurement", "cycles", "0", 1),
            ("trace", "buffer_kb", "7", 8),
            ("trace", "budget_mb", "0", 1),
            ("trace", "controls", "-1", 0),
        ] {
            let text = format!("[{section}]\n{key} = {refused}\n");
            assert_eq!(problem(&text), [format!("{key}: `{refused}` is not a whole number of at least {least}")]);
        }
        assert_eq!(
            problem("[trace]\nsources = [\"hwlat\",\n\"smi\"]"),
            ["sources: `smi` is not one of timerlat, osnoise, hwlat"]
        );
    }
}
