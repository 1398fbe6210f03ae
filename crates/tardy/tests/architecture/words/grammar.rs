//! Forms of sentences that make a native engineer read twice, in every text that a user reads: subject = component, verb = what
//! it did, no clause as a noun, no "is no X".

use super::passages::Passage;
use super::reader;
use crate::repository::{assert_none, files, text};
use regex_lite::Regex;
use std::sync::LazyLock;

/// Patterns over the text of a passage in lower case, and what to write instead. A placeholder stands as `x`.
const PATTERNS: &[(&str, &str)] = &[
    (r"[a-z0-9`'_.)]+ (?:is|are|was|were) no [a-z-]+", "is not a ...; there is no ..."),
    (
        r"(?:^|[.:;] )what (?:was|is|were|are|it|its|the|an?|they|you|this|that|of|comes|others?) [a-z0-9 '`-]{0,60}\b(?:is|are|was|were|stays|remains) [^.:;?]",
        "the component as the subject",
    ),
    (r"(?:^|[.;] )(?:what|whatever) (?:[a-su-z]|t[a-np-z])[a-z]* [^.?:]+[.:](?:$| )", "the component as the subject"),
    (r"\b(?:those|that) of (?:[a-z`\[])", "the noun again"),
    (r"\bthe latest (?:wake-up|cycle|sample|one of its)", "the worst ...; the latest run is the newest"),
    (r"\b(?:longer|more|later|larger|greater) than nothing\b", "greater than zero"),
    (r"\bas asked\b|\basks otherwise\b", "as requested; differs from the request"),
    (r"\bnever served\b|\bunserved\b", "missed"),
    (r"\brecorded meanwhile:", "tracing: ..."),
    (r"\bmeasured in turns\b", "measured alternately"),
    (r"\b(?:different|known) besides\b", "other differences; also known"),
    (r"\bwould show (?:less|fewer)\b", "would be enough to pass"),
    (r"\bneither more nor fewer\b|\bneither less nor more\b", "above or below"),
    (r"\b(?:said|says) nothing (?:that|for)\b|\btook nothing and\b", "no output for ...; no ... from ..."),
    (r"\blast words\b", "last output"),
    (r"\bhow (?:it|they) (?:is|are) called\b", "the name"),
    (r"\bmore of it is\b|\bwhere it is whole\b", "mostly; from a complete copy"),
    (r"\bnot once\b", "never"),
    (r"\b(?:is|are|was|were) not there\b", "does not exist, is missing"),
    (r"\bcarrying the demand\b", "with need_resched set"),
    (r"\bas many [a-z ]+ as (?:it|this|they|the) [a-z ]*(?:may|takes|can)\b", "too many ..."),
    (r"\bnothing of (?:[a-z`\[])", "no ..."),
    (r"\bdoes not hold (?:how|what|why|when|whether|where|which)\b", "does not record ..."),
    (r"\bgot done\b", "did"),
    (r"\bon fewer occasions\b", "less often"),
    (r"\bnothing (?:is known of|says)\b", "... is unknown"),
    (r"\bin the mean\b", "mean ..., on average"),
    (r"\bhalf-way would have\b", "in mid-series"),
    (r"\bmore [a-z]+ were as [a-z]+ as\b", "more ... than"),
    (r"\blooks? at the clock\b", "read of the clock"),
    (r"\b(?:left|leaves) out all that\b", "the field's term"),
    (r"\bended by signal\b", "stopped by ..., killed by ..."),
    (r"\ball that can be had\b|\bno rest to\b", "nothing left; complete"),
    (r"\bit takes [0-9x]+, and more\b", "at least ... are needed"),
    (r"\bsay (?:--|`)", "pass --..."),
    (r"\bthe line to [a-z]+ is lost\b", "lost the connection to ..."),
    (r"\b(?:say|says) who the user is\b", "identity header"),
    (r"\b(?:goes|went|go) on(?:[^a-z-]|$)", "continues"),
    (r"\bvoid and not counted\b", "discarded"),
    (r"\bis not what its\b", "the digest differs"),
    (r"^ ?its account$", "full account"),
];

/// Good English that a pattern hits as well.
const GOOD: &str = r"^(?:there|here) |no (?:longer|more|less|fewer|better|worse|later|earlier|slower|faster|higher|lower|larger|smaller|different)$";

static FORMS: LazyLock<Vec<(Regex, &str)>> =
    LazyLock::new(|| PATTERNS.iter().map(|(pattern, instead)| (compiled(pattern), *instead)).collect());

static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| compiled(GOOD));

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// The forms that a passage uses, each with its line and what to write instead.
fn forms_in(passage: &Passage) -> Vec<(usize, String, &'static str)> {
    let plain = passage.plain();
    let mut found = Vec::new();
    for (form, instead) in FORMS.iter() {
        let hits = form.find_iter(&plain.text).filter(|hit| !EXCEPTION.is_match(hit.as_str()));
        found.extend(hits.map(|hit| (plain.line_at(hit.start()), hit.as_str().trim().to_owned(), *instead)));
    }
    found
}

/// The forms that one sentence uses.
fn forms_of(sentence: &str) -> Vec<String> {
    forms_in(&Passage::of(sentence)).into_iter().map(|(_, form, _)| form).collect()
}

#[test]
fn no_text_uses_a_form_that_is_read_twice() {
    let mut offences = Vec::new();
    for name in files() {
        let Some(reader) = reader(name) else { continue };
        for (line, form, instead) in reader(&text(name)).iter().flat_map(forms_in) {
            offences.push(format!("{name}:{line}: \"{form}\": write {instead}"));
        }
    }
    assert_none("rewrite these sentences (CONTRIBUTING.md, Words)", offences);
}

#[test]
fn sentences_of_the_old_style_are_refused() {
    let passed: Vec<&str> = include_str!("refused.txt").lines().filter(|old| forms_of(old).is_empty()).collect();
    assert!(passed.is_empty(), "no pattern refuses these:\n{}", passed.join("\n"));
}

#[test]
fn every_pattern_refuses_an_example() {
    let examples = include_str!("refused.txt").to_lowercase();
    let idle = FORMS.iter().filter(|(form, _)| !examples.lines().any(|example| form.is_match(example)));
    assert_none(
        "add a sentence for these patterns to words/refused.txt",
        idle.map(|(form, _)| form.to_string()).collect(),
    );
}

#[test]
fn plain_english_passes() {
    let good = [
        "There is no key called `wait`.",
        "The run is no longer than the plan asks for.",
        "What is a wake-up latency?",
        "The board has no data for this run: already fetched, discarded, or lost in a reboot.",
        "What to do: pin the interrupt.",
        "Check what the load did before you compare the figures.",
        "The task kept the CPU after the wake-up with need_resched set.",
        "Each thread reads the clock as often as it can.",
    ];
    for sentence in good {
        assert_eq!(forms_of(sentence), Vec::<String>::new(), "{sentence}");
    }
}

#[test]
fn a_form_is_found_on_its_line() {
    let document = "# A page\n\nIt works.\nThe numbers are `those` and\nthose\nof the board.\n";
    let lines = super::prose(document).iter().flat_map(forms_in).map(|(line, ..)| line).collect::<Vec<_>>();
    assert_eq!(lines, [5]);
}
