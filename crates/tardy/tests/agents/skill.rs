//! The folder that coding agents read. `documented.rs` of the command line parses each command in it.

use fixtures::repository::repository_path;
use std::fs;

fn skill() -> String {
    fs::read_to_string(repository_path("skills/tardy/SKILL.md")).unwrap()
}

/// The value of a key of the front matter.
fn front_matter(key: &str) -> String {
    let text = skill();
    let (front, _) = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter");
    let line = front.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {key} in {front}")).to_owned()
}

#[test]
fn the_front_matter_has_the_name_of_the_folder_and_a_description_that_agents_read() {
    assert_eq!(front_matter("name"), "tardy");
    let description = front_matter("description");
    assert!((100..=1024).contains(&description.len()), "{} bytes", description.len());
    assert!(!description.contains(['<', '>']), "{description}");
}

#[test]
fn the_skill_and_the_documents_name_every_tool() {
    let bench = fixtures::fake_meter::Bench::new();
    let mut server = crate::server::Server::start(&bench, &["--allow-measure"]);
    let listed = server.request("tools/list", &serde_json::json!({}));
    let (skill, document) = (skill(), fs::read_to_string(repository_path("docs/how-to/agents.md")).unwrap());
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = format!("`{}`", tool["name"].as_str().unwrap());
        assert!(skill.contains(&name) && document.contains(&name), "{name}");
    }
}

#[test]
fn the_skill_is_short_and_leads_to_files_that_exist() {
    assert!(skill().lines().count() < 100);
    for link in skill().split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(repository_path("skills/tardy").join(link).is_file(), "{link}");
    }
}
