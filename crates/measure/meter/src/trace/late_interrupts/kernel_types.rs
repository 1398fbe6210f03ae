//! Offsets in the kernel's data, from its own description of its types: /sys/kernel/btf/vmlinux (BPF Type Format).

use std::collections::HashMap;

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
const TYPE_BYTES: usize = 12;
const KIND_STRUCT: u32 = 4;
const KIND_TYPEDEF: u32 = 8;
const KIND_VARIABLE: u32 = 14;
const KIND_SECTION: u32 = 15;

/// Number of the type of the trace point's hook.
const HOOK: &str = "btf_trace_hrtimer_expire_entry";
const PER_CPU: &str = ".data..percpu";

/// Offsets of the fields that the recording program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    /// Type number of the trace point.
    pub hook: u32,
    /// In `struct hrtimer`.
    pub expires: i16,
    pub base: i16,
    /// In `struct hrtimer_clock_base`.
    pub cpu_base: i16,
    /// From the timers of a CPU to the registers that its innermost interrupt saved.
    pub saved_registers: i32,
    /// From the timers of a CPU to the time that its hypervisor counts as stolen from it.
    pub stolen: i32,
    /// From the timers of a CPU to the part of it that the kernel's task clock has taken into account.
    pub stolen_before: i32,
}

impl Offsets {
    /// `None` if the kernel lacks any of it, or the description is not valid.
    pub fn find(description: &[u8]) -> Option<Self> {
        let types = Types::parse(description)?;
        let mut members: HashMap<(&str, &str), i64> = HashMap::new();
        let mut variables: HashMap<&str, i64> = HashMap::new();
        let mut hook = None;
        for one in &types.list {
            match (one.kind, types.name(one.name)) {
                (KIND_TYPEDEF, HOOK) => hook = Some(one.number),
                (KIND_STRUCT, name) if STRUCTS.contains(&name) => {
                    members.extend(types.members(one).map(|(member, offset)| ((name, member), offset)));
                }
                (KIND_SECTION, PER_CPU) => variables.extend(types.variables(one)),
                _ => {}
            }
        }
        let member = |of: &'static str, name: &'static str| members.get(&(of, name)).copied();
        let timers = *variables.get("hrtimer_bases")?;
        let from_timers = |name: &str| variables.get(name).map(|offset| offset - timers);
        Some(Self {
            hook: hook?,
            expires: i16::try_from(member("hrtimer", "node")? + member("timerqueue_node", "expires")?).ok()?,
            base: i16::try_from(member("hrtimer", "base")?).ok()?,
            cpu_base: i16::try_from(member("hrtimer_clock_base", "cpu_base")?).ok()?,
            saved_registers: i32::try_from(from_timers("__irq_regs")?).ok()?,
            stolen: i32::try_from(from_timers("steal_time")? + member("kvm_steal_time", "steal")?).ok()?,
            stolen_before: i32::try_from(from_timers("runqueues")? + member("rq", "prev_steal_time_rq")?).ok()?,
        })
    }
}

const STRUCTS: [&str; 5] = ["hrtimer", "timerqueue_node", "hrtimer_clock_base", "kvm_steal_time", "rq"];

struct Type<'a> {
    number: u32,
    name: usize,
    kind: u32,
    /// Offsets of members share their word with the size of a bit field.
    packed: bool,
    entries: &'a [u8],
}

struct Types<'a> {
    list: Vec<Type<'a>>,
    names: &'a [u8],
}

impl<'a> Types<'a> {
    fn parse(description: &'a [u8]) -> Option<Self> {
        if description.get(..2)? != MAGIC.to_ne_bytes() {
            return None;
        }
        let part = |offset: usize| {
            let start = HEADER_BYTES.checked_add(word(description, offset)? as usize)?;
            description.get(start..start.checked_add(word(description, offset + 4)? as usize)?)
        };
        let (types, names) = (part(8)?, part(16)?);
        let mut list = Vec::new();
        let mut at = 0;
        while at < types.len() {
            let (name, info) = (word(types, at)? as usize, word(types, at + 4)?);
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let bytes = entry_bytes(kind, count)?;
            let start = at + TYPE_BYTES;
            let entries = types.get(start..start.checked_add(bytes)?)?;
            list.push(Type { number: list.len() as u32 + 1, name, kind, packed: info >> 31 == 1, entries });
            at = start + bytes;
        }
        Some(Self { list, names })
    }

    fn name(&self, offset: usize) -> &'a str {
        let rest = self.names.get(offset..).unwrap_or_default();
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }

    /// Members of a struct with their offsets in bytes.
    fn members(&self, of: &Type<'a>) -> impl Iterator<Item = (&'a str, i64)> {
        let packed = of.packed;
        of.entries.chunks_exact(TYPE_BYTES).filter_map(move |entry| {
            let bits = word(entry, 8)?;
            let bits = if packed { bits & 0x00ff_ffff } else { bits };
            Some((self.name(word(entry, 0)? as usize), i64::from(bits / 8)))
        })
    }

    /// Variables of a section with their offsets in bytes.
    fn variables(&self, of: &Type<'a>) -> impl Iterator<Item = (&'a str, i64)> {
        of.entries.chunks_exact(TYPE_BYTES).filter_map(|entry| {
            let variable = self.list.get((word(entry, 0)? as usize).checked_sub(1)?)?;
            Some((self.name(variable.name), i64::from(word(entry, 4)?))).filter(|_| variable.kind == KIND_VARIABLE)
        })
    }
}

/// Bytes after the head of a type; `None` for a kind that is not known, after which nothing can be read.
fn entry_bytes(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        1 | KIND_VARIABLE | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        KIND_STRUCT | 5 | KIND_SECTION | 19 => 12 * count,
        6 | 13 => 8 * count,
        _ => return None,
    })
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name and two words.
    type Entry<'t> = (&'t str, u32, u32);

    /// A description with these types: name, kind, and what follows the head.
    fn description(types: &[(&str, u32, &[Entry])]) -> Vec<u8> {
        let mut names = vec![0_u8];
        let mut name = |text: &str| {
            let at = names.len() as u32;
            names.extend(text.bytes().chain([0]));
            at
        };
        let mut bytes = Vec::new();
        for (text, kind, entries) in types {
            let words = [name(text), kind << 24 | entries.len() as u32, 0];
            bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
            for (text, first, second) in *entries {
                let words = match *kind {
                    KIND_SECTION => vec![*first, *second, 0],
                    KIND_STRUCT => vec![name(text), *first, second * 8],
                    _ => vec![0],
                };
                bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
            }
        }
        let mut head = MAGIC.to_ne_bytes().to_vec();
        head.extend([1, 0]);
        let words = [HEADER_BYTES as u32, 0, bytes.len() as u32, bytes.len() as u32, names.len() as u32];
        head.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        [head, bytes, names].concat()
    }

    fn kernel(with_steal: bool) -> Vec<u8> {
        let steal = if with_steal { "steal_time" } else { "other" };
        description(&[
            ("hrtimer", KIND_STRUCT, &[("node", 0, 8), ("base", 0, 56)]),
            ("timerqueue_node", KIND_STRUCT, &[("node", 0, 0), ("expires", 0, 24)]),
            ("hrtimer_clock_base", KIND_STRUCT, &[("cpu_base", 0, 4)]),
            ("kvm_steal_time", KIND_STRUCT, &[("steal", 0, 0)]),
            ("rq", KIND_STRUCT, &[("clock", 0, 64), ("prev_steal_time_rq", 0, 72)]),
            ("hrtimer_bases", KIND_VARIABLE, &[("", 0, 0)]),
            ("__irq_regs", KIND_VARIABLE, &[("", 0, 0)]),
            (steal, KIND_VARIABLE, &[("", 0, 0)]),
            ("runqueues", KIND_VARIABLE, &[("", 0, 0)]),
            (HOOK, KIND_TYPEDEF, &[]),
            (PER_CPU, KIND_SECTION, &[("", 6, 1000), ("", 7, 1500), ("", 8, 600), ("", 9, 3000)]),
        ])
    }

    #[test]
    fn offsets_are_found_by_name() {
        let expected = Offsets {
            hook: 10,
            expires: 32,
            base: 56,
            cpu_base: 4,
            saved_registers: 500,
            stolen: -400,
            stolen_before: 2072,
        };
        assert_eq!(Offsets::find(&kernel(true)), Some(expected));
    }

    #[test]
    fn a_kernel_without_a_steal_clock_has_none() {
        assert_eq!(Offsets::find(&kernel(false)), None);
        assert_eq!(Offsets::find(b""), None);
    }

    proptest! {
        #[test]
        fn damage_is_no_failure(at in 0..600_usize, byte in any::<u8>(), cut in 0..700_usize) {
            let mut bytes = kernel(true);
            let last = bytes.len() - 1;
            bytes[at.min(last)] = byte;
            bytes.truncate(cut);
            let _ = Offsets::find(&bytes);
        }
    }
}
