//! The frequency governor changes the speed of a CPU.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread called sugov:N, or a worker of a cpufreq governor, has the CPU while the thread could run",
    confirm: "the events power:cpu_frequency; /sys/devices/system/cpu/cpufreq/policy*/stats/trans_table counts the changes",
    fix: "echo performance > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor, or scaling_min_freq equal to scaling_max_freq; for a test, also switch turbo off",
    reading: &["CPU Performance Scaling"],
    proof: Proof::MadeUp,
};

const NAMED: Named =
    Named { threads: &["sugov:*"], functions: &["dbs_work_handler", "cpufreq_*", "sugov_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the frequency governor changed the speed of a CPU")
}
