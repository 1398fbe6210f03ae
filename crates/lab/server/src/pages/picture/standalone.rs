//! A picture as an SVG document of its own, to embed elsewhere.

use maud::{Markup, PreEscaped, html};
use report::picture::light_styles;

/// Colours that the style sheet of the pages has for these pictures; only light ones, as the other page decides its scheme.
const STYLES: &str = "
text{font:12px system-ui,sans-serif;fill:#545c64}
.spark-line{fill:none;stroke:#0067ab;stroke-width:1.4}
.spark-dot{fill:#0067ab}.spark-dot[data-state=bad]{fill:#a81e12}.spark-dot[data-state=good],.spark-dot[data-state=held]{fill:#12693f}
.change-line{stroke:#16191c;stroke-width:1.2;stroke-dasharray:4 3;fill:none}.change-flag{fill:#16191c}.change-number{fill:#fff;font-weight:700}
.kernel-band{fill:#f4f6f7}.kernel-band.odd{fill:#e3e8ec}.setting-mark{fill:#7a4b00}.worst-line{fill:none;stroke:#16191c;stroke-width:1.2}
.ridge{stroke-width:1}.heat-1{fill:#e3eef7}.heat-2{fill:#cadff0}.heat-3{fill:#a9cce7}.heat-4{fill:#7fb3db}.heat-5{fill:#5397cb}.heat-6{fill:#2f7bb6}.heat-7{fill:#15609a}.heat-8{fill:#0a4676}.heat-9{fill:#062f52}
";

/// The document. Text in it is escaped by maud.
pub fn document(width: f64, height: f64, label: &str, body: &Markup) -> String {
    let inside = html! {
        title { (label) }
        style { (PreEscaped(light_styles())) (PreEscaped(STYLES)) }
        rect.paper width=(width) height=(height) {}
        (body)
    };
    let head = r#"<svg xmlns="http://www.w3.org/2000/svg" class="plot""#;
    format!(r#"{head} viewBox="0 0 {width} {height}" width="{width}" height="{height}">{}</svg>"#, inside.into_string())
}
