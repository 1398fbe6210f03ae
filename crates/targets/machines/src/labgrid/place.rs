//! Parses the output of `labgrid-client show` about a place.

use super::literal::Literal;

/// A place, as far as it can be parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlaceState {
    pub resources: Vec<Resource>,
}

/// A resource of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub name: String,
    /// Such as `NetworkService`.
    pub class: String,
    params: Literal,
}

/// An ssh server described by a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub address: String,
    pub port: Option<u16>,
    pub user: String,
    /// Only reachable from the exporter's host.
    pub behind_exporter: bool,
}

impl PlaceState {
    /// Parses any text; unknown parts are left out.
    pub fn parse(text: &str) -> Self {
        let mut resources = Vec::new();
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            resources.extend(heading(line).and_then(|(name, class)| resource(name, class, after)));
            rest = after;
        }
        Self { resources }
    }

    /// The ssh servers of the place.
    pub fn services(&self) -> impl Iterator<Item = (&str, Service)> {
        let services = self.resources.iter().filter(|resource| resource.class == "NetworkService");
        services.filter_map(|resource| Some((resource.name.as_str(), resource.service()?)))
    }
}

/// Name and class of `Acquired resource 'NAME' (exporter/group/class/name):`.
fn heading(line: &str) -> Option<(&str, &str)> {
    let named = line.strip_prefix("Acquired resource '")?.strip_suffix("):")?;
    let (name, path) = named.rsplit_once("' (")?;
    Some((name, path.split('/').nth(2)?))
}

fn resource(name: &str, class: &str, text: &str) -> Option<Resource> {
    let params = Literal::parse(text)?.get("params")?.clone();
    Some(Resource { name: name.into(), class: class.into(), params })
}

impl Resource {
    fn service(&self) -> Option<Service> {
        let text = |key: &str| self.params.get(key).and_then(Literal::text).map(str::to_owned);
        let required = self.params.get("extra").and_then(|extra| extra.get("proxy_required"));
        let address = text("address")?;
        Some(Service {
            behind_exporter: address.contains('%') || required.and_then(Literal::word) == Some("True"),
            port: self.params.get("port").and_then(Literal::word).and_then(|port| port.parse().ok()),
            user: text("username").unwrap_or_default(),
            address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHOWN: &str = "Place 'board1':\n  matches:\n    exp1/rtlab/NetworkService\n  acquired: vm/root\n  \
        acquired resources:\n    exp1/rtlab/NetworkService/NetworkService\n  created: 2026-11-22 07:18:00.977674\n\
        Acquired resource 'power' (exp1/rtlab/NetworkPowerPort/power):\n  {'params': {'index': '1'}}\n\
        Acquired resource 'NetworkService' (exp1/rtlab/NetworkService/NetworkService):\n  {'acquired': 'board1',\n   \
        'avail': True,\n   'cls': 'NetworkService',\n   'params': {'address': '127.0.0.1',\n              'extra': \
        {'proxy': 'localhost', 'proxy_required': False},\n              'port': 20222,\n              'username': \
        'root'}}\n";

    #[test]
    fn the_ssh_server_of_a_place_is_found() {
        let state = PlaceState::parse(SHOWN);
        assert_eq!(state.resources.len(), 2);
        let expected =
            Service { address: "127.0.0.1".into(), port: Some(20222), user: "root".into(), behind_exporter: false };
        assert_eq!(state.services().collect::<Vec<_>>(), [("NetworkService", expected)]);
        let hidden = SHOWN.replace("'proxy_required': False", "'proxy_required': True");
        assert!(PlaceState::parse(&hidden).services().all(|(_, service)| service.behind_exporter));
    }

    proptest! {
        #[test]
        fn any_text_is_a_place(text in any::<String>(), at in 0..SHOWN.len(), letter in any::<char>()) {
            PlaceState::parse(&text);
            let mut spoilt: Vec<char> = SHOWN.chars().collect();
            let at = at.min(spoilt.len() - 1);
            spoilt[at] = letter;
            PlaceState::parse(&spoilt.into_iter().collect::<String>()).services().count();
        }
    }
}
