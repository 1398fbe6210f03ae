//! The axes along which a plan varies: targets, kernels, loads, variants.

use super::document::{Problems, Section, Written, kind};
use super::options::{self, Keys, PlanOption};
use machines::local;
use toml::Spanned;
use toml::de::DeValue;

/// The word for a step without any load.
const NO_LOAD: &str = "none";

/// A kernel that a virtual machine boots instead of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelChoice {
    pub name: String,
    /// `debian:SERIES`, or the path of an image.
    pub kernel: String,
    /// Directory of its modules, for a kernel given by its path.
    pub modules: Option<String>,
    /// Added to the machine's kernel command line.
    pub arguments: String,
    pub line: usize,
}

/// The loads during the measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadChoice {
    pub name: String,
    /// Each as for `--load` of `tardy run`.
    pub builtin: Vec<Written>,
    /// Shell commands, each restarted when it ends.
    pub commands: Vec<Written>,
    pub line: usize,
}

impl LoadChoice {
    /// Whether there is no load.
    pub fn is_nothing(&self) -> bool {
        self.builtin.is_empty() && self.commands.is_empty()
    }
}

/// Values that replace those of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    pub name: String,
    pub options: Vec<PlanOption>,
    pub line: usize,
}

pub fn targets(document: &mut Section, problems: &mut Problems) -> Vec<String> {
    let Some(list) = document.list("targets", problems) else { return vec![local::NAME.into()] };
    if list.is_empty() {
        problems.add(document.span(), "targets is an empty list; leave it out for this machine");
    }
    named_once(list.iter().map(|written| (&written.text, written.line)), "target", problems);
    list.into_iter().map(|written| written.text).collect()
}

pub fn kernels(document: &mut Section, problems: &mut Problems) -> Vec<KernelChoice> {
    let entries = document.entries("kernels", problems).unwrap_or_default();
    let kernels: Vec<KernelChoice> = entries.iter().filter_map(|entry| kernel(entry, problems)).collect();
    named_once(kernels.iter().map(|kernel| (&kernel.name, kernel.line)), "kernel", problems);
    kernels
}

fn kernel(entry: &Spanned<DeValue>, problems: &mut Problems) -> Option<KernelChoice> {
    let line = problems.line(&entry.span());
    match entry.get_ref() {
        DeValue::String(name) => {
            let (name, kernel) = (name.to_string(), name.to_string());
            Some(KernelChoice { name, kernel, modules: None, arguments: String::new(), line })
        }
        DeValue::Table(table) => {
            let mut section = Section::new("[kernels]", table, entry.span());
            let kernel = section.scalar("kernel", problems);
            let arguments = section.scalar("arguments", problems).map(|written| written.text).unwrap_or_default();
            let modules = section.scalar("modules", problems).map(|written| written.text);
            let name = section.scalar("name", problems);
            section.finish(problems);
            let Some(kernel) = kernel else {
                problems.add_at(line, "a kernel needs `kernel`, like \"debian:6.1-rt\" or the path of an image");
                return None;
            };
            let both = || format!("{} {arguments}", kernel.text).trim_end().to_owned();
            let name = name.map_or_else(both, |written| written.text);
            Some(KernelChoice { name, kernel: kernel.text, modules, arguments, line })
        }
        other => {
            problems.add_at(line, format!("{} is not a kernel; write a text or a table", kind(other)));
            None
        }
    }
}

pub fn loads(document: &mut Section, problems: &mut Problems) -> Vec<LoadChoice> {
    let none = LoadChoice { name: NO_LOAD.into(), builtin: Vec::new(), commands: Vec::new(), line: 0 };
    let Some(entries) = document.entries("loads", problems) else { return vec![none] };
    if entries.is_empty() {
        problems.add(document.span(), "loads is an empty list; leave it out for no load");
    }
    let loads: Vec<LoadChoice> = entries.iter().filter_map(|entry| load(entry, problems)).collect();
    named_once(loads.iter().map(|load| (&load.name, load.line)), "load", problems);
    loads
}

fn load(entry: &Spanned<DeValue>, problems: &mut Problems) -> Option<LoadChoice> {
    let line = problems.line(&entry.span());
    match entry.get_ref() {
        DeValue::String(text) => {
            let builtin = builtin(text, line);
            if builtin.is_empty() && text.trim() != NO_LOAD {
                problems.add_at(line, "a load is a name like messaging, or `none`");
            }
            Some(LoadChoice { name: text.trim().into(), builtin, commands: Vec::new(), line })
        }
        DeValue::Table(table) => {
            let mut section = Section::new("[loads]", table, entry.span());
            let name = section.scalar("name", problems);
            let run = section.scalar("run", problems);
            let commands = section.list("command", problems).unwrap_or_default();
            section.finish(problems);
            let builtin = run.as_ref().map(|run| builtin(&run.text, run.line)).unwrap_or_default();
            let parts = || run.iter().chain(&commands).map(|written| written.text.as_str()).collect::<Vec<_>>();
            if run.is_none() && commands.is_empty() {
                problems.add_at(line, "a load needs `run`, like \"messaging + udp\", or `command`");
            }
            let name = name.map_or_else(|| parts().join(" + "), |written| written.text);
            Some(LoadChoice { name, builtin, commands, line })
        }
        other => {
            problems.add_at(line, format!("{} is not a load; write a text or a table", kind(other)));
            None
        }
    }
}

/// Built-in loads that run together, `messaging + cpu:2`.
fn builtin(text: &str, line: usize) -> Vec<Written> {
    let parts = text.split('+').map(str::trim).filter(|part| !part.is_empty() && *part != NO_LOAD);
    parts.map(|part| Written { text: part.into(), line }).collect()
}

pub fn variants(document: &mut Section, keys: &Keys, problems: &mut Problems) -> Vec<Variant> {
    let entries = document.entries("variants", problems).unwrap_or_default();
    let mut variants = Vec::new();
    for entry in entries {
        let line = problems.line(&entry.span());
        let DeValue::Table(table) = entry.get_ref() else {
            problems.add_at(line, "a variant is a table; write [[variants]] with a `name`");
            continue;
        };
        let mut section = Section::new("[variants]", table, entry.span());
        let name = section.scalar("name", problems).map(|written| written.text);
        let options = options::read(&mut section, keys, problems);
        section.finish(problems);
        match name {
            Some(name) => variants.push(Variant { name, options, line }),
            None => problems.add_at(line, "a variant needs a `name`"),
        }
    }
    named_once(variants.iter().map(|variant| (&variant.name, variant.line)), "variant", problems);
    variants
}

/// Names identify steps, so they must be unique.
fn named_once<'a>(names: impl Iterator<Item = (&'a String, usize)>, what: &str, problems: &mut Problems) {
    let mut seen: Vec<&String> = Vec::new();
    for (name, line) in names {
        if name.trim().is_empty() {
            problems.add_at(line, format!("a {what} has an empty name"));
        } else if seen.contains(&name) {
            problems.add_at(line, format!("there are two {what}s called `{name}`"));
        }
        seen.push(name);
    }
}
