//! The options of `tardy run` from the keys of a plan: each is typed as the command line would, so that names, parsers, bounds
//! and requirements are those of the one declaration.

use super::RunArguments;
use super::declared::InPlans;
use super::measurement::setting_change;
use super::words::{definition, reason};
use archive::settings::LoadRequest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction};
use runner::plan::LoadChoice;
use runner::plan::document::{Problem, Written};
use runner::plan::options::{Choice, Key, Keys, Kind, Place, PlanOption};
use std::sync::LazyLock;

/// The options, each with its declaration beside and inside of a plan.
pub(super) fn declared() -> impl Iterator<Item = (&'static Arg, InPlans)> {
    definition().get_arguments().filter_map(|option| Some((option, *option.get::<InPlans>()?)))
}

/// The keys of a plan that are options of `tardy run`.
pub fn keys() -> &'static Keys {
    static KEYS: LazyLock<Keys> = LazyLock::new(|| {
        let mut keys = Keys::default();
        for (option, in_plans) in declared() {
            match in_plans.key {
                Ok(place) => keys.known.push(Key { place, name: option.get_id().as_str(), kind: kind(option) }),
                Err(instead) => {
                    keys.refused.extend(option.get_long().map(|long| (long.replace('-', "_"), instead)));
                }
            }
        }
        keys
    });
    &KEYS
}

fn kind(option: &Arg) -> Kind {
    match option.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => Kind::Flag,
        ArgAction::Append => Kind::List,
        _ => Kind::Text,
    }
}

/// The option with this key.
fn option_of(place: Place, key: &str) -> Option<&'static Arg> {
    declared().find(|(option, in_plans)| in_plans.key == Ok(place) && option.get_id() == key).map(|(option, _)| option)
}

/// Whether the key is the option with this long name.
pub fn sets(option: &PlanOption, long: &str) -> bool {
    option_of(option.place, &option.name).and_then(Arg::get_long) == Some(long)
}

/// A word of the command line, with its line in the plan.
struct Word {
    text: String,
    line: usize,
}

/// The words for the choice of a plan.
fn words(option: &Arg, choice: &Choice, line: usize) -> Vec<Word> {
    let long = option.get_long().unwrap_or_default();
    let valued = |text: &str, line| Word { text: format!("--{long}={text}"), line };
    match choice {
        Choice::Text(text) => vec![valued(text, line)],
        Choice::List(values) => values.iter().map(|written| valued(&written.text, written.line)).collect(),
        // Some flags turn off what their field has.
        Choice::Flag(value) if *value == matches!(option.get_action(), ArgAction::SetFalse) => Vec::new(),
        Choice::Flag(_) => vec![Word { text: format!("--{long}"), line }],
    }
}

fn parsed<'a>(words: impl IntoIterator<Item = &'a Word>) -> Result<RunArguments, clap::Error> {
    RunArguments::of_words(words.into_iter().map(|word| word.text.as_str()))
}

/// Keys that are missing for an option, `tracer` in [trace], with those that the plan has left out.
fn missing(error: &clap::Error, options: &[PlanOption]) -> Vec<String> {
    let Some(ContextValue::Strings(needed)) = error.get(ContextKind::InvalidArg) else { return Vec::new() };
    let needed = declared().filter(|(option, _)| needed.contains(&option.to_string()));
    let absent = needed.filter(|(option, _)| !options.iter().any(|set| option.get_id() == set.name.as_str()));
    let place =
        |in_plans: InPlans| in_plans.key.map_or("the command line".into(), |place| format!("[{}]", place.name()));
    absent.map(|(option, in_plans)| format!("`{}` in {}", option.get_id(), place(in_plans))).collect()
}

impl RunArguments {
    /// The arguments that a plan with these options and this load requests.
    ///
    /// # Errors
    /// Every problem with them, each with its line.
    pub fn planned(options: &[PlanOption], load: &LoadChoice) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut add = |name: &str, line: usize, why: String| {
            problems.push(Problem { line: Some(line), text: format!("{name}: {why}") });
        };
        let (mut typed, mut settings, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for PlanOption { place, name, choice, line } in options {
            match (option_of(*place, name), choice) {
                (Some(option), choice) => {
                    let mut needs = Vec::new();
                    for word in words(option, choice, *line) {
                        match parsed([&word]) {
                            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                                needs = missing(&error, options);
                            }
                            Err(error) => add(name, word.line, reason(&error)),
                            Ok(_) => {}
                        }
                        typed.push(word);
                    }
                    if !needs.is_empty() {
                        add(name, *line, format!("needs {}", needs.join(" and ")));
                    }
                }
                (None, Choice::Text(value)) if *place == Place::Set => match setting_change(name, value) {
                    Ok(change) => settings.push(change),
                    Err(why) => add(name, *line, why.to_string()),
                },
                (None, _) => add(name, *line, "it is not an option of `tardy run`".into()),
            }
        }
        for Written { text, line } in &load.builtin {
            match LoadRequest::parse(text) {
                Ok(request) => loads.push(request),
                Err(why) => add("loads", *line, why.to_string()),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut arguments = parsed(&typed).map_err(|error| vec![Problem { line: None, text: reason(&error) }])?;
        arguments.measurement.settings = settings;
        arguments.load.loads = loads;
        arguments.load.load_commands = load.commands.iter().map(|command| command.text.clone()).collect();
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner::plan::Plan;

    /// Each key of a plan with a value, and the equivalent words of the command line.
    const SAME: &[(&str, &str, &str, &str)] = &[
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
        ("measurement", "keep_going", "true", "--keep-going"),
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

    fn planned(text: &str) -> Result<RunArguments, Vec<Problem>> {
        let (plan, found) = Plan::read("x", text, keys());
        assert_eq!(found, [], "{text}");
        let step = plan.unwrap().steps().remove(0);
        RunArguments::planned(&step.options, &step.load)
    }

    fn problems(text: &str) -> Vec<String> {
        planned(text).unwrap_err().into_iter().map(|problem| problem.text).collect()
    }

    #[test]
    fn a_key_asks_for_what_its_option_of_run_asks_for() {
        let usual = format!("{:?}", parsed([]).unwrap());
        for (section, key, value, words) in SAME.iter().copied() {
            let needs_tracer = key.starts_with("functions") || key == "tracer_threshold";
            let (with, beside) =
                if needs_tracer { ("tracer = \"function\"\n", "--tracer function ") } else { ("", "") };
            let found = planned(&format!("[{section}]\n{with}{key} = {value}\n")).unwrap();
            let words = format!("{beside}{words}");
            let typed = RunArguments::of_words(words.split_whitespace()).unwrap();
            assert_eq!(format!("{found:?}"), format!("{typed:?}"), "{key}");
            assert_ne!(format!("{found:?}"), usual, "{key} = {value} changes nothing");
        }
        let found = planned(
            "loads = [{ run = \"cpu:2 + messaging\", command = \"make -j4\" }]\n[set]\n\"kernel.sched_rt_runtime_us\" = -1\n",
        );
        let words = ["--load=cpu:2", "--load=messaging", "--load-cmd=make -j4", "--set=kernel.sched_rt_runtime_us=-1"];
        assert_eq!(format!("{:?}", found.unwrap()), format!("{:?}", RunArguments::of_words(words).unwrap()));
    }

    #[test]
    fn the_keys_of_released_plans_remain() {
        let tried: Vec<(&str, &str)> = SAME.iter().map(|(section, key, ..)| (*section, *key)).collect();
        let known = |(section, key): &(&str, &str)| {
            keys().known.iter().any(|known| (known.place.name(), known.name) == (*section, *key))
        };
        assert!(tried.iter().all(known), "{:?}", keys().known);
    }

    #[test]
    fn every_option_of_run_is_declared_for_plans_as_well() {
        for option in definition().get_arguments() {
            assert!(option.get::<InPlans>().is_some(), "{option}");
        }
    }

    #[test]
    fn a_flag_as_it_is_anyway_changes_nothing() {
        let found = planned("[measurement]\nlock_memory = true\ncounters = true\ndegrade = false\n").unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", parsed([]).unwrap()));
    }

    #[test]
    fn numbers_have_the_bounds_of_their_options() {
        for (section, key, refused, bounds) in [
            ("measurement", "cycles", "0", ", 1 or more"),
            ("measurement", "worst_kept", "100001", " from 0 to 100000"),
            ("trace", "buffer_kb", "7", ", 8 or more"),
            ("trace", "budget_mb", "0", ", 1 or more"),
            ("trace", "controls", "-1", ", 0 or more"),
        ] {
            let text = format!("[{section}]\n{key} = {refused}\n");
            let [problem] = &problems(&text)[..] else { panic!("{key}: {:?}", problems(&text)) };
            assert!(problem.starts_with(&format!("{key}: `{refused}` ")) && problem.ends_with(bounds), "{problem}");
        }
        let [problem] = &problems("[trace]\nsources = [\"hwlat\",\n\"smi\"]")[..] else { panic!("one is wrong") };
        assert!(problem.starts_with("sources: `smi` ") && problem.ends_with(" timerlat, osnoise, hwlat"), "{problem}");
    }

    #[test]
    fn a_key_names_the_key_that_it_needs() {
        let found = planned("[trace]\nbuffer_kb = 1\nfunctions = [\"a\",\n\"b\"]\n").unwrap_err();
        let found: Vec<(Option<usize>, &str)> =
            found.iter().map(|problem| (problem.line, problem.text.as_str())).collect();
        let expected = [
            (Some(2), "buffer_kb: `1` must be a whole number, 8 or more"),
            (Some(3), "functions: needs `tracer` in [trace]"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn function_graph_has_twice_the_buffer() {
        let buffer_kb = |text: &str| planned(text).unwrap().settings(false).unwrap().trace.buffer_kb_per_cpu;
        let graph = "[trace]\ntracer = \"function_graph\"\n";
        assert_eq!(buffer_kb(graph), 2 * buffer_kb("[trace]\ntracer = \"function\"\n"));
        assert_eq!(buffer_kb(&format!("{graph}buffer_kb = 64\n")), 64);
    }
}
