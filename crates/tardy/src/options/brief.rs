//! The option that shortens a document.

use clap::Args;

/// Of verbs whose document has a short form.
#[derive(Debug, Clone, Args)]
pub struct BriefArgument {
    /// Shorten the document to 2 kB of typed facts
    #[arg(long, requires = "json", hide_short_help = true)]
    brief: bool,
}

impl BriefArgument {
    pub fn is_given(&self) -> bool {
        self.brief
    }
}
