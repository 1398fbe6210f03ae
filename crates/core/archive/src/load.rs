//! The available loads and their notation: the words of `--load`, of plans and of variants, which the host parses and
//! the meter executes.

mod builtin;
mod programs;
mod words;

pub use builtin::{BUILTIN_LOADS, BuiltinLoad, Workers, builtin};
pub use programs::{PROGRAM_LOADS, ProgramLoad, ProgramOption, Subject, program};
pub use words::{LoadWordsError, cpu_list};

/// Unit of a load that counts no work, such as a user's command: its processor time is used instead.
pub const CPU_TICKS: &str = "CPU ticks";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_loads_have_one_name() {
        let mut names: Vec<&str> = BUILTIN_LOADS.iter().map(|load| load.name).collect();
        names.extend(PROGRAM_LOADS.iter().map(|load| load.name));
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_part_of_a_mix_is_a_load_of_its_own() {
        for part in BUILTIN_LOADS.iter().flat_map(|load| load.parts) {
            assert!(builtin(part).is_some_and(|load| load.parts.is_empty()), "{part}");
        }
    }

    #[test]
    fn every_load_has_workers_on_one_cpu() {
        for load in BUILTIN_LOADS.iter().filter(|load| load.parts.is_empty()) {
            assert!(load.workers.on(1) >= 1, "{}", load.name);
        }
    }
}
