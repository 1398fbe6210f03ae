//! Colours and patterns of the pictures, from the style sheets of the page.

/// The variables, each `light-dark(…, …)`, and the rules that use them. Both are also part of the built page.
const COLOURS: &str = include_str!("../../../../../ui/src/styles/colours.css");
const RULES: &str = include_str!("../../../../../ui/src/styles/picture.css");

/// Hatchings over the fill of an owner kind.
pub const PATTERNS: &str = concat!(
    r##"<defs>"##,
    r##"<pattern id="hatch-dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle class="hatch-dot" cx="2.5" cy="2.5" r="1.1"/></pattern>"##,
    r##"<pattern id="hatch-up" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5"/></pattern>"##,
    r##"<pattern id="hatch-down" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>"##,
    r##"<pattern id="hatch-cross" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M-1 1L1 -1M0 6L6 0M5 7L7 5M-1 5L1 7M0 0L6 6M5 -1L7 1"/></pattern>"##,
    r##"<pattern id="hatch-level" width="6" height="5" patternUnits="userSpaceOnUse"><path class="hatch" d="M0 2.5H6"/></pattern>"##,
    r##"<pattern id="hatch-upright" width="5" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M2.5 0V6"/></pattern>"##,
    r##"</defs>"##
);

/// The variables and the rules, for a page that follows the reader's colour scheme.
pub fn variable() -> String {
    format!("{COLOURS}{RULES}")
}

/// The rules with every variable replaced by its light value, for renderers without variables.
pub fn light() -> String {
    let mut css = RULES.to_owned();
    for line in COLOURS.lines() {
        let Some((name, value)) = line.trim().strip_prefix("--").and_then(|line| line.split_once(':')) else {
            continue;
        };
        let value = value.trim().trim_end_matches(';');
        let light = value.strip_prefix("light-dark(").and_then(|pair| pair.split(',').next()).unwrap_or(value);
        css = css.replace(&format!("var(--{name})"), light);
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;
    use words::vocabulary;

    #[test]
    fn every_variable_has_a_light_value() {
        assert!(!light().contains("var("), "{}", light());
        assert!(!light().contains("light-dark("), "{}", light());
    }

    #[test]
    fn every_kind_has_a_fill_and_every_phase_too() {
        for kind in vocabulary::OWNER_KINDS {
            let class = format!(".kind-{} {{", vocabulary::owner_kind_key(kind));
            assert!(RULES.contains(&class), "picture.css lacks {class}");
        }
        for phase in vocabulary::PHASES {
            let class = format!(".phase-{} {{", vocabulary::phase_key(phase));
            assert!(RULES.contains(&class), "picture.css lacks {class}");
        }
    }
}
