//! Addresses of a program with the names that its files give them.

use crate::frame::Frame;
use crate::places::Places;
use std::collections::BTreeMap;

/// Most bytes of all names together. Any number of addresses may be in a file with a long name.
const NAMES_BYTES_MAX: usize = 32 << 20;
/// A longer name of a variable says less than its address.
const VARIABLE_BYTES_MAX: usize = 256;

/// A variable of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// Bytes from its start.
    pub inside: u64,
    /// The address by the symbols of the file, which is the same in every run.
    pub address: u64,
}

/// The symbols of a program's files.
pub trait Names {
    /// The function at an offset of a file.
    fn function(&mut self, file: &str, offset: u64) -> Option<String>;

    /// The variable in the memory that a file is mapped to at an offset. The offset may be beyond the end of the file: memory
    /// that starts as zeros follows what the file has.
    fn variable(&mut self, file: &str, offset: u64) -> Option<Variable>;
}

/// The files are not there.
#[derive(Debug)]
pub struct NoNames;

impl Names for NoNames {
    fn function(&mut self, _: &str, _: u64) -> Option<String> {
        None
    }

    fn variable(&mut self, _: &str, _: u64) -> Option<Variable> {
        None
    }
}

/// Names addresses; each once.
pub struct Naming<'n> {
    names: &'n mut dyn Names,
    frames: BTreeMap<(i32, u64), Frame>,
    variables: BTreeMap<(i32, u64), Option<String>>,
    bytes_left: usize,
}

impl<'n> Naming<'n> {
    pub fn new(names: &'n mut dyn Names) -> Self {
        Self { names, frames: BTreeMap::new(), variables: BTreeMap::new(), bytes_left: NAMES_BYTES_MAX }
    }

    /// Whether names are missing because all together were longer than is allowed.
    pub fn is_cut_off(&self) -> bool {
        self.bytes_left == 0
    }

    pub fn stack(&mut self, pid: i32, places: &Places<'_>, stack: &[u64]) -> Vec<Frame> {
        if self.bytes_left == 0 {
            return Vec::new();
        }
        let frames: Option<Vec<Frame>> = stack.iter().map(|address| self.frame(pid, places, *address)).collect();
        frames.unwrap_or_else(|| {
            self.bytes_left = 0;
            Vec::new()
        })
    }

    /// `None` once all names together are longer than is allowed.
    pub fn frame(&mut self, pid: i32, places: &Places<'_>, address: u64) -> Option<Frame> {
        let frame = self.frames.entry((pid, address)).or_insert_with(|| {
            let place = places.code(address);
            let function = place.and_then(|(file, offset)| self.names.function(file, offset));
            let (file, offset) = (place.map(|(file, _)| file.to_owned()), place.map(|(_, offset)| offset));
            Frame { address, file, offset, function }
        });
        let texts = [&frame.file, &frame.function].into_iter().flatten().map(String::len).sum::<usize>();
        self.bytes_left = self.bytes_left.checked_sub(texts + size_of::<Frame>())?;
        Some(frame.clone())
    }

    /// The data at an address after its kind: `` `m` (robot+0x40a0)``; `at 0x559a066970a0` if no file names it.
    pub fn data(&mut self, pid: i32, places: &Places<'_>, address: u64) -> String {
        let named = self.variables.entry((pid, address)).or_insert_with(|| {
            let (file, offset) = places.data(address)?;
            let variable = self.names.variable(file, offset)?;
            let file = file.rsplit('/').next().unwrap_or(file);
            let inside = if variable.inside > 0 { format!("+{:#x}", variable.inside) } else { String::new() };
            let text = format!("`{}{inside}` ({file}+{:#x})", variable.name, variable.address);
            self.bytes_left = self.bytes_left.checked_sub(text.len())?;
            Some(text).filter(|_| variable.name.len() <= VARIABLE_BYTES_MAX)
        });
        named.clone().unwrap_or_else(|| format!("at {address:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::audit::{AuditDescription, AuditedProcess, Mapping};

    /// One variable at offset 0x3040, of 40 bytes.
    struct OneVariable;

    impl Names for OneVariable {
        fn function(&mut self, _: &str, _: u64) -> Option<String> {
            None
        }

        fn variable(&mut self, _: &str, offset: u64) -> Option<Variable> {
            let inside = offset.checked_sub(0x3040).filter(|inside| *inside < 40)?;
            Some(Variable { name: "m".into(), inside, address: 0x4040 + inside })
        }
    }

    #[test]
    fn data_has_the_name_of_its_variable_and_otherwise_its_address() {
        let mapping = |start: u64, end: u64, offset: u64, rights: &str, name: &str| Mapping {
            start,
            end,
            offset,
            rights: rights.into(),
            name: name.into(),
        };
        let mappings = vec![
            mapping(0x3000, 0x4000, 0x2000, "r--p", "/bin/robot"),
            mapping(0x4000, 0x5000, 0x3000, "rw-p", "/bin/robot"),
            mapping(0x9000, 0xa000, 0, "rw-p", ""),
        ];
        let process = AuditedProcess { pid: 1, mappings, ..AuditedProcess::default() };
        let description = AuditDescription { processes: vec![process], ..AuditDescription::default() };
        let all = Places::of_all(&description);
        let mut names = OneVariable;
        let mut naming = Naming::new(&mut names);
        let mut data = |address| naming.data(1, &all[&1], address);
        assert_eq!(data(0x4040), "`m` (robot+0x4040)");
        assert_eq!(data(0x4048), "`m+0x8` (robot+0x4048)");
        assert_eq!([data(0x4080), data(0x9040)], ["at 0x4080", "at 0x9040"]);
    }
}
