//! Any text as a line of a console, and any bytes as a letter received over one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protocol::console::letter::{Gathered, Line, Side, lines};
use protocol::console::line::{base64, from_base64, opened, sealed};
use protocol::console::{Answer, Question, pack, unpack};
use tardy_fuzz::within_budget;

fuzz_target!(|input: (&str, &[u8])| {
    within_budget(input.0.len() + input.1.len(), || {
        let (text, bytes) = input;
        Line::parse(text);
        // A line is checked as a whole: every sealed line can be opened again.
        let checked = sealed(text);
        Line::parse(checked.trim_end());
        opened(text);
        from_base64(text);
        assert_eq!(from_base64(&base64(bytes)).as_deref(), Some(bytes));

        unpack::<Answer>(bytes);
        unpack::<Question>(bytes);
        let mut gathered = Gathered::default();
        for line in lines(Side::Board, 7, &pack(&Answer::Done, bytes)) {
            if let Some(Line::Piece(piece)) = Line::parse(line.trim_end()) {
                gathered.take(piece);
            }
        }
        let whole = gathered.whole().expect("every piece came");
        assert!(unpack::<Answer>(&whole) == Some((Answer::Done, bytes.to_vec())));
    });
});
