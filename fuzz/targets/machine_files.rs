//! Any text as the target file of a virtual machine, a board or a place of a lab.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machines::board::board_file::Board;
use machines::labgrid::place_file::LabgridPlace;
use machines::target_file::Description;
use tardy_fuzz::within_budget;

fuzz_target!(|text: &str| {
    within_budget(text.len(), || {
        let board = Board::parse(text).err().map(|why| why.to_string());
        let place = LabgridPlace::parse(text).err().map(|why| why.to_string());
        for refused in [board, place] {
            assert!(refused.is_none_or(|why| !why.is_empty()));
        }
        if let Ok(target) = Description::parse(text) {
            let written = target.to_text();
            let read = Description::parse(&written).map(|again| again.to_text());
            assert_eq!(read.ok().as_ref(), Some(&written), "a target that was written can be read");
        }
    });
});
