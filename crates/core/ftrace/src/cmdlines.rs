//! Thread names from `saved_cmdlines`.

use std::collections::HashMap;

/// Names of threads by pid, as the kernel had saved them when the trace was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLines {
    names: HashMap<i32, String>,
}

impl CommandLines {
    /// Parses lines of `PID NAME`; others are ignored.
    pub fn parse(text: &str) -> CommandLines {
        let line = |line: &str| {
            let (pid, name) = line.trim_start().split_once(' ')?;
            Some((pid.parse().ok()?, name.to_owned()))
        };
        CommandLines { names: text.lines().filter_map(line).collect() }
    }

    /// The name of a thread; pid 0 is `<idle>` on every CPU.
    pub fn name(&self, pid: i32) -> Option<&str> {
        match self.names.get(&pid) {
            Some(name) => Some(name),
            None if pid == 0 => Some("<idle>"),
            None => None,
        }
    }

    pub fn insert(&mut self, pid: i32, name: impl Into<String>) {
        self.names.insert(pid, name.into());
    }

    /// Every known name, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &str)> {
        self.names.iter().map(|(pid, name)| (*pid, name.as_str()))
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_spaces() {
        let names = CommandLines::parse("12 kworker/0:1\n7 my loop \nnonsense\n");
        assert_eq!(
            (names.name(12), names.name(7), names.name(0)),
            (Some("kworker/0:1"), Some("my loop "), Some("<idle>"))
        );
        assert_eq!((names.name(1), names.len()), (None, 2));
    }
}
