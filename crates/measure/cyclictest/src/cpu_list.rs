//! CPU lists in the notation of numactl and cyclictest: `0-3,5`, `!0`, `+1-2` (relative to the allowed CPUs), `all`.

/// Why a text is not a list of usable CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    #[error("{0:?} is not a CPU list; write it like 0-3,5 or !0 or all")]
    Malformed(String),
    #[error(
        "CPU {part} does not exist or is not allowed; choose among {} (a cpuset or an offline CPU limits them)",
        listed(allowed)
    )]
    Absent { part: String, allowed: Vec<u32> },
    #[error("{text:?} leaves no CPU; choose among {}", listed(allowed))]
    Empty { text: String, allowed: Vec<u32> },
}

/// The CPUs of a list, ascending. All of them are in `allowed`.
///
/// # Errors
/// The error in the text, and a correct text.
pub fn parse(text: &str, allowed: &[u32]) -> Result<Vec<u32>, CpuListError> {
    let (inverted, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (counted, rest) = rest.strip_prefix('+').map_or((false, rest), |rest| (true, rest));
    let mut named = Vec::new();
    for part in rest.split(',') {
        if part == "all" {
            named.extend_from_slice(allowed);
            continue;
        }
        let wrong = || CpuListError::Malformed(text.into());
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| digits.parse::<u16>().map(u32::from).map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        for cpu in first..=last {
            let cpu = if counted { allowed.get(cpu as usize).copied() } else { Some(cpu) };
            let cpu = cpu.filter(|cpu| allowed.contains(cpu));
            named.push(cpu.ok_or_else(|| CpuListError::Absent { part: part.into(), allowed: allowed.into() })?);
        }
    }
    let chosen: Vec<u32> = allowed.iter().copied().filter(|cpu| named.contains(cpu) != inverted).collect();
    if chosen.is_empty() { Err(CpuListError::Empty { text: text.into(), allowed: allowed.into() }) } else { Ok(chosen) }
}

fn listed(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let allowed = [0, 1, 4, 5];
        assert_eq!(parse("5,0-1", &allowed).unwrap(), [0, 1, 5]);
        assert_eq!(parse("!0", &allowed).unwrap(), [1, 4, 5]);
        assert_eq!(parse("+2-3", &allowed).unwrap(), [4, 5]);
        assert_eq!(parse("all", &allowed).unwrap(), allowed);
    }

    #[test]
    fn wrong_lists_are_refused() {
        let allowed = [0, 1];
        assert_eq!(parse("x", &allowed), Err(CpuListError::Malformed("x".into())));
        assert!(parse("", &allowed).is_err());
        assert!(parse("1-0", &allowed).is_err());
        assert!(parse("0,7", &allowed).unwrap_err().to_string().contains("choose among 0,1"));
        assert!(parse("0-4294967295", &allowed).is_err());
        assert!(matches!(parse("!all", &allowed), Err(CpuListError::Empty { .. })));
    }
}
