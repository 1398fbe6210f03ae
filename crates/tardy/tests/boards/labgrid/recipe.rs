//! The recipe for labgrid's pytest plugin in docs/how-to/test-systems.md, followed to the letter.

use super::lab::Lab;
use fixtures::repository::repository_path;
use roxmltree::Document;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Options of the recipe, and those of a test that has to be short and to work on any machine.
const SHORTENED: [(&str, &str); 3] = [
    ("--duration 10m", "--duration 31s"),
    ("--limit 100us", "--limit 5s"),
    ("--allow 20/h", "--allow 359/h --accept virtual --accept non-rt --accept container"),
];

/// The blocks of the document below a heading that start with this fence, in order.
fn blocks(heading: &str, fence: &str) -> Vec<String> {
    let path = repository_path("docs/how-to/test-systems.md");
    let document = fs::read_to_string(path).unwrap();
    let (_, chapter) = document.split_once(heading).unwrap();
    let chapter = chapter.split("\n### ").next().unwrap();
    let fence = format!("```{fence}\n");
    let begun = chapter.split(&fence).skip(1);
    begun.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Installs `tardy` on the board like an image: the program, its meter, and the libraries it needs.
fn install(lab: &Lab) {
    let board = lab.bench.path("board");
    let program = env!("CARGO_BIN_EXE_tardy");
    let needed = Command::new("ldd").arg(program).output().unwrap();
    let needed = String::from_utf8(needed.stdout).unwrap();
    let libraries = needed.split_whitespace().filter(|word| word.starts_with('/'));
    for library in libraries {
        let to = board.join(library.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(library, to).unwrap();
    }
    let meter = lab.bench.meter(&[]).get_program().to_owned();
    for (from, to) in [(program.as_ref(), "bin/tardy"), (meter.as_os_str(), "bin/tardy-meter")] {
        fs::copy(from, board.join(to)).unwrap();
        fs::set_permissions(board.join(to), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
#[ignore = "needs labgrid: make e2e-labgrid"]
fn the_recipe_for_labgrids_pytest_plugin_passes_and_fails_as_it_should() {
    let Some(lab) = Lab::new(&[]) else { return };
    install(&lab);
    let [environment] = &blocks("### labgrid", "yaml")[..] else { panic!("the recipe has one environment") };
    let [test] = &blocks("### labgrid", "python")[..] else { panic!("the recipe has one test") };
    // The key is next to the environment, under the name from the recipe.
    fs::copy(lab.bench.path("key"), lab.bench.path("key-of-the-board")).unwrap();
    fs::set_permissions(lab.bench.path("key-of-the-board"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(lab.bench.path("environment.yaml"), environment).unwrap();
    lab.client("alice", &["acquire"]);
    let outcomes = |test: &str| {
        fs::write(lab.bench.path("test_latency.py"), test).unwrap();
        let mut pytest = lab.program("pytest");
        pytest.args(["--lg-env", "environment.yaml", "--junitxml=junit.xml", "-p", "no:cacheprovider"]);
        let output = pytest.env("LG_USERNAME", "alice").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let junit = fs::read_to_string(lab.bench.path("junit.xml")).unwrap_or_else(|_| panic!("{said}"));
        let document = Document::parse(&junit).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        let count = |name| suite.attribute(name).unwrap().to_owned();
        let _ = fs::remove_dir_all(lab.bench.path("board/tmp/run"));
        ([count("tests"), count("failures"), count("errors")].join(" "), said)
    };
    let shortened = SHORTENED.iter().fold(test.clone(), |test, (from, to)| {
        assert!(test.contains(from), "{from} is not in the recipe");
        test.replace(from, to)
    });
    let (passed, said) = outcomes(&shortened);
    assert_eq!(passed, "1 0 0", "{said}");
    let too_strict = shortened.replace("--limit 5s", "--limit 1ns").replace("--duration 31s", "--duration 3s");
    let (failed, said) = outcomes(&too_strict);
    assert_eq!(failed, "1 1 0", "{said}");
    assert!(said.contains("FAIL"), "{said}");
}
