//! Names of containers and pods: ids from control groups, names from the files in which their engines keep them.

use archive::directory::read_inside;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Fewest digits of an id that name a container, as engines print them.
const ID_DIGITS_MIN: usize = 12;
const ID_DIGITS: usize = 64;
/// Looks for the names of a container that has none yet: its engine may write them after its group.
const LOOKS_MAX: u32 = 50;
/// A description of a container has some kilobytes, a list of thousands some megabytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The annotations of a container with its pod and its own name, for containerd and CRI-O.
const OF_PODS: [(&str, &str); 2] = [
    ("io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name"),
    ("io.kubernetes.pod.name", "io.kubernetes.container.name"),
];
/// nerdctl writes the name of its containers there.
const OF_NERDCTL: &str = "nerdctl/name";

/// Docker's file of a container.
#[derive(Deserialize)]
struct DockerContainer {
    #[serde(rename = "Name")]
    name: String,
}

/// The description of a container by which runtimes start it.
#[derive(Deserialize)]
struct RuntimeBundle {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Podman's list of containers.
#[derive(Deserialize)]
struct StoredContainer {
    id: String,
    #[serde(default)]
    names: Vec<String>,
}

/// Names of the containers that were seen. An id has one name for all its life.
pub struct ContainerNames {
    root: PathBuf,
    known: BTreeMap<String, Names>,
}

/// Names of one container.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    looks: u32,
}

impl ContainerNames {
    pub fn of_this_machine() -> Self {
        Self::below("/")
    }

    /// Names from the files below this directory.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), known: BTreeMap::new() }
    }

    /// Whether a part of a control group's path is that of the container or pod of this name.
    pub fn is_called(&mut self, part: &str, wanted: &str) -> bool {
        if let Some(uid) = pod_uid(part) {
            return uid == wanted.replace('_', "-");
        }
        let Some(id) = container_id(part) else { return false };
        if wanted.len() >= ID_DIGITS_MIN && id.starts_with(wanted) {
            return true;
        }
        let Self { root, known } = self;
        let known = known.entry(id.to_owned()).or_default();
        if known.names.is_empty() && known.looks < LOOKS_MAX {
            known.looks += 1;
            known.names = names_of(root, id);
        }
        known.names.iter().any(|name| name == wanted)
    }
}

/// The id in names such as `docker-ID.scope` and `ID`. The monitor of a container is outside of it.
fn container_id(part: &str) -> Option<&str> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let (engine, id) = name.rsplit_once('-').unwrap_or(("", name));
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_id && !engine.ends_with("conmon")).then_some(id)
}

/// The uid in names such as `podUID` and `kubepods-burstable-podUID.slice`.
fn pod_uid(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let pod = if name.starts_with("kubepods-") { name.rsplit('-').next()? } else { name };
    let uid = pod.strip_prefix("pod").filter(|uid| uid.len() >= ID_DIGITS_MIN)?;
    Some(uid.replace('_', "-"))
}

fn names_of(root: &Path, id: &str) -> Vec<String> {
    let docker: Option<DockerContainer> = read(&root.join(format!("var/lib/docker/containers/{id}/config.v2.json")));
    let mut names: Vec<String> = docker.into_iter().map(|file| file.name.trim_start_matches('/').to_owned()).collect();
    for storage in storages(root) {
        let stored: Vec<StoredContainer> = read(&storage.join("containers.json")).unwrap_or_default();
        names.extend(stored.into_iter().filter(|container| container.id == id).flat_map(|container| container.names));
        names.extend(annotated(&storage.join(id).join("userdata/config.json")));
    }
    for task in tasks(root) {
        names.extend(annotated(&task.join(id).join("config.json")));
    }
    names
}

/// Where Podman and CRI-O keep containers, of users as well.
fn storages(root: &Path) -> Vec<PathBuf> {
    let users = folders(&root.join("home")).into_iter().map(|home| home.join(".local/share/containers"));
    let all = users.chain([root.join("var/lib/containers")]);
    all.map(|containers| containers.join("storage/overlay-containers")).collect()
}

/// Where containerd keeps running containers, a folder for each namespace.
fn tasks(root: &Path) -> Vec<PathBuf> {
    let places = ["run/containerd", "run/k3s/containerd"].map(|place| root.join(place));
    places.iter().flat_map(|place| folders(&place.join("io.containerd.runtime.v2.task"))).collect()
}

/// The names of a container, of its pod, and of both as `POD/CONTAINER`.
fn annotated(bundle: &Path) -> Vec<String> {
    let Some(RuntimeBundle { annotations }) = read(bundle) else { return Vec::new() };
    let mut names: Vec<String> = annotations.get(OF_NERDCTL).cloned().into_iter().collect();
    for (pod, container) in OF_PODS {
        let both = [annotations.get(pod), annotations.get(container)];
        names.extend(both.iter().flatten().map(|name| (*name).clone()));
        if let [Some(pod), Some(container)] = both {
            names.push(format!("{pod}/{container}"));
        }
    }
    names
}

/// Some are files of users, who may put a pipe or a link there.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_inside(path.parent()?, path.file_name()?, FILE_BYTES_MAX).ok()?).ok()
}

fn folders(place: &Path) -> Vec<PathBuf> {
    fs::read_dir(place).map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4c01db0b339c8b9c3cf4a3a8a5c5d6e7f8090a0b0c0d0e0f1011121314151617";

    /// Files of an engine below a root of their own.
    fn engine(file: &str, text: &str) -> (tempfile::TempDir, ContainerNames) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(file.replace("ID", ID));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("ID", ID)).unwrap();
        let names = ContainerNames::below(root.path());
        (root, names)
    }

    fn is_called(file: &str, text: &str, wanted: &str) -> bool {
        engine(file, text).1.is_called(&format!("docker-{ID}.scope"), wanted)
    }

    #[test]
    fn each_engine_names_its_containers_in_its_files() {
        let docker = "var/lib/docker/containers/ID/config.v2.json";
        assert!(is_called(docker, r#"{"ID":"ID","Name":"/robot","State":{}}"#, "robot"));
        assert!(!is_called(docker, r#"{"ID":"ID","Name":"/robot2"}"#, "robot"));
        let list = r#"[{"id":"0","names":["other"]},{"id":"ID","names":["robot"],"image":""}]"#;
        assert!(is_called("var/lib/containers/storage/overlay-containers/containers.json", list, "robot"));
        let of_user = "home/ann/.local/share/containers/storage/overlay-containers/containers.json";
        assert!(is_called(of_user, list, "robot") && !is_called(of_user, list, "other"));
        let crio = r#"{"annotations":{"io.kubernetes.pod.name":"arm","io.kubernetes.container.name":"robot"}}"#;
        let bundle = "var/lib/containers/storage/overlay-containers/ID/userdata/config.json";
        assert!(is_called(bundle, crio, "robot") && is_called(bundle, crio, "arm"));
        let task = "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json";
        let cri =
            r#"{"annotations":{"io.kubernetes.cri.sandbox-name":"arm","io.kubernetes.cri.container-name":"robot"}}"#;
        assert!(is_called(task, cri, "arm/robot") && !is_called(task, cri, "robot/arm"));
        let nerdctl = "run/containerd/io.containerd.runtime.v2.task/default/ID/config.json";
        assert!(is_called(nerdctl, r#"{"annotations":{"nerdctl/name":"robot"}}"#, "robot"));
    }

    #[test]
    fn a_container_that_is_made_again_is_found_even_if_its_name_comes_later() {
        let root = tempfile::tempdir().unwrap();
        let mut names = ContainerNames::below(root.path());
        for id in [ID.to_owned(), ID.replace("4c01", "5d12")] {
            let part = format!("docker-{id}.scope");
            assert!(!names.is_called(&part, "robot"), "its engine has written nothing yet");
            let folder = root.path().join("var/lib/docker/containers").join(&id);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.v2.json"), r#"{"Name":"/robot"}"#).unwrap();
            assert!(names.is_called(&part, "robot"));
            fs::remove_dir_all(&folder).unwrap();
            assert!(names.is_called(&part, "robot"), "it is known");
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_list_does_not_block() {
        let list = "home/ann/.local/share/containers/storage/overlay-containers/containers.json";
        let (root, mut names) = engine(list, "[]");
        fs::remove_file(root.path().join(list)).unwrap();
        let pipe = root.path().join(list);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(!names.is_called(ID, "robot"));
    }

    #[test]
    fn ids_stand_in_names_of_both_drivers() {
        let mut none = ContainerNames::below("/nonexistent");
        for part in [ID.to_owned(), format!("libpod-{ID}.scope"), format!("cri-containerd-{ID}.scope")] {
            assert!(none.is_called(&part, &ID[..12]) && none.is_called(&part, ID), "{part}");
            assert!(!none.is_called(&part, &ID[..4]), "{part}");
        }
        assert!(!none.is_called(&format!("libpod-conmon-{ID}.scope"), ID), "the monitor is outside");
    }

    #[test]
    fn a_pod_has_the_processes_of_all_its_containers() {
        let mut none = ContainerNames::below("/nonexistent");
        let uid = "0a1b2c3d-1111-2222-3333-444455556666";
        for part in [format!("pod{uid}"), format!("kubepods-burstable-pod{}.slice", uid.replace('-', "_"))] {
            assert!(none.is_called(&part, uid), "{part}");
        }
        assert!(!none.is_called("podman", uid) && !none.is_called("kubepods-burstable.slice", uid));
    }
}
