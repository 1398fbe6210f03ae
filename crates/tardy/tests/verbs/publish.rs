//! `tardy lab publish` and `tardy lab check-publication`: what strangers get, and what is refused.

mod planted;

use fixtures::fake_meter::*;
use fixtures::repository::copy;
use fixtures::repository::repository_path;
use prerequisites::require;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// A bench with the archive of the corpus and the key `key`.
fn bench() -> Bench {
    let bench = Bench::new();
    copy(&repository_path("corpus/archives/v1"), &bench.path("v1"));
    published(&bench, &["v1", "--key", "key", "--new-key", "--out", "first.tar"]);
    bench
}

fn published(bench: &Bench, words: &[&str]) -> Value {
    let ended = bench.run(&[&["lab", "publish"], words, &["--json"]].concat());
    assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.stdout, ended.stderr);
    ended.json()
}

/// Why a publication is refused.
fn refusal(bench: &Bench, file: &str) -> String {
    let ended = bench.run(&["lab", "check-publication", file, "--key", "key.pub", "--into", "unpacked", "--json"]);
    let document = ended.json();
    assert_eq!((ended.code, &document["error"]["code"]), (Some(3), &"host.publication-refused".into()), "{document}");
    let left: Vec<_> = fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("unpacked")), "{left:?}");
    document["error"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn nothing_that_a_user_or_a_target_wrote_is_in_a_publication() {
    let bench = Bench::new();
    let secrets = planted::archive(&bench.path("planted"));
    assert!(secrets.len() > 120, "only {} fields", secrets.len());
    published(&bench, &["planted", "--key", "key", "--new-key", "--out", "planted.tar"]);
    let bytes = fs::read(bench.path("planted.tar")).unwrap();
    let holds = |secret: &String| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    let revealed: Vec<_> = secrets.iter().filter(|(_, secret)| holds(secret)).collect();
    assert!(revealed.is_empty(), "{revealed:?}");
    // The archive itself has all of them, so the search finds what is there.
    let original = planted::bytes_of(&bench.path("planted"));
    let held = |secret: &String| original.windows(secret.len()).any(|window| window == secret.as_bytes());
    let lost: Vec<_> = secrets.iter().filter(|(_, secret)| !held(secret)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    // What is published opens.
    let verified =
        bench.run(&["lab", "check-publication", "planted.tar", "--key", "key.pub", "--into", "theirs", "--json"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
    let run = verified.json()["runs"][0].as_str().unwrap().to_owned();
    for verb in ["explain", "report", "list"] {
        let run = if verb == "list" { "theirs".to_owned() } else { format!("theirs/{run}") };
        let ended = bench.run(&[verb, &run]);
        assert_eq!(ended.code, Some(0), "{verb}: {}{}", ended.stdout, ended.stderr);
    }
    let explained = bench.run(&["explain", &format!("theirs/{run}"), "--json"]);
    assert!(!secrets.values().any(|secret| explained.stdout.contains(secret)));
}

#[test]
fn a_publication_has_the_same_figures_ledgers_and_causes() {
    let bench = bench();
    let verified =
        bench.run(&["lab", "check-publication", "first.tar", "--key", "key.pub", "--into", "theirs", "--json"]).json();
    let theirs = format!("theirs/{}", verified["runs"][0].as_str().unwrap());
    let explained = |run: &str| bench.run(&["explain", run, "--json"]).json();
    let (ours, published) = (explained("v1"), explained(&theirs));
    let spikes = |document: &Value| document["spikes"].as_array().unwrap().clone();
    assert_eq!((spikes(&ours).len(), spikes(&published).len()), (5, 5));
    for (ours, published) in spikes(&ours).iter().zip(&spikes(&published)) {
        for field in ["spike", "latency_ns", "median_ns", "status", "spans"] {
            assert_eq!(ours[field], published[field], "{field}");
        }
        let ledger = |explanation: &Value| -> Vec<Value> {
            let phases = explanation["phases"].as_array().unwrap();
            let owners = |phase: &Value| phase["owners"].as_array().unwrap().clone();
            let owners = phases.iter().flat_map(|phase| {
                owners(phase).into_iter().map(|owner| serde_json::json!([phase["name"], owner["kind"], owner["ns"]]))
            });
            owners.collect()
        };
        assert_eq!(ledger(ours), ledger(published));
        let causes = |explanation: &Value| -> Vec<Value> {
            let findings = explanation["findings"].as_array().unwrap().iter();
            // A finding whose facts are still sentences has the general advice about its culprit.
            let fix = |finding: &Value| {
                let id = finding["culprit"].as_str().unwrap();
                finding["facts"][id]["sentence"].is_null().then(|| finding["fix"].clone())
            };
            findings.map(|finding| serde_json::json!([finding["culprit"], finding["ns"], fix(finding)])).collect()
        };
        assert_eq!(causes(ours), causes(published));
    }
    let judged = |run: &str| bench.run(&["judge", run, "--limit", "latency < 100us", "--json"]);
    let (ours, published) = (judged("v1"), judged(&theirs));
    assert_eq!((ours.code, &ours.json()["judgement"]), (published.code, &published.json()["judgement"]));
    let text = bench.run(&["explain", &theirs, "--more"]).stdout;
    assert!(text.contains("gap: published:") && text.contains("tardy-cpu1-19466") && text.contains("task-"), "{text}");
    assert!(!text.contains("cyclictest") && !text.contains("virtual-machine"), "{text}");
    for words in [&["report", &theirs][..], &["list", "theirs"], &["compare", "v1", &theirs]] {
        let ended = bench.run(words);
        assert!(matches!(ended.code, Some(0 | 1)), "{words:?}: {}{}", ended.stdout, ended.stderr);
    }
}

#[test]
fn the_same_key_gives_the_same_file_and_another_key_other_pseudonyms() {
    let bench = bench();
    let first = published(&bench, &["v1", "--key", "key", "--out", "again.tar"]);
    assert_eq!(fs::read(bench.path("first.tar")).unwrap(), fs::read(bench.path("again.tar")).unwrap());
    let other = published(&bench, &["v1", "--key", "other", "--new-key", "--out", "other.tar"]);
    assert_ne!(first["runs"], other["runs"]);
    assert_eq!(first["changes"], other["changes"]);
    assert!(!first.to_string().contains("cyclictest"), "{first}");
    let kept = bench.run(&["lab", "publish", "v1", "--key", "key", "--keep-names", "cyc*", "--out", "kept.tar"]);
    let bytes = fs::read(bench.path("kept.tar")).unwrap();
    assert!(kept.code == Some(0) && String::from_utf8_lossy(&bytes).contains("cyclictest-30403"));
}

#[test]
fn a_dry_run_says_what_would_change_and_writes_nothing() {
    let bench = Bench::new();
    copy(&repository_path("corpus/archives/v1"), &bench.path("v1"));
    let before = fs::read_dir(bench.path("")).unwrap().count();
    let shown = bench.tardy(&["lab", "publish", "v1", "--dry-run"]).env("HOME", bench.path("home")).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success() && text.contains("host names") && text.contains(": example"), "{text}");
    assert!(text.contains("cyclictest") && text.contains("5 removed"), "{text}");
    // The fake meter is written by the bench itself.
    assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), before + 1);
}

#[test]
fn the_first_publication_makes_a_key_for_its_user_alone_and_others_are_refused() {
    let bench = Bench::new();
    copy(&repository_path("corpus/archives/v1"), &bench.path("v1"));
    let publish = |words: &[&str]| {
        let home = bench.path("home");
        let mut tardy = bench.tardy(&[&["lab", "publish", "v1"], words].concat());
        Ended::of(tardy.env("HOME", home).env_remove("XDG_CONFIG_HOME").output().unwrap())
    };
    let first = publish(&[]);
    let key = bench.path("home/.config/tardy/publication-key");
    assert!(first.code == Some(0) && first.stderr.contains("made the key"), "{}", first.stderr);
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
    assert!(!publish(&[]).stderr.contains("made the key"));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let open = publish(&[]);
    assert!(open.code == Some(2) && open.stderr.contains("chmod 600"), "{}", open.stderr);
    let missing = publish(&["--key", "nowhere"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("--new-key"), "{}", missing.stderr);
    fs::write(bench.path("text"), "no key").unwrap();
    fs::set_permissions(bench.path("text"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(publish(&["--key", "text"]).stderr.contains("ssh-keygen -t ed25519"));
}

#[test]
fn what_was_changed_cut_swapped_extended_or_linked_is_refused() {
    let bench = bench();
    let original = fs::read(bench.path("first.tar")).unwrap();
    let write = |bytes: &[u8]| fs::write(bench.path("bad.tar"), bytes).unwrap();
    assert_eq!(bench.run(&["lab", "check-publication", "first.tar", "--key", "key.pub"]).code, Some(0));
    // One bit in each of many places, and every kind of cut.
    for place in (0..original.len()).step_by(original.len() / 40 + 1) {
        let mut changed = original.clone();
        changed[place] ^= 1;
        write(&changed);
        refusal(&bench, "bad.tar");
    }
    for length in [0, 1, 512, 4096, original.len() / 2, original.len() - 1025, original.len() - 1] {
        write(&original[..length]);
        refusal(&bench, "bad.tar");
    }
    write(&[&original[..], &[1; 512]].concat());
    assert!(refusal(&bench, "bad.tar").contains("follows"));
    fs::write(bench.path("bad.tar"), "a letter about latency").unwrap();
    refusal(&bench, "bad.tar");
    published(&bench, &["v1", "--key", "other", "--new-key", "--out", "other.tar"]);
    assert!(refusal(&bench, "other.tar").contains("SHA256:"));
    let into = bench.run(&["lab", "check-publication", "first.tar", "--key", "key.pub", "--into", "v1"]);
    assert_eq!(into.code, Some(2), "{}", into.stderr);
}

/// Unpacks the publication, changes the folder, and packs it again.
fn repacked(bench: &Bench, change: impl FnOnce(&Path)) -> String {
    let folder = bench.path("repacked");
    fs::create_dir(&folder).unwrap();
    let tar = |words: &[&str]| {
        let mut tar = Command::new("tar");
        assert!(tar.args(words).current_dir(&folder).env("LC_ALL", "C").status().unwrap().success());
    };
    tar(&["-xf", "../first.tar"]);
    change(&folder);
    let mut names = Vec::new();
    list(&folder, "", &mut names);
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    tar(&[&["--format=ustar", "--owner=0", "--group=0", "-cf", "../bad.tar"], names.as_slice()].concat());
    fs::remove_dir_all(&folder).unwrap();
    refusal(bench, "bad.tar")
}

fn list(folder: &Path, before: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}

#[test]
fn files_that_were_added_removed_exchanged_or_became_links_are_named() {
    require!(Program("tar"));
    let bench = bench();
    published(&bench, &["v1", "--key", "key", "--keep-names", "*", "--out", "second.tar"]);
    let run = |folder: &Path| {
        let entry = fs::read_dir(folder.join("runs")).unwrap().next().unwrap().unwrap();
        entry.path()
    };
    let added = repacked(&bench, |folder| fs::write(run(folder).join("notes.txt"), "more").unwrap());
    assert!(added.contains("notes.txt") && added.contains("added later"), "{added}");
    let added = repacked(&bench, |folder| fs::write(folder.join("zz"), "more").unwrap());
    assert!(added.contains("\"zz\"") && added.contains("added later"), "{added}");
    let removed = repacked(&bench, |folder| fs::remove_file(run(folder).join("explanations.json")).unwrap());
    assert!(removed.contains("explanations.json") && removed.contains("removed"), "{removed}");
    let changed = repacked(&bench, |folder| {
        fs::copy(run(folder).join("manifest.json"), folder.join("README.txt")).map(drop).unwrap()
    });
    assert!(changed.contains("README.txt") && changed.contains("changed"), "{changed}");
    let link = repacked(&bench, |folder| {
        let samples = run(folder).join("samples/0.bin");
        fs::remove_file(&samples).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", samples).unwrap();
    });
    assert!(link.contains("0.bin") && link.contains("is a link"), "{link}");
    for name in ["SHA256SUMS", "SHA256SUMS.sig", "publication.json"] {
        let missing = repacked(&bench, |folder| fs::remove_file(folder.join(name)).unwrap());
        assert!(missing.contains(name), "{name}: {missing}");
    }
    // The sums or the signature of another publication with the same key.
    for name in ["SHA256SUMS", "SHA256SUMS.sig"] {
        let swapped = repacked(&bench, |folder| {
            let mut tar = Command::new("tar");
            assert!(tar.args(["-xf", "../second.tar", name]).current_dir(folder).status().unwrap().success());
        });
        assert!(swapped.contains("SHA256SUMS: "), "{name}: {swapped}");
    }
}

#[test]
fn openssh_and_sha256sum_check_a_publication_and_sign_one() {
    require!(Program("ssh-keygen"), Program("tar"), Program("sha256sum"));
    let bench = bench();
    let shell = |line: &str| {
        let ended = Command::new("sh").args(["-ec", line]).current_dir(bench.path("")).output().unwrap();
        (
            ended.status.success(),
            format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr)),
        )
    };
    // The commands of README.txt.
    let check = "echo \"publisher $(cat ../key.pub)\" > allowed
        ssh-keygen -Y verify -f allowed -I publisher -n tardy-publication -s SHA256SUMS.sig < SHA256SUMS
        sha256sum --check SHA256SUMS";
    let (good, said) = shell(&format!("mkdir theirs && cd theirs && tar -xf ../first.tar\n{check}"));
    assert!(good && said.contains("Good \"tardy-publication\" signature"), "{said}");
    let readme = fs::read_to_string(bench.path("theirs/README.txt")).unwrap();
    let commands =
        |text: &str| text.lines().filter(|line| line.contains("ssh-keygen") || line.contains("sha256sum")).count();
    assert_eq!(commands(&readme), 2);
    for line in check.lines().skip(1) {
        assert!(readme.contains(line.trim()), "{line}");
    }
    let (good, _) = shell(&format!("cd theirs && echo >> SHA256SUMS\n{check}"));
    assert!(!good);
    // Its tools read the key that tardy made, and tardy signs with one that they made.
    let (good, said) = shell("ssh-keygen -y -f key && ssh-keygen -l -f key.pub");
    let public = fs::read_to_string(bench.path("key.pub")).unwrap();
    let fingerprint = published(&bench, &["v1", "--key", "key"])["key"].as_str().unwrap().to_owned();
    assert!(good && said.contains(public.trim()) && said.contains(&fingerprint), "{said}");
    let (made, said) = shell("ssh-keygen -q -t ed25519 -N '' -C zqalice@zqsite -f theirs-key");
    assert!(made, "{said}");
    published(&bench, &["v1", "--key", "theirs-key", "--out", "second.tar"]);
    assert_eq!(bench.run(&["lab", "check-publication", "second.tar", "--key", "theirs-key.pub"]).code, Some(0));
    let bytes = fs::read(bench.path("second.tar")).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("zqalice"));
    shell("ssh-keygen -q -t ed25519 -N secret -f locked; ssh-keygen -q -t rsa -N '' -f rsa");
    for (key, why) in [("locked", "has a passphrase"), ("rsa", "not an Ed25519 private key")] {
        let ended = bench.run(&["lab", "publish", "v1", "--key", key]);
        assert!(ended.code == Some(2) && ended.stderr.contains(why), "{}", ended.stderr);
    }
    let private = bench.run(&["lab", "check-publication", "second.tar", "--key", "theirs-key"]);
    assert!(private.code == Some(2) && private.stderr.contains(".pub"), "{}", private.stderr);
}
