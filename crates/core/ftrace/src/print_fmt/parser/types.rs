//! Casts, and constants whose value a print format does not contain.

use crate::print_fmt::lexer::Token;

/// Size in bytes and sign; `None` keeps the value as it is.
pub(super) type Cast = Option<(usize, bool)>;

/// A cast at the start of the tokens, and its number of tokens.
pub(super) fn cast(tokens: &[Token]) -> Option<(Cast, usize)> {
    if tokens.first() != Some(&Token::Mark("(")) {
        return None;
    }
    let mut names = Vec::new();
    let mut pointer = false;
    let mut length = 1;
    loop {
        match tokens.get(length)? {
            Token::Name(name) if !pointer || name == "const" => names.push(name.as_str()),
            Token::Mark("*") => pointer = true,
            Token::Mark(")") => break,
            _ => return None,
        }
        length += 1;
    }
    names.retain(|name| !matches!(*name, "const" | "volatile" | "__force"));
    let (first, last) = (*names.first()?, *names.last()?);
    let tagged = matches!(first, "struct" | "union" | "enum") && names.len() == 2;
    let cast = match integer(&names) {
        _ if pointer && (tagged || integer(&names).is_some() || first == "void" || last.ends_with("_t")) => None,
        Some(integer) => Some(integer),
        None if first == "enum" && tagged => Some((4, true)),
        None if names.len() == 1 && last.ends_with("_t") => None,
        None => return None,
    };
    Some((cast, length + 1))
}

/// Size and sign of a C integer type, with the `long` of a 64-bit kernel: narrower values are left unchanged.
pub(super) fn integer(names: &[&str]) -> Option<(usize, bool)> {
    if let [name] = names {
        let known = match *name {
            "u8" | "__u8" | "uint8_t" | "bool" | "_Bool" => (1, false),
            "s8" | "__s8" => (1, true),
            "u16" | "__u16" | "uint16_t" => (2, false),
            "s16" | "__s16" => (2, true),
            "u32" | "__u32" | "uint32_t" | "dev_t" | "gfp_t" | "uint" => (4, false),
            "s32" | "__s32" | "pid_t" => (4, true),
            "u64" | "__u64" | "uint64_t" | "size_t" | "uintptr_t" | "ulong" => (8, false),
            "s64" | "__s64" | "ssize_t" => (8, true),
            _ => (0, false),
        };
        if known.0 > 0 {
            return Some(known);
        }
    }
    if names.is_empty()
        || !names.iter().all(|name| ["unsigned", "signed", "char", "short", "int", "long"].contains(name))
    {
        return None;
    }
    let has = |wanted: &str| names.contains(&wanted);
    let size = if has("char") {
        1
    } else if has("short") {
        2
    } else if has("long") {
        8
    } else {
        4
    };
    Some((size, !has("unsigned")))
}

/// Constants that kernels leave as names in print formats.
pub(super) fn constant(name: &str) -> Option<u64> {
    let mode = name.strip_prefix("HRTIMER_MODE_")?;
    // enum hrtimer_mode is a set of bits.
    mode.split('_').try_fold(0, |bits, word| {
        Some(
            bits | match word {
                "ABS" => 0,
                "REL" => 1,
                "PINNED" => 2,
                "SOFT" => 4,
                "HARD" => 8,
                _ => return None,
            },
        )
    })
}
