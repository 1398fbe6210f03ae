//! The page built by `ui/`, and the safe embedding of a run's data.

use serde::Serialize;

/// `ui/dist/report.html`, one self-contained file.
const TEMPLATE: &str = include_str!(concat!(env!("OUT_DIR"), "/report.html"));
const TITLE: &str = "<!--tardy:title-->";
const BODY: &str = "<!--tardy:body-->";
const DATA: &str = "\"tardy:data\"";

/// Fills the page: `title` and `body` are complete HTML, `data` becomes the JSON block that the script reads.
///
/// The placeholders are searched in the template only, so text in the contents is never taken for a placeholder.
pub fn fill(title: &str, body: &str, data: &impl Serialize) -> String {
    let (head, rest) = TEMPLATE.split_once(TITLE).expect("the built page has a place for the title");
    let (middle, rest) = rest.split_once(BODY).expect("the built page has a place for the body");
    let (before_data, tail) = rest.split_once(DATA).expect("the built page has a place for the data");
    let data = json_for_script(data);
    [head, title, middle, body, before_data, &data, tail].concat()
}

/// The sources that the page may load: its own script and styles, by their checksums.
pub fn content_security_policy() -> &'static str {
    const BEFORE: &str = "http-equiv=\"Content-Security-Policy\" content=\"";
    let policy = TEMPLATE.split_once(BEFORE).and_then(|(_, rest)| rest.split_once('"'));
    policy.map_or("default-src 'none'", |(policy, _)| policy)
}

/// JSON that cannot end a script element, start a comment in one, or break a line of JavaScript.
pub fn json_for_script(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // In JSON these occur only inside strings, where an escape is equivalent.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", character as u32)),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_leave_its_script_element() {
        let hostile = "</script><!--<script>&amp;\u{2028}\u{2029}";
        let json = json_for_script(&hostile);
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn the_policy_is_that_of_the_built_page() {
        let policy = content_security_policy();
        let directives: Vec<&str> = policy.split("; ").collect();
        assert!(directives.contains(&"default-src 'none'") && !policy.contains('<'), "{policy}");
        assert!(directives.iter().any(|directive| directive.starts_with("script-src 'sha256-")), "{policy}");
    }

    #[test]
    fn contents_that_look_like_places_stay_contents() {
        let page = fill(BODY, DATA, &TITLE);
        assert_eq!(page.matches(BODY).count(), 1);
        assert_eq!(page.matches(DATA).count(), 1);
        assert!(page.contains("\"\\u003c!--tardy:title--\\u003e\""));
    }
}
