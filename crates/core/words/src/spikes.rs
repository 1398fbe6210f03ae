//! Numbers of spikes in a message.

/// Numbers in one message; a run may have thousands.
const SHOWN_MAX: usize = 10;

/// `none`, `1, 2, 7`, or the first numbers and how many more there are.
pub fn numbers(spikes: &[u32]) -> String {
    let shown: Vec<String> = spikes.iter().take(SHOWN_MAX).map(u32::to_string).collect();
    match spikes.len() {
        0 => "none".to_owned(),
        all if all <= SHOWN_MAX => shown.join(", "),
        all => format!("{} and {} more", shown.join(", "), all - SHOWN_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_are_counted() {
        assert_eq!((numbers(&[]).as_str(), numbers(&[3, 7]).as_str()), ("none", "3, 7"));
        assert_eq!(numbers(&(1..=40).collect::<Vec<_>>()), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 30 more");
    }
}
