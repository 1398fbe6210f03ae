//! Text as a sequence of tokens: numbers by kind and width, everything else literally.

/// One token of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Text(String),
    /// `width` includes the padding in front.
    Number {
        width: usize,
        padded: bool,
        fraction: bool,
    },
}

/// Tokens of a line. Spaces before a number, except the first one, belong to it as padding.
pub fn tokens(line: &str) -> Vec<Token> {
    let characters: Vec<char> = line.chars().collect();
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while at < characters.len() {
        let within_a_word = text.ends_with(|c: char| c.is_alphanumeric());
        let negative =
            characters[at] == '-' && !within_a_word && characters.get(at + 1).is_some_and(char::is_ascii_digit);
        if !characters[at].is_ascii_digit() && !negative {
            text.push(characters[at]);
            at += 1;
            continue;
        }
        let start = at;
        at += usize::from(negative);
        let mut fraction = false;
        while let Some(character) = characters.get(at) {
            let point = *character == '.' && !fraction && characters.get(at + 1).is_some_and(char::is_ascii_digit);
            if !character.is_ascii_digit() && !point {
                break;
            }
            fraction |= point;
            at += 1;
        }
        let unpadded = text.trim_end_matches(' ').len();
        let spaces = text.len() - unpadded;
        text.truncate(unpadded);
        if !text.is_empty() {
            tokens.push(Token::Text(std::mem::take(&mut text)));
        }
        let zeros = characters[start] == '0' && at - start > 1 && !fraction;
        tokens.push(Token::Number { width: spaces + at - start, padded: spaces > 1 || zeros, fraction });
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    tokens
}

/// Whether two lines may have the same format. A number may be longer than its field; then it has no padding.
pub fn alike(left: &str, right: &str) -> bool {
    let (left, right) = (tokens(left), tokens(right));
    left.len() == right.len()
        && left.iter().zip(&right).all(|(left, right)| match (left, right) {
            (
                Token::Number { width: left, padded: left_padded, fraction: left_fraction },
                Token::Number { width: right, padded: right_padded, fraction: right_fraction },
            ) => {
                let longer_is_padded = if left > right { *left_padded } else { *right_padded };
                left_fraction == right_fraction && (left == right || !longer_is_padded)
            }
            (left, right) => left == right,
        })
}

/// Standard output without what depends on time alone: screens before the last, all but one sample or spike, the
/// elements of overflow lists. A usage text becomes one word.
pub fn settled(text: &str) -> Vec<String> {
    if text.starts_with("cyclictest V ") {
        return vec!["<usage>".into()];
    }
    let mut lines: Vec<String> = Vec::new();
    for line in last_screen(text).lines() {
        let kept = if is_sample(line) {
            "<samples>".to_owned()
        } else if line.contains(" Spike:") {
            "<spikes>".to_owned()
        } else if let Some((thread, _)) = line.strip_prefix("# Thread ").and_then(|rest| rest.split_once(':')) {
            if thread == "Ids" { line.to_owned() } else { format!("# Thread {thread}:") }
        } else {
            line.to_owned()
        };
        if !(kept.starts_with('<') && lines.last() == Some(&kept)) {
            lines.push(kept);
        }
    }
    lines
}

fn is_sample(line: &str) -> bool {
    let mut fields = line.split(':');
    let number = |field: Option<&str>, width: usize| {
        field.is_some_and(|field| field.len() >= width && field.trim().parse::<i64>().is_ok())
    };
    number(fields.next(), 8) && number(fields.next(), 8) && number(fields.next(), 8) && fields.next().is_none()
}

fn last_screen(text: &str) -> String {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let code_end = rest[at..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| at + end + 1);
        if rest[..code_end].ends_with('A') {
            pieces.push(&rest[..at]);
            rest = &rest[code_end..];
        } else {
            break;
        }
    }
    pieces.push(rest);
    let last = pieces[pieces.len() - 1];
    if pieces.len() == 1 {
        return text.to_owned();
    }
    let head =
        if last.starts_with("policy:") { &pieces[0][..pieces[0].find("policy:").unwrap_or(0)] } else { pieces[0] };
    format!("{head}{last}")
}

#[test]
fn numbers_are_compared_by_field() {
    assert!(alike("T: 0 (17643) C:   2000 Max:     846", "T: 0 (  643) C:1234567 Max:12345678"));
    assert!(!alike("C:   2000", "C:  2000"));
    assert!(!alike("\"avg\": 4.00", "\"avg\": 4"));
    assert!(!alike("000001 000002", "000001 2 2"));
    assert!(alike("Min: 1000000", "Min: 00070"));
}

#[test]
fn only_the_last_screen_counts() {
    let text = "# head\npolicy: a\n\nT: 0\n\x1b[3Apolicy: b\n\nT: 1\n\x1b[3Apolicy: c\n\nT: 2\n";
    assert_eq!(settled(text), ["# head", "policy: c", "", "T: 2"]);
    assert_eq!(settled("policy: a\n\nT: 0\n\x1b[3A\x1b[3B# end\n"), ["policy: a", "", "T: 0", "\u{1b}[3B# end"]);
    assert_eq!(settled("       0:       7:      44\n       0:       8:      44\n"), ["<samples>"]);
}
