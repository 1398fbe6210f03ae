//! Whether latencies of a machine can show at all that a real-time limit holds.

use archive::summary::RunSummary;
use claims::doubt::DoubtEvidence;
pub use claims::doubt::{Doubt, DoubtKind};

/// Everything that prevents this run from passing a real-time limit.
pub fn doubts(summary: &RunSummary) -> Vec<Doubt> {
    let said = |evidence: DoubtEvidence| Doubt { kind: evidence.kind(), text: words::claims::doubt::text(&evidence) };
    evidence(summary).into_iter().map(said).collect()
}

fn evidence(summary: &RunSummary) -> Vec<DoubtEvidence> {
    let mut found = Vec::new();
    if summary.virtual_time {
        found.push(DoubtEvidence::VirtualTime);
    } else if summary.emulated {
        found.push(DoubtEvidence::Emulated);
    }
    let Some(environment) = &summary.environment else {
        found.push(DoubtEvidence::NoEnvironment);
        return found;
    };
    let named = |value: &Option<String>| value.clone().filter(|name| !name.is_empty() && name != "none");
    let hypervisor = named(&environment.virtualisation).filter(|_| !summary.emulated);
    found.extend(hypervisor.map(DoubtEvidence::Hypervisor));
    found.extend(named(&environment.container).map(DoubtEvidence::Container));
    match environment.preempt_rt {
        Some(true) => {}
        Some(false) => found.push(DoubtEvidence::NotPreemptRt),
        None => found.push(DoubtEvidence::PreemptRtUnknown),
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::environment::Environment;
    use archive::reader::Run;

    fn kinds(emulated: bool, environment: Option<Environment>) -> Vec<DoubtKind> {
        let summary = RunSummary { emulated, environment, ..RunSummary::of(&Run::default(), &[]) };
        doubts(&summary).iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn only_a_real_machine_with_a_real_time_kernel_is_beyond_doubt() {
        let good = Environment {
            preempt_rt: Some(true),
            virtualisation: Some("none".into()),
            container: None,
            ..Environment::default()
        };
        assert_eq!(kinds(false, Some(good.clone())), []);
        assert_eq!(kinds(true, Some(good.clone())), [DoubtKind::Emulated]);
        let guest = Environment { virtualisation: Some("kvm".into()), preempt_rt: None, ..good.clone() };
        assert_eq!(kinds(false, Some(guest)), [DoubtKind::Virtual, DoubtKind::NonRt]);
        let contained = Environment { container: Some("docker".into()), preempt_rt: Some(false), ..good };
        assert_eq!(kinds(false, Some(contained)), [DoubtKind::Container, DoubtKind::NonRt]);
        assert_eq!(kinds(false, None), [DoubtKind::Unknown]);
    }
}
