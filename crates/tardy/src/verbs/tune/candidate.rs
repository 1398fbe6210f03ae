//! The settings that tuning tries: from the findings of a check and from the command line.

use crate::exit::UsageError;
use crate::measuring::arguments::setting_change;
use archive::facts::Applied;
use archive::settings::SettingChange;
use judge::tune::CANDIDATES_MAX;
use machines::{BootWords, KnownTarget};
use readiness::{Finding, Fix, writes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

const BOOT: &str = "boot ";
const BOOT_WITHOUT: &str = "boot-without ";
const FIRMWARE: &str = "firmware ";

/// A setting that a run has or lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub name: String,
    /// The rule of `tardy check` that found it; `None` if the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The files that a run with it changes.
    pub changes: Vec<Changed>,
    #[serde(default, skip_serializing_if = "BootWords::is_empty")]
    pub boot: BootWords,
    /// The setting that a person changes in the firmware's setup; such a candidate has no other change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
}

/// One file of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    #[serde(flatten)]
    pub change: SettingChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// A setting that is not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub name: String,
    pub why: WhyLeftOut,
}

/// Why a setting is not tried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyLeftOut {
    /// The finding has no fix that a program can make.
    ByHand,
    /// The target does not boot for each run.
    NeedsBoot,
    /// It is in the firmware of the machine that this program runs on, and the boot would end the program.
    EndsWithBoot,
    /// The target is a virtual machine.
    NoFirmware,
    /// A person answers at each boot, and the program is not run on a terminal.
    NoTerminal,
    /// The machine has the value already.
    SetAlready,
    /// Another candidate changes the same file.
    SameFile(String),
    /// By the kernel, in its words.
    Refused(String),
    /// On the command line.
    Unwanted,
    /// There are too many others.
    TooMany,
}

/// The settings to try, and the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    pub tried: Vec<Candidate>,
    pub left_out: Vec<LeftOut>,
}

impl Candidate {
    /// From `NAME: PATH=VALUE; boot WORD; boot-without WORD`.
    ///
    /// # Errors
    /// Describes the expected form.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let refused = |why: &str| UsageError(format!("--candidate '{text}': {why}"));
        let (name, parts) = text
            .split_once(": ")
            .ok_or_else(|| refused("write NAME: PATH=VALUE, such as 'no-thp: vm.stat_interval=120'"))?;
        if name.trim().is_empty() {
            return Err(refused("the name before the colon is empty"));
        }
        let mut candidate = Self {
            name: name.trim().into(),
            rule: None,
            changes: Vec::new(),
            boot: BootWords::default(),
            firmware: None,
        };
        for part in parts.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            if let Some(word) = part.strip_prefix(BOOT) {
                candidate.boot.add.push(word.trim().into());
            } else if let Some(word) = part.strip_prefix(BOOT_WITHOUT) {
                candidate.boot.remove.push(word.trim().into());
            } else if let Some(set) = part.strip_prefix(FIRMWARE) {
                candidate.firmware = Some(set.trim().into());
            } else {
                let (path, value) = part
                    .split_once('=')
                    .ok_or_else(|| refused("a change is PATH=VALUE, boot WORD, boot-without WORD or firmware TEXT"))?;
                let change = setting_change(path, value).map_err(|why| refused(&why.to_string()))?;
                candidate.changes.push(Changed { change, before: None });
            }
        }
        let is_for_a_program = !candidate.changes.is_empty() || !candidate.boot.is_empty();
        match (is_for_a_program, &candidate.firmware) {
            (true, Some(_)) => return Err(refused("a firmware setting is a candidate of its own")),
            (false, None) => return Err(refused("it changes nothing")),
            _ => {}
        }
        Ok(candidate)
    }

    /// From a finding whose fix a program can make; `None` if only a person can.
    fn of_finding(finding: &Finding) -> Option<Self> {
        let changes: Vec<Changed> =
            writes(std::iter::once(finding)).into_iter().map(|change| Changed { change, before: None }).collect();
        let mut boot = BootWords::default();
        // Where both help, the change at run time needs no boot.
        if changes.is_empty() {
            for fix in &finding.fixes {
                match fix {
                    Fix::Boot { argument } => boot.add.push(argument.clone()),
                    Fix::BootWithout { argument } => boot.remove.push(argument.clone()),
                    _ => {}
                }
            }
        }
        let can_be_made = !changes.is_empty() || !boot.is_empty();
        can_be_made.then(|| Self {
            name: finding.id.clone(),
            rule: Some(finding.id.clone()),
            changes,
            boot,
            firmware: None,
        })
    }
}

impl Candidates {
    /// The user's own candidates, then one of each finding; `without` names candidates to leave out.
    pub fn gather<'a>(
        own: &[Candidate],
        findings: impl Iterator<Item = &'a Finding>,
        without: &[String],
        target: &KnownTarget,
    ) -> Self {
        let mut all = Self::default();
        let found = findings.map(|finding| Candidate::of_finding(finding).ok_or(finding));
        for candidate in own.iter().cloned().map(Ok).chain(found) {
            match candidate {
                Ok(candidate) => all.take(candidate, without, target),
                Err(finding) => {
                    all.left_out.push(LeftOut { name: finding.id.clone(), why: WhyLeftOut::ByHand });
                }
            }
        }
        all
    }

    fn take(&mut self, mut candidate: Candidate, without: &[String], target: &KnownTarget) {
        let same_name = |other: &&Candidate| other.name.split('#').next() == Some(candidate.name.as_str());
        let path = |candidate: &Candidate| -> BTreeSet<String> {
            candidate.changes.iter().map(|changed| changed.change.path.clone()).collect()
        };
        let rival = self.tried.iter().find(|other| !path(other).is_disjoint(&path(&candidate)));
        let why = if without.contains(&candidate.name) {
            WhyLeftOut::Unwanted
        } else if let Some(rival) = rival {
            WhyLeftOut::SameFile(rival.name.clone())
        } else if !candidate.boot.is_empty() && target.booted_with(&candidate.boot).is_none() {
            WhyLeftOut::NeedsBoot
        } else if let Some(why) = candidate.firmware.as_ref().and_then(|_| firmware_obstacle(target)) {
            why
        } else if self.tried.len() >= CANDIDATES_MAX {
            WhyLeftOut::TooMany
        } else {
            let twins = self.tried.iter().filter(same_name).count();
            if twins > 0 {
                candidate.name = format!("{}#{}", candidate.name, twins + 1);
            }
            self.tried.push(candidate);
            return;
        };
        self.left_out.push(LeftOut { name: candidate.name, why });
    }

    /// Changes of all candidates, to try them once.
    pub fn changes(&self) -> Vec<SettingChange> {
        let all = self.tried.iter().flat_map(|candidate| &candidate.changes);
        all.map(|changed| changed.change.clone()).collect()
    }

    /// Leaves out candidates that the kernel refused, and the ones that change nothing.
    pub fn keep_possible(&mut self, applied: &[Applied]) {
        let of = |changed: &Changed| applied.iter().find(|one| one.path == changed.change.path);
        for candidate in std::mem::take(&mut self.tried) {
            let refused = candidate.changes.iter().filter_map(of).find_map(|one| one.problem.clone());
            let set_already =
                |changed: &Changed| of(changed).is_some_and(|one| one.before.as_ref() == Some(&one.value));
            let has_changes_alone = candidate.boot.is_empty() && candidate.firmware.is_none();
            let idle = has_changes_alone && candidate.changes.iter().all(set_already);
            let why = refused.map(WhyLeftOut::Refused).or_else(|| idle.then_some(WhyLeftOut::SetAlready));
            match why {
                Some(why) => self.left_out.push(LeftOut { name: candidate.name, why }),
                None => {
                    let mut candidate = candidate;
                    for changed in &mut candidate.changes {
                        changed.before = of(changed).and_then(|one| one.before.clone());
                    }
                    self.tried.push(candidate);
                }
            }
        }
    }
}

/// Why no setting of this target's firmware can be tried now.
fn firmware_obstacle(target: &KnownTarget) -> Option<WhyLeftOut> {
    if target.is_local() {
        Some(WhyLeftOut::EndsWithBoot)
    } else if !target.is_board() {
        Some(WhyLeftOut::NoFirmware)
    } else if io::stdin().is_terminal() && io::stderr().is_terminal() {
        None
    } else {
        Some(WhyLeftOut::NoTerminal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Candidate::parse(text).unwrap_err().0
    }

    #[test]
    fn a_candidate_is_read_as_it_is_typed() {
        let candidate = Candidate::parse(
            "quiet: kernel.nmi_watchdog=0; /sys/kernel/mm/ksm/run=0; boot nohz_full=1; boot-without debug",
        )
        .unwrap();
        let paths: Vec<&str> = candidate.changes.iter().map(|changed| changed.change.path.as_str()).collect();
        assert_eq!(paths, ["/proc/sys/kernel/nmi_watchdog", "/sys/kernel/mm/ksm/run"]);
        assert_eq!((candidate.boot.add, candidate.boot.remove), (vec!["nohz_full=1".into()], vec!["debug".into()]));
        assert!(refused("kernel.x=1").contains("NAME: PATH=VALUE"));
        assert!(refused("a: /etc/passwd=1").contains("/etc/passwd"));
        assert!(refused("a: ").contains("changes nothing"));
        assert!(refused("a: word").contains("PATH=VALUE"));
        assert_eq!(Candidate::parse("a: firmware HT off").unwrap().firmware.as_deref(), Some("HT off"));
        assert!(refused("a: firmware HT off; kernel.x=1").contains("of its own"));
    }

    #[test]
    fn candidates_that_cannot_be_tried_are_left_out_with_the_reason() {
        let own = [
            "a: kernel.x=1",
            "b: kernel.x=2",
            "c: boot quiet",
            "d: kernel.y=1",
            "e: kernel.z=1",
            "f: kernel.w=1",
            "g: firmware HT off",
        ]
        .map(|text| Candidate::parse(text).unwrap());
        let mut candidates = Candidates::gather(&own, std::iter::empty(), &["d".to_owned()], &KnownTarget::local());
        let applied = |name: &str, before: &str, problem: Option<&str>| Applied {
            path: format!("/proc/sys/kernel/{name}"),
            value: "1".into(),
            before: Some(before.into()),
            problem: problem.map(str::to_owned),
        };
        candidates.keep_possible(&[applied("x", "0", None), applied("z", "1", None), applied("w", "0", Some("no"))]);
        assert_eq!(candidates.tried.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(candidates.tried[0].changes[0].before.as_deref(), Some("0"));
        let why: Vec<(&str, WhyLeftOut)> =
            candidates.left_out.iter().map(|one| (one.name.as_str(), one.why.clone())).collect();
        let expected = [
            ("b", WhyLeftOut::SameFile("a".into())),
            ("c", WhyLeftOut::NeedsBoot),
            ("d", WhyLeftOut::Unwanted),
            ("g", WhyLeftOut::EndsWithBoot),
            ("e", WhyLeftOut::SetAlready),
            ("f", WhyLeftOut::Refused("no".into())),
        ];
        assert_eq!(why, expected);
    }
}
