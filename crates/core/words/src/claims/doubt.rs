//! Doubts about a machine.

use claims::doubt::DoubtEvidence;

/// The doubt as a clause.
pub fn text(evidence: &DoubtEvidence) -> String {
    match evidence {
        DoubtEvidence::VirtualTime => {
            "the figures are virtual time: executed instructions, not time on hardware".to_owned()
        }
        DoubtEvidence::Emulated => {
            "the machine was emulated: its latencies mean nothing as real-time figures".to_owned()
        }
        DoubtEvidence::NoEnvironment => "the machine and its kernel are unknown".to_owned(),
        DoubtEvidence::Hypervisor(name) => {
            format!("this is a virtual machine ({name}): its host decides when it runs")
        }
        DoubtEvidence::Container(name) => format!("it ran in a container ({name})"),
        DoubtEvidence::NotPreemptRt => "the kernel is not PREEMPT_RT".to_owned(),
        DoubtEvidence::PreemptRtUnknown => "the kernel does not say whether it is PREEMPT_RT".to_owned(),
    }
}
