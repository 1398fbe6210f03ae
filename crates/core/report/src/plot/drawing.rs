//! A picture under construction, and its two output forms.

use super::style;
use std::fmt::Write;

/// SVG of a fixed size. Classes define the colours, see [`style`].
pub struct Drawing {
    width: f64,
    height: f64,
    /// Description of the picture for screen readers.
    label: String,
    body: String,
}

/// Which point of a text is at its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub fn new(width: f64, height: f64, label: String) -> Self {
        Self { width, height, label, body: String::new() }
    }

    pub fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}"/>"#
        ));
    }

    pub fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.push(format_args!(r#"<path class="{class}" d="M{x1:.2} {y1:.2}L{x2:.2} {y2:.2}"/>"#));
    }

    pub fn path(&mut self, class: &str, path: &str) {
        self.push(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.push(format_args!(r#"<text class="{class}" x="{x:.2}" y="{y:.2}" text-anchor="{anchor}">{text}</text>"#));
    }

    /// For a page that defines the colours and patterns.
    pub fn inline(&self) -> String {
        let Self { width, height, body, .. } = self;
        let label = escaped(&self.label);
        format!(r#"<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{body}</svg>"#)
    }

    /// A standalone document in light colours, with patterns and background.
    pub fn standalone(&self) -> String {
        let Self { width, height, body, .. } = self;
        let (css, patterns) = (style::light(), style::PATTERNS);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {width} {height}" width="{width}" height="{height}"><style>{css}</style>{patterns}<rect class="paper" width="{width}" height="{height}"/>{body}</svg>"#
        )
    }

    fn push(&mut self, piece: std::fmt::Arguments) {
        self.body.write_fmt(piece).expect("writing to a string succeeds");
    }
}

/// Text that is safe in XML and in HTML, between tags and in quoted attributes. Control characters, which XML forbids,
/// become the replacement character.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            control if control.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut drawing = Drawing::new(10.0, 10.0, "\"><script>".into());
        drawing.text("label", 0.0, 0.0, Anchor::Start, "</text><script>\u{0}\u{1b}");
        let svg = drawing.inline();
        assert!(!svg.contains("<script>"), "{svg}");
        assert!(!svg.contains(['\u{0}', '\u{1b}']), "{svg}");
    }
}
