//! Any text as what people write about boards and places of a lab.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machines::board::board_file::Board;
use machines::labgrid::place_file::LabgridPlace;
use tardy_fuzz::within_budget;

fuzz_target!(|text: &str| {
    within_budget(text.len(), || {
        for refused in [Board::parse(text).err(), LabgridPlace::parse(text).err()] {
            assert!(refused.is_none_or(|why| !why.is_empty()));
        }
    });
});
