//! Formats numbers without `std::fmt`, whose cost would exceed that of all decoding.

pub(super) fn decimal(value: u64, out: &mut String) {
    radix(value, 10, false, out);
}

pub(super) fn signed(value: i64, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    decimal(value.unsigned_abs(), out);
}

/// `0x` and the digits.
pub(super) fn hex(value: u64, out: &mut String) {
    out.push_str("0x");
    radix(value, 16, false, out);
}

pub(super) fn hex_padded(value: u64, digits_min: usize, out: &mut String) {
    let used = (64 - value.leading_zeros() as usize).div_ceil(4).max(1);
    for _ in used..digits_min {
        out.push('0');
    }
    radix(value, 16, false, out);
}

/// Radix 8, 10 or 16.
pub(super) fn radix(mut value: u64, radix: u64, upper: bool, out: &mut String) {
    // 2^64 has 22 octal digits.
    let mut digits = [0u8; 22];
    let mut start = digits.len();
    loop {
        let (rest, digit) = match radix {
            8 => (value >> 3, value & 7),
            16 => (value >> 4, value & 15),
            _ => (value / 10, value % 10),
        };
        start -= 1;
        digits[start] = match digit as u8 {
            digit @ 0..=9 => b'0' + digit,
            digit if upper => b'A' + digit - 10,
            digit => b'a' + digit - 10,
        };
        value = rest;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[start..].iter().map(|&digit| digit as char));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for value in [0, 7, 10, 4096, 0xdead_beef, u64::MAX] {
            let mut text = String::new();
            radix(value, 8, false, &mut text);
            text.push(' ');
            decimal(value, &mut text);
            text.push(' ');
            radix(value, 16, true, &mut text);
            text.push(' ');
            signed(value as i64, &mut text);
            text.push(' ');
            hex_padded(value, 6, &mut text);
            assert_eq!(text, format!("{value:o} {value} {value:X} {} {value:06x}", value as i64));
        }
    }
}
