//! The methods that a run can measure with.

use crate::briefs::methods::methods;
use crate::mcp::context::Context;
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const NAME_OF_METHOD: Parameter = Parameter::text("name", "Everything about this method [default: the names of all]");

pub struct ListMethods;

impl Tool for ListMethods {
    const NAME: &'static str = "list_methods";
    const DESCRIPTION: &'static str =
        "List what `tardy run --method` can measure: timers, semaphores, sockets, devices.";
    const PARAMETERS: &'static [Parameter] = &[NAME_OF_METHOD];

    fn answer(given: &Given, _context: &Context) -> anyhow::Result<String> {
        document(&methods(given.text(&NAME_OF_METHOD))?)
    }
}
