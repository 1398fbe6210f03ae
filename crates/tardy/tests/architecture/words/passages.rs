//! The texts of a file that are shown to users: prose of documents, string literals, help texts, comments of plans. Names
//! and comments of code.

/// A stretch of text; words of two passages never form a phrase.
pub struct Passage {
    /// Line of the file on which it starts, from 1.
    line: usize,
    text: String,
    of_code: bool,
}

/// The text of a passage as patterns read it.
pub struct Plain {
    pub text: String,
    first_line: usize,
    /// Where the file has line breaks, as bytes of the text.
    breaks: Vec<usize>,
}

impl Plain {
    /// The line of the file on which the letter at a byte stands.
    pub fn line_at(&self, byte: usize) -> usize {
        self.first_line + self.breaks.iter().filter(|line_break| **line_break < byte).count()
    }
}

pub struct Word {
    pub line: usize,
    pub text: String,
    /// Only white space separates it from the previous word.
    pub joined: bool,
}

impl Passage {
    fn at(line: usize) -> Self {
        Passage { line, text: String::new(), of_code: false }
    }

    /// One sentence.
    pub fn of(sentence: &str) -> Self {
        Passage { text: sentence.to_owned(), ..Passage::at(1) }
    }

    /// Whether it is a source with its names and comments.
    pub fn is_code(&self) -> bool {
        self.of_code
    }

    /// The text in lower case on one line. Text in braces is code and stands as `x`.
    pub fn plain(&self) -> Plain {
        let (mut plain, mut braces) = (Plain { text: String::new(), first_line: self.line, breaks: Vec::new() }, 0_u32);
        for letter in self.text.chars() {
            if letter == '\n' {
                plain.breaks.push(plain.text.len());
            }
            match letter {
                '{' => braces += 1,
                '}' => {
                    braces = braces.saturating_sub(1);
                    plain.text.push('x');
                }
                _ if braces > 0 => {}
                letter if letter.is_whitespace() && plain.text.ends_with(' ') => {}
                letter if letter.is_whitespace() => plain.text.push(' '),
                letter => plain.text.extend(letter.to_lowercase()),
            }
        }
        plain
    }

    /// Its words in lower case. Text in braces is code and left out.
    pub fn words(&self) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        let (mut line, mut joined, mut inside, mut braces) = (self.line, false, false, 0_u32);
        for letter in self.text.chars() {
            if letter == '{' {
                braces += 1;
            } else if letter == '}' {
                braces = braces.saturating_sub(1);
            }
            let of_word = braces == 0 && (letter.is_alphanumeric() || letter == '_');
            match words.last_mut() {
                Some(word) if of_word && inside => word.text.extend(letter.to_lowercase()),
                _ if of_word => {
                    words.push(Word { line, text: letter.to_lowercase().collect(), joined });
                    joined = true;
                }
                _ => joined &= letter.is_whitespace(),
            }
            inside = of_word;
            line += usize::from(letter == '\n');
        }
        words
    }
}

/// A document without its code blocks, code spans and link targets: one passage per paragraph.
pub fn prose(document: &str) -> Vec<Passage> {
    let (mut passages, mut in_block, mut in_span) = (vec![Passage::at(1)], false, false);
    for (number, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block || line.trim().is_empty() || line.starts_with("```") {
            in_span = false;
            passages.push(Passage::at(number + 2));
            continue;
        }
        let passage = passages.last_mut().expect("there is always one");
        for (part, spoken) in line.split('`').enumerate() {
            if part > 0 {
                in_span = !in_span;
                passage.text.push('`');
            }
            if !in_span {
                passage.text.push_str(spoken);
            }
        }
        passage.text.push('\n');
    }
    for passage in &mut passages {
        passage.text = without_link_targets(&passage.text);
    }
    passages
}

fn without_link_targets(text: &str) -> String {
    let mut kept = String::new();
    for (part, piece) in text.split("](").enumerate() {
        match piece.split_once(')') {
            Some((_, rest)) if part > 0 => kept.extend(["]", rest]),
            _ => kept.push_str(piece),
        }
    }
    kept
}

/// String literals of a Rust source, and its `///` comments where they are help texts of clap. Tests are left out.
pub fn rust_text(source: &str) -> Vec<Passage> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let has_help = source.contains("clap");
    let mut passages = Vec::new();
    let mut reader = Reader::new(source);
    while let Some(letter) = reader.next() {
        match letter {
            '/' if reader.rest().starts_with('/') => {
                let line = reader.line;
                let comment = reader.until("\n");
                if let Some(help) = comment.strip_prefix("//").filter(|_| has_help) {
                    join_or_push(&mut passages, line, help);
                }
            }
            '"' => passages.push(reader.literal('"')),
            'r' if reader.rest().starts_with("#\"") => {
                reader.until("\"");
                let mut passage = Passage::at(reader.line);
                passage.text = reader.until("\"#").to_owned();
                passages.push(passage);
            }
            // A character literal, unless it is a lifetime.
            '\'' => {
                let mut letters = reader.rest().chars();
                let (first, second) = (letters.next(), letters.next());
                if first == Some('\\') {
                    reader.next();
                    reader.next();
                    reader.until("'");
                } else if second == Some('\'') {
                    reader.next();
                    reader.next();
                }
            }
            _ => {}
        }
    }
    passages
}

/// Appends a line of help to the comment above it.
fn join_or_push(passages: &mut Vec<Passage>, line: usize, help: &str) {
    match passages.last_mut() {
        Some(above) if above.line + above.text.matches('\n').count() == line => {
            above.text.push_str(help);
            above.text.push('\n');
        }
        _ => passages.push(Passage { text: format!("{help}\n"), ..Passage::at(line) }),
    }
}

/// All of a source, with names split into words.
pub fn names_and_comments(source: &str) -> Vec<Passage> {
    let mut passage = Passage { of_code: true, ..Passage::at(1) };
    let mut above = ' ';
    for letter in source.chars() {
        if letter.is_uppercase() && above.is_lowercase() {
            passage.text.push(' ');
        }
        passage.text.push(match letter {
            '_' => ' ',
            // Braces are blocks here, not placeholders in a text.
            '{' | '}' => ';',
            _ => letter,
        });
        above = letter;
    }
    vec![passage]
}

/// String literals and templates of a TypeScript source.
pub fn script_text(source: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut reader = Reader::new(source);
    while let Some(letter) = reader.next() {
        match letter {
            '/' if reader.rest().starts_with('/') => drop(reader.until("\n")),
            '/' if reader.rest().starts_with('*') => drop(reader.until("*/")),
            '"' | '\'' | '`' => passages.push(reader.literal(letter)),
            _ => {}
        }
    }
    passages
}

/// The text between the tags of a page.
pub fn page_text(page: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut reader = Reader::new(page);
    loop {
        let line = reader.line;
        let text = reader.until("<").to_owned();
        passages.push(Passage { text, ..Passage::at(line) });
        if reader.rest().starts_with("!--") {
            reader.until("-->");
        } else {
            reader.until(">");
        }
        if reader.rest().is_empty() {
            return passages;
        }
    }
}

/// Descriptions of the targets in a Makefile.
pub fn target_descriptions(makefile: &str) -> Vec<Passage> {
    let lines = makefile.lines().enumerate();
    lines
        .filter_map(|(number, line)| {
            Some(Passage { text: line.split_once("## ")?.1.into(), ..Passage::at(number + 1) })
        })
        .collect()
}

/// Comments of a plan.
pub fn plan_comments(plan: &str) -> Vec<Passage> {
    let lines = plan.lines().enumerate();
    lines
        .filter_map(|(number, line)| Some(Passage { text: line.split_once('#')?.1.into(), ..Passage::at(number + 1) }))
        .collect()
}

/// Reads a source from its start to its end and counts lines.
struct Reader<'a> {
    source: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str) -> Self {
        Reader { source, at: 0, line: 1 }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at += letter.len_utf8();
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// The text before `end`; both are consumed.
    fn until(&mut self, end: &str) -> &'a str {
        let rest = self.rest();
        let length = rest.find(end);
        let passed = length.map_or(rest.len(), |length| length + end.len());
        self.at += passed;
        self.line += rest[..passed].matches('\n').count();
        &rest[..length.unwrap_or(rest.len())]
    }

    /// A literal that ends with `quote`; an escaped letter counts as a space, and an escaped quote as a mark.
    fn literal(&mut self, quote: char) -> Passage {
        let mut passage = Passage::at(self.line);
        while let Some(letter) = self.next() {
            match letter {
                '\\' => match self.next() {
                    Some('\n') => passage.text.push('\n'),
                    Some('n' | 't' | 'r') => passage.text.push(' '),
                    _ => passage.text.push('"'),
                },
                _ if letter == quote => break,
                _ => passage.text.push(letter),
            }
        }
        passage
    }
}
