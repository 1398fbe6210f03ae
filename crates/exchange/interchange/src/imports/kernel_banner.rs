//! The preemption model in a kernel's version: `#1 SMP PREEMPT_RT Debian 6.12.43-1`.

/// The model, in the words of the archive; `None` if the version has none.
pub fn preemption(version: &str) -> Option<String> {
    let mut words = version.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let model = words.find(|word| word.starts_with("PREEMPT"))?;
    // Kernels before 5.15 write two words.
    let is_split = model == "PREEMPT" && words.next() == Some("RT");
    Some(if is_split { "preempt_rt".into() } else { model.to_ascii_lowercase() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_a_word_of_the_version() {
        let model = |version| preemption(version);
        assert_eq!(model("#1 SMP PREEMPT_RT Debian 6.12").as_deref(), Some("preempt_rt"));
        assert_eq!(model("#1 SMP PREEMPT RT").as_deref(), Some("preempt_rt"));
        assert_eq!(model("#1 SMP PREEMPT Mon").as_deref(), Some("preempt"));
        assert_eq!(model("#1 SMP Debian"), None);
    }
}
