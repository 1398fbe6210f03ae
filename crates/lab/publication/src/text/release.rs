//! Releases of kernels: the version stays, the name of who built it does not.

use super::Anonymiser;
use crate::rules::RELEASES;

/// Flavours that distributions have in common.
const FLAVOURS: [&str; 5] = ["amd64", "arm64", "cloud", "generic", "lowlatency"];

impl Anonymiser<'_> {
    /// `6.12.8-rt5-acme` with a pseudonym for `acme`.
    pub fn release(&mut self, release: &str) -> String {
        let mut parts = release.split('-');
        let version = parts.next().unwrap_or_default();
        if version.split('.').count() > 3 || !version.split('.').all(is_number) {
            return self.pseudonym("kernel", RELEASES, release);
        }
        let counted = |part: &str, word: &str| {
            part.strip_prefix(word).is_some_and(|number| number.is_empty() || is_number(number))
        };
        let stays =
            |part: &&str| counted(part, "rt") || counted(part, "rc") || is_number(part) || FLAVOURS.contains(part);
        let kept: Vec<&str> = parts.clone().take_while(stays).collect();
        let rest: Vec<&str> = parts.skip(kept.len()).collect();
        let mut shown = [&[version], kept.as_slice()].concat().join("-");
        if !rest.is_empty() {
            shown = format!("{shown}-{}", self.pseudonym("kernel", RELEASES, &rest.join("-")));
        }
        shown
    }
}

fn is_number(text: &str) -> bool {
    (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}
