//! Words about silence: hypervisor or firmware.

use super::on_the_host;
use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::holder;
use crate::voice::Share;
use archive::culprit::{
    CameIn, ControllerRequest, ForeignText, KernelName, Silence, SilencedBy, SilentPlace, StoodStillIn, UnmaskedCode,
};

pub const ADVICE: Advice = Advice {
    title: "hypervisor or firmware",
    confirm: "bare metal: rdmsr 0x34 before and after (Intel counts system management interrupts there), the hwlat tracer; guest: kvm:kvm_exit and kvm:kvm_entry on the host",
    fix: "bare metal: BIOS settings for legacy USB, error polling, power capping and fan control; guest: virtual CPUs pinned one to one on isolated CPUs",
};

pub fn words(facts: &Silence, share: Share) -> FindingWords {
    let by = by(&facts.by);
    let sentence = match &facts.place {
        SilentPlace::AllCpus => format!("no CPU recorded anything ({share}): {by}"),
        SilentPlace::NotDelivered => {
            format!("the timer interrupt was not delivered although interrupts were enabled ({share}): {by}")
        }
        SilentPlace::StoodStill { cpu, within: place } => {
            format!("CPU {cpu} stood still {} ({share}): {by}", within(place))
        }
    };
    let in_a_guest = matches!(&facts.by, SilencedBy::Stolen { host: Some(_) } | SilencedBy::HostOrFirmware { .. });
    let (confirm, fix) = match in_a_guest {
        true => (on_the_host::CONFIRM, on_the_host::FIX),
        false => (
            "rdmsr 0x34 before and after (Intel counts system management interrupts there); the hwlat tracer",
            "BIOS: legacy USB, error polling, power capping and fan control; never switch off thermal protection",
        ),
    };
    FindingWords { sentence, evidence: evidence(facts), confirm: confirm.into(), fix: fix.into() }
}

fn by(by: &SilencedBy) -> String {
    match by {
        SilencedBy::Stolen { host: Some(ForeignText(host)) } => {
            format!("the hypervisor ({host}) ran something else: the guest's steal time grew")
        }
        SilencedBy::Stolen { host: None } => "a hypervisor ran something else: the guest's steal time grew".into(),
        SilencedBy::HostOrFirmware { host: ForeignText(host) } => {
            format!("the hypervisor ({host}) or firmware had the CPU")
        }
        SilencedBy::FirmwareOrHardware => "firmware (a system management interrupt) or the hardware".into(),
        SilencedBy::Unknown => "firmware, the hardware or a hypervisor".into(),
    }
}

fn within(place: &StoodStillIn) -> String {
    match place {
        StoodStillIn::Request(request) => while_it(*request).into(),
        StoodStillIn::Switch => "in the switch from one thread to the next".into(),
        StoodStillIn::BetweenInterruptAndSoftirqs => "between an interrupt and its softirqs".into(),
        StoodStillIn::Interrupt(interrupt) => format!("in the interrupt {}", holder(interrupt)),
    }
}

fn while_it(request: ControllerRequest) -> &'static str {
    match request {
        ControllerRequest::Interrupt => "while it sent an interrupt to another CPU",
        ControllerRequest::Timer => "while it set its timer",
    }
}

fn evidence(facts: &Silence) -> Vec<String> {
    let overdue = facts.overdue.map(|timer| {
        format!("a timer of CPU {} was due meanwhile and fired {} late, too", timer.cpu, latency(timer.late_ns))
    });
    let requests = facts.requests.iter().map(|one| {
        format!(
            "for {} the CPU recorded nothing, with interrupts masked, {}: the code there takes microseconds, and in a guest exits to the hypervisor",
            latency(one.ns),
            while_it(one.request)
        )
    });
    let elsewhere = (facts.still_elsewhere_ns > 0).then(|| {
        format!(
            "for {} the CPU recorded nothing inside of an interrupt, on the way out of one or in a switch of threads: the code there takes microseconds",
            latency(facts.still_elsewhere_ns)
        )
    });
    overdue.into_iter().chain(requests).chain(elsewhere).chain(facts.came_in.as_ref().map(came_in)).collect()
}

/// Where the late interrupt came in.
fn came_in(came_in: &CameIn) -> String {
    let shown_by = if came_in.is_recorded { "the kernel's record" } else { "a stack trace" };
    let place = match &came_in.code {
        UnmaskedCode::UserSpace => "in user space, where no interrupt is masked".into(),
        UnmaskedCode::Neutral(KernelName(function)) => format!("inside `{function}`, which does not mask interrupts"),
        UnmaskedCode::EnabledEarlier(KernelName(function)) => format!(
            "inside `{function}`; the code right before that instruction does not enable interrupts, so they were enabled earlier"
        ),
        UnmaskedCode::Entry(KernelName(function)) => {
            format!("at `{function}`, where interrupts are masked for less than a microsecond")
        }
    };
    format!("{shown_by} shows that the interrupt came in {place}")
}
