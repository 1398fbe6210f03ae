//! The separate file with the debug information of a stripped one, as gdb looks for it: by build id and by link.

use crate::code_file::Identity;
use crate::files::Files;

const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// Where the debug information of the file at `path` may be, the most certain place first.
pub fn places(path: &str, identity: &Identity) -> Vec<String> {
    let mut places = Vec::new();
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    if let Some((first, rest)) = identity.build_id.as_deref().and_then(|id| id.split_at_checked(2)) {
        places.push(format!("{DEBUG_DIRECTORY}/.build-id/{first}/{rest}.debug"));
        places.push(format!("{directory}/debug/.build-id/{first}/{rest}.debug"));
    }
    // A link is the name of a file, not a path.
    let link =
        identity.debug_link.as_ref().map(|(name, _)| name).filter(|name| !name.contains('/') && !name.is_empty());
    if let Some(name) = link {
        places.push(format!("{directory}/{name}"));
        places.push(format!("{directory}/.debug/{name}"));
        places.push(format!("{DEBUG_DIRECTORY}{directory}/{name}"));
    }
    places.retain(|place| place != path);
    places
}

/// The debug information of a file, if it is another one's and belongs to it.
pub fn read(path: &str, identity: &Identity, files: &mut dyn Files) -> Option<Vec<u8>> {
    if identity.has_symbols && identity.has_lines {
        return None;
    }
    places(path, identity).into_iter().find_map(|place| files.read(&place).filter(|bytes| belongs(bytes, identity)))
}

fn belongs(bytes: &[u8], identity: &Identity) -> bool {
    let debug_id = Identity::of(bytes).and_then(|debug| debug.build_id);
    match (&identity.build_id, debug_id) {
        (Some(id), Some(debug_id)) => *id == debug_id,
        _ => identity.debug_link.as_ref().is_some_and(|(_, crc)| *crc == crc32fast::hash(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_those_of_gdb_and_a_link_is_no_path() {
        let identity = Identity {
            build_id: Some("ab12cd".into()),
            debug_link: Some(("robot.debug".into(), 1)),
            ..Identity::default()
        };
        let expected = [
            "/usr/lib/debug/.build-id/ab/12cd.debug",
            "/opt/bin/debug/.build-id/ab/12cd.debug",
            "/opt/bin/robot.debug",
            "/opt/bin/.debug/robot.debug",
            "/usr/lib/debug/opt/bin/robot.debug",
        ];
        assert_eq!(places("/opt/bin/robot", &identity), expected);
        let elsewhere = Identity { debug_link: Some(("../../etc/passwd".into(), 1)), ..Identity::default() };
        assert_eq!(places("/opt/bin/robot", &elsewhere), [] as [String; 0]);
    }
}
