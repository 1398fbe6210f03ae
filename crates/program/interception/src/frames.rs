//! Where callers are on the stack, from the table that exceptions are unwound with (`.eh_frame`): code without frame pointers, such
//! as the C library, shows its callers, too.
//!
//! The program of each function is run once, before the program starts, and becomes rows: from an address on, the caller's frame is
//! so far above a register, and the caller's frame pointer is there or unchanged. What a row cannot say ends a stack.

use std::collections::BTreeMap;
use std::ops::Range;

/// Addresses are found among the rows of one page.
const PAGE: u64 = 1024;
/// Most rows of one file.
const ROWS_MAX: usize = 4_000_000;
/// States that a function remembers at a time.
const REMEMBERED_MAX: usize = 32;
/// Numbers of registers in the table.
const RBP: u64 = 6;
const RSP: u64 = 7;
const RETURN_ADDRESS: u64 = 16;

/// The register that a caller's frame is measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Stack,
    Frame,
    /// The table says it in another way, or there is no caller.
    Unknown,
}

/// The rule for the code from an address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub start: u64,
    /// From the register to the end of the caller's frame, below which the return address is.
    pub offset: i32,
    /// From there to the caller's frame pointer, if it is on the stack.
    pub saved: Option<i16>,
    pub base: Base,
}

/// Registers of a function that called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The address after the call.
    pub address: u64,
    pub stack: u64,
    pub frame: u64,
}

/// The rows of one file.
#[derive(Debug, Clone, Default)]
pub struct Frames {
    rows: Vec<Row>,
    /// For each page of code, the number of rows before it.
    before: Vec<u32>,
}

impl Frames {
    /// The rows of the functions that a table (`.eh_frame_hdr`) lists. `read` returns the 4 bytes at an address of the file, if
    /// they are mapped; whatever they are, the result is in order.
    pub fn read(table: u64, read: &dyn Fn(u64) -> Option<u32>) -> Self {
        let mut rows = Vec::new();
        let mut commons = BTreeMap::new();
        for (function, description) in crate::unwind_table::described(table, read) {
            if rows.len() > ROWS_MAX || rows.last().is_some_and(|last: &Row| last.start > function.start) {
                continue;
            }
            let unknown = |start| Row { start, offset: 0, saved: None, base: Base::Unknown };
            let own = of_function(&function, description, read, &mut commons);
            rows.extend(own.unwrap_or_else(|| vec![unknown(function.start)]));
            rows.push(unknown(function.end));
        }
        Self::of(rows)
    }

    fn of(mut rows: Vec<Row>) -> Self {
        rows.sort_by_key(|row| row.start);
        let mut before = Vec::new();
        let Some(start) = rows.first().map(|row| row.start) else { return Self::default() };
        for (index, row) in rows.iter().enumerate() {
            let page = usize::try_from((row.start - start) / PAGE).unwrap_or(usize::MAX).min(ROWS_MAX);
            while before.len() <= page {
                before.push(u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
        Self { rows, before }
    }

    /// The rule at an address.
    pub fn find(&self, address: u64) -> Option<&Row> {
        let start = self.rows.first()?.start;
        let page = usize::try_from(address.checked_sub(start)? / PAGE).ok()?;
        let first = *self.before.get(page).or(self.before.last())? as usize;
        let end = self.before.get(page + 1).map_or(self.rows.len(), |end| *end as usize);
        let rows = self.rows.get(first..end.max(first))?;
        let after = first + rows.partition_point(|row| row.start <= address);
        self.rows.get(after.checked_sub(1)?)
    }
}

impl Row {
    /// The function that called the one at a position; `None` if it cannot be found within the stack. `word` reads a word of the stack.
    pub fn caller(&self, at: Position, stack: &Range<u64>, word: &dyn Fn(u64) -> u64) -> Option<Position> {
        let base = match self.base {
            Base::Stack => at.stack,
            Base::Frame => at.frame,
            Base::Unknown => return None,
        };
        let end = base.checked_add_signed(i64::from(self.offset))?;
        let is_inside = |address: u64| {
            address.is_multiple_of(8) && (stack.start..stack.end).contains(&address) && address >= at.stack
        };
        let read = |address: u64| is_inside(address).then(|| word(address));
        // A frame is above the one that it calls.
        if end <= at.stack {
            return None;
        }
        let address = read(end.checked_sub(8)?)?;
        let frame = match self.saved {
            Some(offset) => read(end.checked_add_signed(i64::from(offset))?)?,
            None => at.frame,
        };
        Some(Position { address, stack: end, frame })
    }
}

/// The common part of functions: the state that they start with.
#[derive(Debug, Clone, Copy)]
struct Common {
    code_alignment: u64,
    data_alignment: i64,
    /// Descriptions of its functions have data of their own before their instructions.
    has_data: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    base: Base,
    offset: i64,
    saved: Option<i16>,
}

/// The rows of a function; `None` if its description cannot be read.
fn of_function(
    function: &Range<u64>,
    description: u64,
    read: &dyn Fn(u64) -> Option<u32>,
    commons: &mut BTreeMap<u64, Option<Common>>,
) -> Option<Vec<Row>> {
    let offset_field = description.checked_add(4)?;
    let place = offset_field.checked_sub(u64::from(read(offset_field)?))?;
    let common = (*commons.entry(place).or_insert_with(|| common(place, read)))?;
    let mut bytes = Bytes::of(description, read)?;
    // Past the offset, the start and the number of bytes.
    bytes.at = description.checked_add(16)?;
    if common.has_data {
        let length = bytes.unsigned()?;
        bytes.at = bytes.at.checked_add(length)?;
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |start: u64, state: State| {
        let offset = i32::try_from(state.offset);
        let base = if offset.is_ok() { state.base } else { Base::Unknown };
        let row = Row { start, offset: offset.unwrap_or(0), saved: state.saved, base };
        match rows.last_mut().filter(|last| last.start == start) {
            Some(last) => *last = row,
            None => rows.push(row),
        }
    };
    run(&mut bytes, common, function.start, &mut |start, state| {
        if start < function.end {
            add(start, state);
        }
    })?;
    Some(rows)
}

fn common(place: u64, read: &dyn Fn(u64) -> Option<u32>) -> Option<Common> {
    let mut bytes = Bytes::of(place, read)?;
    bytes.at = place.checked_add(8)?;
    let version = bytes.byte()?;
    let mut letters = Vec::new();
    loop {
        match bytes.byte()? {
            0 => break,
            letter => letters.push(letter),
        }
    }
    let (code_alignment, data_alignment) = (bytes.unsigned()?, bytes.signed()?);
    let return_address = if version == 1 { u64::from(bytes.byte()?) } else { bytes.unsigned()? };
    let has_data = letters.first() == Some(&b'z');
    // The frame of a signal is described by expressions.
    if return_address != RETURN_ADDRESS || letters.contains(&b'S') || !(has_data || letters.is_empty()) {
        return None;
    }
    if has_data {
        let length = bytes.unsigned()?;
        bytes.at = bytes.at.checked_add(length)?;
    }
    let state = State { base: Base::Unknown, offset: 0, saved: None };
    let empty = Common { code_alignment, data_alignment, has_data, state };
    let state = run(&mut bytes, empty, 0, &mut |_, _| {})?;
    Some(Common { state, ..empty })
}

/// Runs instructions; `row` takes the state at each address where it changes. Returns the last state.
fn run(bytes: &mut Bytes<'_>, common: Common, start: u64, row: &mut dyn FnMut(u64, State)) -> Option<State> {
    let (mut at, mut state) = (start, common.state);
    let mut remembered = Vec::new();
    row(at, state);
    while bytes.at < bytes.end {
        let code = bytes.byte()?;
        let low = u64::from(code & 0x3f);
        let advance = match (code >> 6, code) {
            (1, _) => low,
            (_, 0x02) => u64::from(bytes.byte()?),
            (_, 0x03) => u64::from(bytes.half()?),
            (_, 0x04) => u64::from(bytes.word()?),
            _ => 0,
        };
        if advance > 0 {
            at = at.checked_add(advance.checked_mul(common.code_alignment)?)?;
            row(at, state);
            continue;
        }
        let factored = |offset: u64| i64::try_from(offset).ok()?.checked_mul(common.data_alignment);
        match (code >> 6, code) {
            (2, _) => {
                let offset = factored(bytes.unsigned()?)?;
                state.save(low, offset);
            }
            (3, _) => state.restore(low, common.state),
            // Nothing, and no advance.
            (_, 0x00 | 0x02..=0x04) | (1, _) => {}
            (_, 0x05) => {
                let register = bytes.unsigned()?;
                let offset = factored(bytes.unsigned()?)?;
                state.save(register, offset);
            }
            (_, 0x06) => {
                let register = bytes.unsigned()?;
                state.restore(register, common.state);
            }
            // Undefined: the first function of a thread has no caller.
            (_, 0x07) => {
                let register = bytes.unsigned()?;
                if matches!(register, RETURN_ADDRESS | RBP) {
                    state.base = Base::Unknown;
                }
            }
            // The same value.
            (_, 0x08) => {
                if bytes.unsigned()? == RBP {
                    state.saved = None;
                }
            }
            // In another register.
            (_, 0x09) => {
                let register = bytes.unsigned()?;
                bytes.unsigned()?;
                state.cannot(register);
            }
            (_, 0x0a) => {
                if remembered.len() >= REMEMBERED_MAX {
                    return None;
                }
                remembered.push(state);
            }
            (_, 0x0b) => state = remembered.pop()?,
            (_, 0x0c) => {
                let register = bytes.unsigned()?;
                state.define(register, i64::try_from(bytes.unsigned()?).ok()?);
            }
            (_, 0x0d) => {
                let register = bytes.unsigned()?;
                state.define(register, state.offset);
            }
            (_, 0x0e) => state.offset = i64::try_from(bytes.unsigned()?).ok()?,
            (_, 0x0f) => {
                bytes.skip_block()?;
                state.base = Base::Unknown;
            }
            // By an expression: the value or its place.
            (_, 0x10 | 0x16) => {
                let register = bytes.unsigned()?;
                bytes.skip_block()?;
                state.cannot(register);
            }
            (_, 0x11) => {
                let register = bytes.unsigned()?;
                let offset = bytes.signed()?.checked_mul(common.data_alignment)?;
                state.save(register, offset);
            }
            (_, 0x12) => {
                let register = bytes.unsigned()?;
                let offset = bytes.signed()?.checked_mul(common.data_alignment)?;
                state.define(register, offset);
            }
            (_, 0x13) => state.offset = bytes.signed()?.checked_mul(common.data_alignment)?,
            (_, 0x14 | 0x15) => {
                let register = bytes.unsigned()?;
                bytes.unsigned()?;
                state.cannot(register);
            }
            // Bytes of arguments.
            (_, 0x2e) => _ = bytes.unsigned()?,
            _ => return None,
        }
        row(at, state);
    }
    Some(state)
}

impl State {
    fn define(&mut self, register: u64, offset: i64) {
        self.offset = offset;
        self.base = match register {
            RSP => Base::Stack,
            RBP => Base::Frame,
            _ => Base::Unknown,
        };
    }

    fn save(&mut self, register: u64, offset: i64) {
        match register {
            RBP => match i16::try_from(offset) {
                Ok(offset) => self.saved = Some(offset),
                Err(_) => self.base = Base::Unknown,
            },
            // It is always directly below the caller's frame.
            RETURN_ADDRESS if offset != -8 => self.base = Base::Unknown,
            _ => {}
        }
    }

    fn restore(&mut self, register: u64, first: Self) {
        if register == RBP {
            self.saved = first.saved;
        }
    }

    /// The place of a register is not known.
    fn cannot(&mut self, register: u64) {
        if matches!(register, RBP | RETURN_ADDRESS) {
            self.base = Base::Unknown;
        }
    }
}

/// The bytes of an entry.
struct Bytes<'a> {
    at: u64,
    end: u64,
    read: &'a dyn Fn(u64) -> Option<u32>,
}

impl<'a> Bytes<'a> {
    /// The entry at an address, from its length on.
    fn of(place: u64, read: &'a dyn Fn(u64) -> Option<u32>) -> Option<Self> {
        const LONG: u32 = u32::MAX;
        const BYTES_MAX: u32 = 1 << 20;
        let length = read(place)?;
        if length == LONG || length > BYTES_MAX {
            return None;
        }
        let at = place.checked_add(4)?;
        Some(Self { at, end: at.checked_add(u64::from(length))?, read })
    }

    fn word(&mut self) -> Option<u32> {
        let word = (self.read)(self.at)?;
        self.at = self.at.checked_add(4)?;
        Some(word)
    }

    fn half(&mut self) -> Option<u16> {
        let (low, high) = (self.byte()?, self.byte()?);
        Some(u16::from_le_bytes([low, high]))
    }

    fn byte(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        let byte = (self.read)(self.at)? as u8;
        self.at += 1;
        Some(byte)
    }

    /// A number in groups of 7 bits, with the number of its bits.
    fn groups(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (0_u64, 0);
        loop {
            let byte = self.byte()?;
            if bits < 64 {
                value |= u64::from(byte & 0x7f) << bits;
            }
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
    }

    fn unsigned(&mut self) -> Option<u64> {
        self.groups().map(|(value, ..)| value)
    }

    fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.groups()?;
        let is_negative = last & 0x40 != 0 && bits < 64;
        Some(if is_negative { (value | u64::MAX << bits) as i64 } else { value as i64 })
    }

    fn skip_block(&mut self) -> Option<()> {
        let length = self.unsigned()?;
        self.at = self.at.checked_add(length)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: u64 = 0x10_0000;
    /// Where the function of [`table`] starts, in bytes from the table.
    const CODE: u32 = 0x1000;

    fn reader(bytes: Vec<u8>) -> impl Fn(u64) -> Option<u32> {
        move |at| {
            let offset = usize::try_from(at.checked_sub(TABLE)?).ok()?;
            Some(u32::from_le_bytes(bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?))
        }
    }

    /// A table of one function of 64 bytes with these instructions.
    fn table(instructions: &[u8]) -> Vec<u8> {
        table_of(&[instructions])
    }

    /// The same for functions one after the other.
    fn table_of(functions: &[&[u8]]) -> Vec<u8> {
        let count = functions.len() as u32;
        let mut bytes = vec![1, 0x1b, 0x03, 0x3b];
        let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend(word.to_le_bytes());
        [0, count].into_iter().for_each(|value| word(&mut bytes, value));
        let common = 12 + count * 8;
        let (mut descriptions, mut description) = (Vec::new(), common + 24);
        for (code, instructions) in (CODE..).step_by(64).zip(functions) {
            [code, description].into_iter().for_each(|value| word(&mut bytes, value));
            let mut own = instructions.to_vec();
            own.resize((13 + own.len()).next_multiple_of(4) - 13, 0);
            let words = [13 + own.len() as u32, description + 4 - common, code.wrapping_sub(description + 8), 64];
            descriptions.extend(words.into_iter().flat_map(u32::to_le_bytes));
            descriptions.push(0);
            descriptions.extend(&own);
            description += 17 + own.len() as u32;
        }
        // In common: rsp + 8, and the return address below.
        word(&mut bytes, 20);
        word(&mut bytes, 0);
        bytes.extend([1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0]);
        bytes.extend(descriptions);
        bytes.extend([0; 8]);
        bytes
    }

    fn rule(frames: &Frames, offset: u64) -> (Base, i32, Option<i16>) {
        let row = frames.find(TABLE + u64::from(CODE) + offset).unwrap();
        (row.base, row.offset, row.saved)
    }

    #[test]
    fn rules_follow_the_instructions_of_a_function() {
        // push rbp; mov rbp, rsp; a return in between; and the rest.
        let code = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0x0c, 7, 8, 0xc6, 0x41, 0x0b, 0x02, 4, 0x2e, 3];
        let frames = Frames::read(TABLE, &reader(table(&code)));
        assert_eq!(rule(&frames, 0), (Base::Stack, 8, None));
        assert_eq!(rule(&frames, 3), (Base::Stack, 16, Some(-16)));
        assert_eq!(rule(&frames, 4), (Base::Frame, 16, Some(-16)));
        assert_eq!(rule(&frames, 20), (Base::Stack, 8, None));
        assert_eq!(rule(&frames, 63), (Base::Frame, 16, Some(-16)));
        assert_eq!(rule(&frames, 64).0, Base::Unknown);
        assert_eq!(frames.find(TABLE), None);
    }

    #[test]
    fn a_function_with_a_broken_description_has_no_rule_and_its_neighbours_have_theirs() {
        // The second one pops a state that nothing pushed.
        let frames = Frames::read(TABLE, &reader(table_of(&[&[0x41, 0x0e, 16], &[0x44, 0x0b], &[0x41, 0x0e, 24]])));
        assert_eq!([rule(&frames, 0), rule(&frames, 63)].map(|rule| rule.1), [8, 16]);
        for offset in [64, 67, 68, 127] {
            assert_eq!(rule(&frames, offset).0, Base::Unknown, "{offset}");
        }
        assert_eq!([rule(&frames, 128), rule(&frames, 191)].map(|rule| rule.1), [8, 24]);
    }

    #[test]
    fn callers_are_found_in_the_stack_and_nowhere_else() {
        let stack = 0x7000..0x8000;
        let word = |address: u64| address + 1;
        let row = Row { start: 0, offset: 32, saved: Some(-16), base: Base::Stack };
        let at = Position { address: 5, stack: 0x7100, frame: 0x9 };
        let caller = row.caller(at, &stack, &word);
        assert_eq!(caller, Some(Position { address: 0x7119, stack: 0x7120, frame: 0x7111 }));
        for stack in [0x7fe8, 0x7101, 0x6000, u64::MAX - 7] {
            assert_eq!(row.caller(Position { stack, ..at }, &(0x7000..0x8000), &word), None, "{stack:#x}");
        }
        // Below the function that it calls.
        let lower = Row { offset: -8, ..row };
        assert_eq!(lower.caller(at, &stack, &word), None);
        let by_frame = Row { base: Base::Frame, offset: 16, saved: None, ..row };
        assert_eq!(by_frame.caller(at, &stack, &word), None);
    }

    proptest! {
        #[test]
        fn any_instructions_become_rows_in_order(
            code in proptest::collection::vec(any::<u8>(), 0..64),
            at in any::<u64>(),
            spoilt in 0_usize..60,
            with in any::<u8>(),
        ) {
            let mut bytes = table(&code);
            if let Some(byte) = bytes.get_mut(spoilt) {
                *byte = with;
            }
            let frames = Frames::read(TABLE, &reader(bytes));
            prop_assert!(frames.rows.windows(2).all(|pair| pair[0].start <= pair[1].start));
            for address in [at, TABLE + u64::from(CODE) + at % 70] {
                let position = Position { address, stack: at, frame: at };
                if let Some(row) = frames.find(address) {
                    prop_assert!(row.start <= address);
                    row.caller(position, &(at..at.saturating_add(100)), &|_| at);
                }
            }
        }
    }
}
