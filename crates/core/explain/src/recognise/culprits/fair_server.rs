//! The scheduler gave ordinary tasks their share although a real-time thread was runnable.

use super::about::{About, Proof, SWITCHED, Unrecorded};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::passed_over::PassedOver;
use archive::culprit::{FairServer, FairShare, ForeignText};
use archive::environment::Environment;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the scheduler switches to an ordinary task, or lets one keep running, while the real-time thread could run, on a kernel with a fair server (6.12 and later)",
    events: SWITCHED,
    shows: "a less urgent task was chosen; that the server chose it has no event",
    reading: &["Deadline Task Scheduling", "Scheduler debugfs"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[Unrecorded::Timers, Unrecorded::LostEvents],
};

/// One runtime of the fair server is like the others.
const RUNTIMES_MAX: usize = 2;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, FairShare>> {
    let found = PassedOver::find(case)?;
    let (may_be_throttling, confidence) = match found.is_throttling(case) {
        Some(true) => return None,
        Some(false) => (false, Confidence::Likely),
        // The end of the wait shows which: a new period of throttling, or the fair server's own decision. Here it can have been both.
        None if found.period_began_meanwhile(case) => (true, Confidence::Hint),
        None => (true, Confidence::Likely),
    };
    let environment = case.input.environment;
    let runtimes = environment.map_or(&[][..], |environment| &environment.fair_server_runtime);
    let facts = FairShare {
        preferred: found.preferred(case)?,
        may_be_throttling,
        spender: found.spender(case).map(|tid| case.names().task_name(tid)),
        rt_runtime_us: environment.and_then(|environment| environment.rt_runtime_us),
        server_runtimes: runtimes.iter().take(RUNTIMES_MAX).map(|line| ForeignText::from(line.as_str())).collect(),
        server: environment.and_then(|environment| server_of(environment, case.cpu())),
    };
    let events = found.asked.into_iter().chain([found.decision]).collect();
    Some(Claim { events, ..Claim::new(found.pieces, confidence, facts) })
}

/// The settings of a CPU, where the kernel shows both.
fn server_of(environment: &Environment, cpu: u32) -> Option<FairServer> {
    let of_cpu = |lines: &[String]| {
        let mut values = lines.iter().filter_map(|line| line.strip_prefix("cpu")?.split_once('='));
        values.find_map(|(of, value)| (of.parse() == Ok(cpu)).then(|| value.parse::<i64>().ok())?)
    };
    let runtime_ns = of_cpu(&environment.fair_server_runtime)?;
    Some(FairServer { cpu, runtime_ns, period_ns: of_cpu(&environment.fair_server_period)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_a_cpu_has_its_own_runtime_and_period() {
        let lines = |lines: [&str; 2]| lines.map(str::to_owned).to_vec();
        let environment = Environment {
            fair_server_runtime: lines(["cpu1=50000000", "cpu11=200000000"]),
            fair_server_period: lines(["cpu1=1000000000", "cpu11=250000000"]),
            ..Environment::default()
        };
        let unusual = FairServer { cpu: 11, runtime_ns: 200_000_000, period_ns: 250_000_000 };
        assert_eq!(server_of(&environment, 11), Some(unusual));
        assert!(!unusual.is_default() && server_of(&environment, 1).unwrap().is_default());
        assert_eq!(server_of(&environment, 2), None);
        assert_eq!(server_of(&Environment { fair_server_period: Vec::new(), ..environment }, 1), None);
    }
}
