//! Files that make the result of tuning last, in the directory of the series.

use super::candidate::{Candidate, Changed};
use super::firmware;
use super::question::Journal;
use std::fs;
use std::io;
use std::path::Path;
use words::shell::quoted;

const SYSCTL: &str = "/proc/sys/";
const INTERRUPTS: &str = "/proc/irq/";

/// A file to install.
struct Lasting {
    name: &'static str,
    /// The path to install it at.
    place: &'static str,
    text: fn(&[&Candidate]) -> String,
}

const FILES: [Lasting; 6] = [
    Lasting { name: "90-tardy-tune.conf", place: "/etc/sysctl.d/90-tardy-tune.conf", text: sysctls },
    Lasting { name: "tardy-tune.tmpfiles.conf", place: "/etc/tmpfiles.d/tardy-tune.conf", text: tmpfiles },
    Lasting { name: "tardy-tune.service", place: "/etc/systemd/system/tardy-tune.service", text: interrupts },
    Lasting { name: "90-tardy-tune.cfg", place: "/etc/default/grub.d/90-tardy-tune.cfg", text: boot_loader },
    Lasting { name: "tardy-tune.u-boot", place: "the environment of U-Boot, or extlinux.conf, by hand", text: u_boot },
    Lasting { name: "firmware.txt", place: "the firmware's setup, by hand", text: firmware::instructions },
];

/// The candidates that are shown to help.
pub fn members(journal: &Journal) -> Vec<&Candidate> {
    let members = journal.result.iter().flat_map(|tuned| &tuned.result.members);
    members.filter_map(|member| journal.question.candidates.get(member.candidate)).collect()
}

/// Writes the files that have any content, removes the others, and returns the name of each with the path to install it at.
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
        } else {
            match fs::remove_file(directory.join(file.name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
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
    let has_a_file_of_its_own = |path: &str| path.starts_with(SYSCTL) || path.starts_with(INTERRUPTS);
    let others = changes(members).filter(|changed| !has_a_file_of_its_own(&changed.change.path));
    others.map(|changed| format!("w {} - - - - {}\n", changed.change.path, changed.change.value)).collect()
}

/// A unit of systemd, which runs when the drivers have their interrupts: systemd applies tmpfiles.d too early.
fn interrupts(members: &[&Candidate]) -> String {
    let writes: String = changes(members)
        .filter(|changed| changed.change.path.starts_with(INTERRUPTS))
        .map(|changed| format!("ExecStart=/bin/sh -c 'echo {} > {}'\n", changed.change.value, changed.change.path))
        .collect();
    if writes.is_empty() {
        return writes;
    }
    format!(
        "# The numbers of interrupts may change with the kernel or the devices; compare /proc/interrupts.\n\
         [Unit]\nDescription=Affinity of interrupts\nAfter=systemd-modules-load.service systemd-udev-trigger.service\n\n\
         [Service]\nType=oneshot\n{writes}\n[Install]\nWantedBy=multi-user.target\n"
    )
}

/// The words that a person adds where U-Boot or extlinux makes the kernel's command line.
fn u_boot(members: &[&Candidate]) -> String {
    let words = |of: fn(&Candidate) -> &[String]| -> String {
        members.iter().flat_map(|member| of(member)).map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let (added, removed) = (words(|one| &one.boot.add), words(|one| &one.boot.remove));
    let mut text = String::new();
    if !added.is_empty() {
        text += &format!("# At the prompt of U-Boot, or as the `append` line of extlinux.conf: {added}\n");
        text += &format!("setenv bootargs \"${{bootargs}} {added}\"\nsaveenv\n");
    }
    if !removed.is_empty() {
        text += &format!("# Remove from bootargs: {removed}\n");
    }
    text
}

/// A piece of shell that update-grub reads after /etc/default/grub.
fn boot_loader(members: &[&Candidate]) -> String {
    let mut text = String::new();
    for word in members.iter().flat_map(|member| &member.boot.remove) {
        text += &format!("tardy_removed={}\n", quoted(word));
        text += REMOVE_WORD;
    }
    for word in members.iter().flat_map(|member| &member.boot.add) {
        text += &format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT \"{}\n", quoted(word));
    }
    text
}

/// Removes the word from both variables of GRUB.
const REMOVE_WORD: &str = r#"tardy_kept=
for tardy_word in $GRUB_CMDLINE_LINUX; do
  [ "$tardy_word" = "$tardy_removed" ] || tardy_kept="$tardy_kept $tardy_word"
done
GRUB_CMDLINE_LINUX=$tardy_kept
tardy_kept=
for tardy_word in $GRUB_CMDLINE_LINUX_DEFAULT; do
  [ "$tardy_word" = "$tardy_removed" ] || tardy_kept="$tardy_kept $tardy_word"
done
GRUB_CMDLINE_LINUX_DEFAULT=$tardy_kept
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn each_kind_of_change_goes_into_its_file() {
        let candidate =
            Candidate::parse("a: vm.stat_interval=120; /sys/kernel/mm/ksm/run=0; /proc/irq/9/smp_affinity_list=0; boot nohz_full=1; boot-without debug")
                .unwrap();
        let members = [&candidate];
        assert_eq!(sysctls(&members), "vm.stat_interval = 120\n");
        assert_eq!(tmpfiles(&members), "w /sys/kernel/mm/ksm/run - - - - 0\n");
        let grub = format!(
            "GRUB_CMDLINE_LINUX='quiet debug'\nGRUB_CMDLINE_LINUX_DEFAULT='debug x=debug'\n{}echo $GRUB_CMDLINE_LINUX, $GRUB_CMDLINE_LINUX_DEFAULT",
            boot_loader(&members)
        );
        let said = Command::new("sh").args(["-euc", &grub]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "quiet, x=debug nohz_full=1\n", "{grub}");
        assert!(interrupts(&members).contains("ExecStart=/bin/sh -c 'echo 0 > /proc/irq/9/smp_affinity_list'\n"));
        assert!(
            u_boot(&members).contains("setenv bootargs \"${bootargs} nohz_full=1\"\nsaveenv\n#")
                && u_boot(&members).ends_with(": debug\n")
        );
        assert!(FILES.iter().all(|file| (file.text)(&[]).is_empty()));
    }
}
