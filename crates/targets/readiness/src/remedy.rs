//! Combines the fixes of findings: writes at run time, kernel command line, a file for sysctl.d.

use super::finding::Finding;
use super::rule::Fix;
use archive::settings::SettingChange;

const SYSCTL: &str = "/proc/sys/";

/// Settings to write now: one per file, in the order of the findings.
pub fn writes<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<SettingChange> {
    let mut changes: Vec<SettingChange> = Vec::new();
    for fix in findings.flat_map(|finding| &finding.fixes) {
        // Text of a target that could start another line, or another word of a shell, is left out.
        let plain =
            |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-:,@ ".contains(letter));
        if let Fix::Write { path, value } = fix
            && plain(path)
            && plain(value)
            && !changes.iter().any(|change| change.path == *path)
        {
            changes.push(SettingChange { path: path.clone(), value: value.clone() });
        }
    }
    changes
}

/// Words for the kernel's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelArguments {
    pub add: Vec<String>,
    /// Exactly as they are there.
    pub remove: Vec<String>,
}

/// Words to add to and remove from the kernel's command line. Settings without a parameter are given as
/// `sysctl.NAME=VALUE`, which the kernel accepts since 5.8.
pub fn kernel_arguments<'a>(findings: impl Iterator<Item = &'a Finding>) -> KernelArguments {
    let mut arguments = KernelArguments::default();
    let mut note = |list: fn(&mut KernelArguments) -> &mut Vec<String>, word: &str| {
        let list = list(&mut arguments);
        // Text of a target that is not a valid word is left out.
        if word.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ')
            && !list.iter().any(|there| there == word)
        {
            list.push(word.to_owned());
        }
    };
    for finding in findings {
        let boots = finding.fixes.iter().any(|fix| matches!(fix, Fix::Boot { .. } | Fix::BootWithout { .. }));
        for fix in &finding.fixes {
            match fix {
                Fix::Boot { argument } => note(|arguments| &mut arguments.add, argument),
                Fix::BootWithout { argument } => note(|arguments| &mut arguments.remove, argument),
                Fix::Write { path, value } if !boots && path.starts_with(SYSCTL) => {
                    let value = if value.contains(' ') { format!("\"{value}\"") } else { value.clone() };
                    note(|arguments| &mut arguments.add, &format!("sysctl.{}={value}", sysctl_name(path)));
                }
                _ => {}
            }
        }
    }
    arguments
}

/// A file for /etc/sysctl.d. Settings that are not sysctls are in comments, as shell commands.
pub fn sysctl_text<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let changes = writes(findings);
    let (ours, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.path.starts_with(SYSCTL));
    let mut text = String::new();
    for change in ours {
        text += &format!("{} = {}\n", sysctl_name(&change.path), change.value);
    }
    if !others.is_empty() {
        text += "# No sysctls; to be written at each boot by other means:\n";
    }
    for change in others {
        text += &format!("# echo {} > {}\n", change.value, change.path);
    }
    text
}

fn sysctl_name(path: &str) -> String {
    path.trim_start_matches(SYSCTL).replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Rule, Severity, Sign, fine};

    const RULE: Rule =
        Rule { id: "a.b", title: "", reason: "", source: "", severity: Severity::Warning, look: |_| fine() };

    fn finding(sign: Sign) -> Finding {
        Finding::of(&RULE, sign)
    }

    #[test]
    fn each_setting_and_word_is_there_once_and_in_its_form() {
        let findings = [
            finding(Sign::new("").write("/proc/sys/kernel/printk", "3 4 1 7").boot("loglevel=3")),
            finding(Sign::new("").write("/proc/sys/kernel/timer_migration", "0")),
            finding(Sign::new("").write("/proc/sys/kernel/timer_migration", "0")),
            finding(Sign::new("").write("/sys/kernel/mm/ksm/run", "0").boot("loglevel=3")),
            finding(Sign::new("").boot_without("nohz=off").boot_without("evil\nline")),
        ];
        let arguments = kernel_arguments(findings.iter());
        assert_eq!(arguments.add, ["loglevel=3", "sysctl.kernel.timer_migration=0"]);
        assert_eq!(arguments.remove, ["nohz=off"]);
        let text = sysctl_text(findings.iter());
        let comments = text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>();
        assert!(text.starts_with("kernel.printk = 3 4 1 7\nkernel.timer_migration = 0\n#"), "{text}");
        assert_eq!((comments.len(), comments.last()), (2, Some(&"# echo 0 > /sys/kernel/mm/ksm/run")), "{text}");
        assert_eq!(writes(findings.iter()).len(), 3);
    }
}
