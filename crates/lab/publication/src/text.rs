//! Makes the text of one field anonymous, by its rule.

mod device;
mod holder;
mod kernel_text;
mod kernel_thread;
mod load;
mod own_thread;
mod release;
#[cfg(test)]
mod tests;

use crate::changes::Changes;
use crate::figure::are_figures;
use crate::functions::KernelFunctions;
use crate::pattern;
use crate::pseudonym::PseudonymKey;
use crate::rules::{Action, FUNCTIONS, Rule, TASKS, UNNAMED};
use archive::functions::USER_SPACE;
use device::is_device;
use kernel_text::is_known;
use kernel_thread::kernel_thread;
use own_thread::is_own;
use std::collections::BTreeSet;

/// Makes texts anonymous.
#[derive(Debug)]
pub struct Anonymiser<'a> {
    pub key: &'a PseudonymKey,
    /// Names of programs, devices and functions that stay.
    pub kept: &'a [String],
    pub functions: &'a KernelFunctions,
    /// Threads of tardy and its meter, as the run lists them.
    pub own_tids: BTreeSet<i32>,
    pub changes: Changes,
}

impl Anonymiser<'_> {
    /// A text by its rule; `None` where it is to be absent.
    pub fn value(&mut self, rule: Option<&'static Rule>, text: &str) -> Option<String> {
        let Some(rule) = rule else { return Some(self.emptied(UNNAMED, text)) };
        Some(match rule.action {
            Action::Name(prefix) => self.named(prefix, rule.kind, text),
            Action::Task => self.task(text),
            Action::Holder => self.holder(text),
            Action::Device => self.device(text),
            Action::Function => self.function(text),
            Action::Load => self.load(text, rule.kind),
            Action::LoadOption => self.load_option(text, rule.kind),
            Action::Target if is_own_target(text) => text.into(),
            Action::Target => self.pseudonym("board", rule.kind, text),
            Action::Release => self.release(text),
            Action::KernelText => self.kernel_text(text),
            Action::Figure if are_figures(text) => text.into(),
            Action::Own(word) if word.has(text) => text.into(),
            Action::Absent => {
                self.changes.removed(rule.kind, 1);
                return None;
            }
            Action::Figure | Action::Own(_) | Action::Code | Action::Rewritten | Action::Empty => {
                self.emptied(rule.kind, text)
            }
        })
    }

    fn emptied(&mut self, kind: &'static str, text: &str) -> String {
        self.changes.removed(kind, u64::from(!text.is_empty()));
        String::new()
    }

    /// The pseudonym of a name.
    fn pseudonym(&mut self, prefix: &'static str, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        self.changes.replaced(kind, name);
        self.key.pseudonym(prefix, name)
    }

    /// The pseudonym of a name, unless the user keeps it.
    fn named(&mut self, prefix: &'static str, kind: &'static str, name: &str) -> String {
        match self.is_kept(name) {
            true => name.into(),
            false => self.pseudonym(prefix, kind, name),
        }
    }

    /// Whether the user keeps a name.
    fn is_kept(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| pattern::matches(kept, name))
    }

    /// A name of a thread or program whose number is not known.
    fn task(&mut self, name: &str) -> String {
        self.task_of(name, None)
    }

    /// A name of a thread or program. Kernel threads, those of tardy and those that the user keeps have theirs.
    pub fn task_of(&mut self, name: &str, tid: Option<i32>) -> String {
        if self.is_kept(name) || is_own(name, tid.is_some_and(|tid| self.own_tids.contains(&tid))) {
            return name.into();
        }
        match kernel_thread(name) {
            Some(thread) => self.shown_thread(&thread),
            None => self.pseudonym("task", TASKS, name),
        }
    }

    fn shown_thread(&mut self, thread: &kernel_thread::KernelThread<'_>) -> String {
        let tail = match thread.tail {
            "" => String::new(),
            tail if is_known(tail) || self.is_kept(tail) => tail.into(),
            tail => self.pseudonym("name", TASKS, tail),
        };
        format!("{}{tail}{}", thread.head, thread.tid)
    }

    fn device(&mut self, name: &str) -> String {
        match is_device(name) || is_known(name) || self.is_kept(name) {
            true => name.into(),
            false => self.pseudonym("name", crate::rules::INTERRUPTS, name),
        }
    }

    fn function(&mut self, name: &str) -> String {
        match name == USER_SPACE || self.functions.has(name) || self.is_kept(name) {
            true => name.into(),
            false => self.pseudonym("function", FUNCTIONS, name),
        }
    }
}

fn is_own_target(text: &str) -> bool {
    matches!(text, "local" | "vm (emulated)" | "vm (virtual)" | "vm (virtual time)")
}
