//! The frequency governor changes the speed of a CPU.

use super::about::{About, Proof, SWITCHED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a thread called sugov:N, or a worker of a cpufreq governor, has the CPU while the thread could run",
    events: SWITCHED,
    shows: "the governor's thread by name had the CPU after the wake-up",
    reading: &["CPU Performance Scaling"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named =
    Named { threads: &["sugov:*"], functions: &["dbs_work_handler", "cpufreq_*", "sugov_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
