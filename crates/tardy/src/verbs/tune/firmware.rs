//! Settings of a board's firmware: a person changes them, and says so at each boot.

use super::candidate::Candidate;
use judge::tune::Configuration;
use machines::BootWords;
use std::io::{self, BufRead, Write};
use words::printable::printable;

/// Name, and what to set; the names differ from firmware to firmware.
const SETTINGS: [(&str, &str); 7] = [
    ("firmware.smt", "simultaneous multithreading (Hyper-Threading, SMT) off"),
    ("firmware.idle-states", "idle states (C-states, C1E, package C-states) off"),
    ("firmware.turbo", "turbo (Turbo Boost, Core Performance Boost) off"),
    ("firmware.frequency", "frequency scaling (SpeedStep, Cool'n'Quiet) off, or the performance profile"),
    ("firmware.usb-legacy", "USB legacy support off: it raises SMIs"),
    ("firmware.management", "SMIs of thermal, power and error management off"),
    ("firmware.link-power", "power management of PCIe links (ASPM) off"),
];

/// A candidate for each setting of the list.
pub fn candidates() -> Vec<Candidate> {
    let candidate = |(name, set): (&str, &str)| Candidate {
        name: name.into(),
        rule: None,
        changes: Vec::new(),
        boot: BootWords::default(),
        firmware: Some(set.into()),
    };
    SETTINGS.map(candidate).to_vec()
}

/// The firmware settings among these candidates.
pub fn wanted(candidates: &[Candidate], configuration: Configuration) -> Configuration {
    let is_firmware = |at: &usize| candidates.get(*at).is_some_and(|candidate| candidate.firmware.is_some());
    configuration.candidates().filter(is_firmware).collect()
}

/// Asks on the terminal for a boot with these settings; false if the user wants to stop.
///
/// # Errors
/// If the terminal is closed.
pub fn ask(target: &str, candidates: &[Candidate], wanted: Configuration) -> io::Result<bool> {
    ask_on(&mut io::stdin().lock(), &mut io::stderr(), target, candidates, wanted)
}

fn ask_on(
    input: &mut impl BufRead,
    output: &mut impl Write,
    target: &str,
    candidates: &[Candidate],
    wanted: Configuration,
) -> io::Result<bool> {
    writeln!(output, "Boot {} with these settings of its firmware:", printable(target))?;
    for (at, candidate) in candidates.iter().enumerate() {
        let Some(set) = &candidate.firmware else { continue };
        let state = if wanted.contains(at) { printable(set) } else { "as found".into() };
        writeln!(output, "  {}: {state}", printable(&candidate.name))?;
    }
    loop {
        write!(output, "Has it booted so? y, or q to stop and --resume later: ")?;
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(false);
        }
        match answer.trim() {
            "y" | "yes" => return Ok(true),
            "q" | "quit" => return Ok(false),
            _ => {}
        }
    }
}

/// Lines for a person who makes the settings last.
pub fn instructions(members: &[&Candidate]) -> String {
    let line = |candidate: &&Candidate| Some(format!("{}: {}\n", candidate.name, candidate.firmware.as_ref()?));
    members.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(typed: &str, wanted: Configuration) -> (bool, String) {
        let mut output = Vec::new();
        let go_on = ask_on(&mut typed.as_bytes(), &mut output, "pi", &candidates(), wanted).unwrap();
        (go_on, String::from_utf8(output).unwrap())
    }

    #[test]
    fn each_boot_lists_every_setting_and_waits_for_an_answer() {
        let (go_on, text) = asked("what?\ny\n", [2].into_iter().collect());
        assert!(go_on && text.contains("Boot pi "), "{text}");
        assert!(text.contains("firmware.turbo: turbo ("), "{text}");
        assert!(text.contains("firmware.smt: as found"), "{text}");
        assert_eq!(text.matches('?').count(), 2, "{text}");
        assert!(!asked("q\n", Configuration::NONE).0 && !asked("", Configuration::NONE).0);
    }

    #[test]
    fn only_firmware_settings_take_an_answer() {
        let all = candidates();
        assert_eq!(wanted(&all, [0, 3, 60].into_iter().collect()), [0, 3].into_iter().collect());
        let members: Vec<&Candidate> = all.iter().take(1).collect();
        assert!(instructions(&members).starts_with("firmware.smt: simultaneous"));
    }
}
