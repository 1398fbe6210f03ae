//! The frame of every page: head, navigation, footer.

use super::assets;
use crate::guard::Identity;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Pages in the navigation.
const PLACES: [(&str, &str); 6] = [
    ("/", "Today"),
    ("/fleet", "Fleet"),
    ("/live", "Live"),
    ("/culprits", "Culprits"),
    ("/experiments", "Experiments"),
    ("/queue", "Queue"),
];

/// The same at a desk, whose directory has the measurements that were kept.
const PLACES_AT_DESK: [(&str, &str); 4] =
    [("/desk", "Desk"), ("/live", "Live"), ("/", "Kept measurements"), ("/culprits", "Culprits")];

/// Facts of the frame about the page.
pub struct Page<'a> {
    pub title: &'a str,
    /// Address of the page, or of the one it is part of.
    pub here: &'a str,
    pub identity: &'a Identity,
    pub refresh: Refresh,
}

/// Whether the browser loads a page again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    Never,
    /// Part of it is still being made: a script looks for the content again until it is.
    Content,
    /// A script keeps it up to date.
    WithoutScript,
    /// The browser goes on to another page of the server at once.
    At(&'static str),
}

impl Refresh {
    /// While part of a page is still being made.
    pub fn while_making(making: bool) -> Self {
        if making { Self::Content } else { Self::Never }
    }
}

impl Page<'_> {
    /// The page with this content.
    pub fn around(&self, content: Markup) -> Markup {
        let at_desk = self.identity.at_desk;
        let places: &[(&str, &str)] = if at_desk { &PLACES_AT_DESK } else { &PLACES };
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @match self.refresh {
                        Refresh::Never => {},
                        Refresh::At(address) => meta http-equiv="refresh" content={ "0; url=" (address) };,
                        // A script replaces the content: a page that loads again by itself loses the reader's place.
                        Refresh::Content | Refresh::WithoutScript => { noscript { meta http-equiv="refresh" content="3"; } },
                    }
                    title { (self.title) " – tardy" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(assets::STYLES.address());
                    script type="module" src=(assets::SCRIPT.address()) {}
                }
                body.lab {
                    a.skip href="#content" { "Skip to the content" }
                    // Scripts read the namespace of SVG here: the built file contains no address.
                    (PreEscaped("<svg class=\"definitions\" width=\"0\" height=\"0\" aria-hidden=\"true\"></svg>"))
                    header.page.lab-head {
                        a.brand href=(if at_desk { "/desk" } else { "/" }) { "tardy" }
                        nav aria-label="Pages" {
                            ol {
                                @for (address, name) in places {
                                    li { a href=(address) aria-current=[(*address == self.here).then_some("page")] { (name) } }
                                }
                            }
                        }
                        @if let Some(name) = &self.identity.name {
                            form.identity method="post" action="/logout" {
                                span { bdi { (name) } @if let Some(role) = self.identity.role { " (" (role) ")" } }
                                @if self.identity.by_cookie { button { "Log out" } }
                            }
                        }
                    }
                    main #content tabindex="-1" data-again=[(self.refresh == Refresh::Content).then_some("")] { (content) }
                    footer.page {
                        p {
                            "tardy " (env!("CARGO_PKG_VERSION")) " · "
                            a href="/api/v1/openapi.json" { "API" }
                        }
                    }
                }
            }
        }
    }
}
