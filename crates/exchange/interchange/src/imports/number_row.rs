//! A row of whole numbers: a latency and the counts of it.

/// Numbers of a row, a latency and at least one count; `None` if the line is not a row.
pub fn row(line: &str) -> Option<Vec<u64>> {
    let numbers: Vec<u64> = line.split_whitespace().map(|word| digits(word)?.parse().ok()).collect::<Option<_>>()?;
    (numbers.len() >= 2).then_some(numbers)
}

/// Digits only: `parse` would accept a sign.
fn digits(word: &str) -> Option<&str> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then_some(word)
}
