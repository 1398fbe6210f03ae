//! Figures: numbers with units, lists of CPUs, versions. No address of a network or a device is one.

/// Units that follow a number.
const UNITS: [&str; 19] =
    ["ns", "us", "µs", "ms", "s", "min", "h", "d", "Hz", "kHz", "MHz", "GHz", "B", "kB", "KB", "MB", "GB", "k", "M"];
/// A longer number could be that of a device.
const DIGITS_MAX: usize = 10;
const VERSION_DIGITS_MAX: usize = 4;
/// Of a list of CPUs: `0-3,5,7`.
const LIST_SIGNS: [char; 2] = ['-', ','];

/// Whether a text is one figure.
pub fn is_figure(text: &str) -> bool {
    is_number(text) || is_version(text) || is_list(text)
}

/// Whether a text has figures alone, with blanks or a slash between them, as `0.52 0.58 1/597`, or each behind its CPU: `cpu0=950000`.
pub fn are_figures(text: &str) -> bool {
    let of_cpu = |word: &str| word.split_once('=').is_some_and(|(cpu, figure)| is_cpu(cpu) && is_figure(figure));
    text.split_whitespace().all(|word| of_cpu(word) || word.split('/').all(is_figure))
}

pub fn is_digits(text: &str) -> bool {
    (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `cpu3`.
pub fn is_cpu(text: &str) -> bool {
    text.strip_prefix("cpu").is_some_and(is_digits)
}

/// `12`, `-1`, `4.5us`.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let figure = text.trim_end_matches(char::is_alphabetic);
    let unit = &text[figure.len()..];
    let parts: Vec<&str> = figure.split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| is_digits(part)) && (unit.is_empty() || UNITS.contains(&unit))
}

/// `6.12.8`, which an address of a network is not.
fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| is_digits(part) && part.len() <= VERSION_DIGITS_MAX)
}

fn is_list(text: &str) -> bool {
    text.split(LIST_SIGNS).all(|part| is_digits(part) && part.len() <= VERSION_DIGITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_no_addresses() {
        for figure in ["12", "-1", "4.5us", "100us", "6.12.8", "0-3,5"] {
            assert!(is_figure(figure), "{figure}");
        }
        for other in ["10.0.0.1", "00:1b:21", "0xffff888012345678", "49301234567", "12alice", "us", "1-alice", ""] {
            assert!(!is_figure(other), "{other}");
        }
        assert!(are_figures("0.52 0.58 1/597") && are_figures("cpu0=950000") && are_figures(""));
        assert!(!are_figures("alice=1") && !are_figures("1 alice"));
    }
}
