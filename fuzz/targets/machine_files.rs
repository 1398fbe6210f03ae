//! Any text as the target file of a board or a place of a lab.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machines::board::board_file::Board;
use machines::labgrid::place_file::LabgridPlace;
use tardy_fuzz::within_budget;

fuzz_target!(|text: &str| {
    within_budget(text.len(), || {
        let board = Board::parse(text).err().map(|why| why.to_string());
        let place = LabgridPlace::parse(text).err().map(|why| why.to_string());
        for refused in [board, place] {
            assert!(refused.is_none_or(|why| !why.is_empty()));
        }
    });
});
