//! The line of development that a kernel belongs to: `6.12-rt` of `6.12.3-rt5-v8+`.

/// Major and minor version, and `-rt` for a kernel with PREEMPT_RT. The release itself if it has no version.
pub fn kernel_line(release: &str, preempt_rt: bool) -> String {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let digits = |part: Option<&str>| part.filter(|part| !part.is_empty() && part.len() <= 5).map(str::to_owned);
    let version =
        digits(numbers.next()).filter(|major| release[major.len()..].starts_with('.')).zip(digits(numbers.next()));
    let line = version.map_or_else(|| release.to_owned(), |(major, minor)| format!("{major}.{minor}"));
    if preempt_rt { format!("{line}-rt") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_major_minor_and_rt() {
        assert_eq!(kernel_line("6.12.3-rt5-v8+", true), "6.12-rt");
        assert_eq!(kernel_line("6.1.0-28-amd64", false), "6.1");
        assert_eq!(kernel_line("6.19-rc1", false), "6.19");
        assert_eq!(kernel_line("not known", false), "not known");
        assert_eq!(kernel_line("6", false), "6");
        assert_eq!(kernel_line("", true), "-rt");
        assert_eq!(kernel_line("5.x", false), "5.x");
    }
}
