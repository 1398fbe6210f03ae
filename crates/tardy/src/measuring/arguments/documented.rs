//! The reference page of the keys of a plan, which is written from the declarations of the options.

use super::planned::declared;
use clap::{Arg, ArgAction};
use runner::plan::options::Place;
use std::fs;
use std::path::Path;

const HEAD: &str = "# Keys of a plan

The keys of `[measurement]` and `[trace]` in a [plan](../how-to/plans.md) are options of `tardy run`, and accept the same values. A
flag is `true` or `false`. This page is generated from the options.
";

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn default(option: &Arg) -> String {
    match option.get_action() {
        ArgAction::SetTrue => "`false`".into(),
        ArgAction::SetFalse => "`true`".into(),
        _ => {
            let values: Vec<String> =
                option.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
            values.join(", ")
        }
    }
}

fn value(option: &Arg) -> String {
    let words: Vec<String> =
        option.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    match option.get_value_names() {
        _ if !option.get_action().takes_values() => "`true`, `false`".into(),
        _ if !words.is_empty() => words.join(", "),
        Some(names) => names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(" "),
        None => String::new(),
    }
}

fn row(option: &Arg) -> String {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    let help = match option.get_action() {
        ArgAction::SetFalse => format!("`false`: {help}"),
        _ => help,
    };
    let (key, long) = (option.get_id(), option.get_long().unwrap_or_default());
    format!("| `{key}` | `--{long}` | {} | {} | {} |\n", value(option), default(option), escaped(&help))
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for place in Place::OF_OPTIONS {
        page += &format!(
            "\n## [{}]\n\n| key | option | value | default | meaning |\n|---|---|---|---|---|\n",
            place.name()
        );
        declared().filter(|(_, in_plans)| in_plans.key == Ok(place)).for_each(|(option, _)| page += &row(option));
    }
    page += "\n## Options without a key\n\n| option | in a plan |\n|---|---|\n";
    for (option, in_plans) in declared() {
        if let (Err(instead), Some(long)) = (in_plans.key, option.get_long()) {
            page += &format!("| `--{long}` | {} |\n", escaped(instead));
        }
    }
    page
}

#[test]
fn the_page_of_the_keys_is_that_of_the_options() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/plan-keys.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let documented = fs::read_to_string(&path).unwrap_or_default();
    assert!(documented == page(), "plan-keys.md is stale; UPDATE_GOLDEN=1 cargo test -p tardy --lib page_of_the_keys");
}
