//! Files that make the result of tuning last, in the directory of the series.

use super::candidate::{Candidate, Changed};
use super::question::Journal;
use std::fs;
use std::io;
use std::path::Path;

const SYSCTL: &str = "/proc/sys/";

/// A file to install.
struct Lasting {
    name: &'static str,
    /// The path to install it at.
    place: &'static str,
    text: fn(&[&Candidate]) -> String,
}

const FILES: [Lasting; 3] = [
    Lasting { name: "90-tardy-tune.conf", place: "/etc/sysctl.d/90-tardy-tune.conf", text: sysctls },
    Lasting { name: "tardy-tune.tmpfiles.conf", place: "/etc/tmpfiles.d/tardy-tune.conf", text: tmpfiles },
    Lasting { name: "90-tardy-tune.cfg", place: "/etc/default/grub.d/90-tardy-tune.cfg", text: boot_loader },
];

/// The candidates that are shown to help.
pub fn members(journal: &Journal) -> Vec<&Candidate> {
    let members = journal.result.iter().flat_map(|tuned| &tuned.result.members);
    members.filter_map(|member| journal.question.candidates.get(member.candidate)).collect()
}

/// Writes the files that have any content, and returns the name of each with the path to install it at.
///
/// # Errors
/// When one cannot be written.
pub fn write(directory: &Path, journal: &Journal) -> io::Result<Vec<(&'static str, &'static str)>> {
    let members = members(journal);
    let mut written = Vec::new();
    for file in &FILES {
        let text = (file.text)(&members);
        if !text.is_empty() {
            fs::write(directory.join(file.name), text)?;
            written.push((file.name, file.place));
        }
    }
    Ok(written)
}

fn changes<'a>(members: &'a [&Candidate]) -> impl Iterator<Item = &'a Changed> {
    members.iter().flat_map(|member| &member.changes)
}

fn sysctls(members: &[&Candidate]) -> String {
    let line = |changed: &Changed| {
        let name = changed.change.path.strip_prefix(SYSCTL)?.replace('/', ".");
        Some(format!("{name} = {}\n", changed.change.value))
    };
    changes(members).filter_map(line).collect()
}

/// Lines of tmpfiles.d(5), which writes files at each boot.
fn tmpfiles(members: &[&Candidate]) -> String {
    let others = changes(members).filter(|changed| !changed.change.path.starts_with(SYSCTL));
    others.map(|changed| format!("w {} - - - - {}\n", changed.change.path, changed.change.value)).collect()
}

fn boot_loader(members: &[&Candidate]) -> String {
    let words: Vec<&str> = members.iter().flat_map(|member| &member.boot.add).map(String::as_str).collect();
    let removed: Vec<&str> = members.iter().flat_map(|member| &member.boot.remove).map(String::as_str).collect();
    let mut text = String::new();
    if !words.is_empty() {
        text += &format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {}\"\n", words.join(" "));
    }
    if !removed.is_empty() {
        text += &format!("# Remove from the kernel's command line: {}\n", removed.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_change_goes_into_its_file() {
        let candidate =
            Candidate::parse("a: vm.stat_interval=120; /sys/kernel/mm/ksm/run=0; boot nohz_full=1; boot-without debug")
                .unwrap();
        let members = [&candidate];
        assert_eq!(sysctls(&members), "vm.stat_interval = 120\n");
        assert_eq!(tmpfiles(&members), "w /sys/kernel/mm/ksm/run - - - - 0\n");
        assert!(boot_loader(&members).contains("nohz_full=1\"\n# Remove from the kernel's command line: debug"));
        assert!(FILES.iter().all(|file| (file.text)(&[]).is_empty()));
    }
}
