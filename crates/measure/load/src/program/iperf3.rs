//! iperf3: network traffic, to a private server on the loopback unless another one is given. It reports the bytes of
//! each interval in JSON.

use super::options::Options;
use super::{CommandLine, Context, Program, Server, nothing_to_check};
use serde_json::Value;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "iperf3",
    executables: &["iperf3"],
    check: nothing_to_check,
    server,
    round,
    work: |output, _: &Path| bytes(output),
    reports_progress: false,
};

fn server(options: &Options) -> io::Result<Option<Server>> {
    if options.subject().is_some() {
        return Ok(None);
    }
    let port = match options.value("port").and_then(|port| port.parse().ok()) {
        Some(port) => port,
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port(),
    };
    let command = ["iperf3", "--server", "--bind", "127.0.0.1", "--port", &port.to_string()].map(String::from).into();
    Ok(Some(Server { command, port }))
}

fn round(options: &Options, context: &Context, _: u64) -> Vec<CommandLine> {
    let port = context.server_port.map_or_else(|| options.value_or("port", "5201").to_owned(), |port| port.to_string());
    let address = options.subject().unwrap_or("127.0.0.1");
    let mut line: CommandLine = ["iperf3", "--client", address, "--port", &port, "--json"].map(String::from).into();
    line.extend(
        ["--time", options.value_or("time", "5"), "--parallel", options.value_or("streams", "1")].map(String::from),
    );
    if options.is_set("udp") {
        line.push("--udp".into());
    }
    if options.is_set("reverse") {
        line.push("--reverse".into());
    }
    // By default datagrams are limited to 1 Mbit/s.
    if options.is_set("udp") || options.is_set("rate") {
        line.extend(["--bitrate".into(), options.value_or("rate", "0").into()]);
    }
    vec![line]
}

/// Bytes of all intervals, which an interrupted round also has.
fn bytes(output: &[u8]) -> Option<u64> {
    let start = output.iter().position(|&byte| byte == b'{')?;
    let document: Value = serde_json::Deserializer::from_slice(&output[start..]).into_iter().next()?.ok()?;
    let intervals = document.get("intervals")?.as_array()?;
    let of = |interval: &Value| interval.get("sum")?.get("bytes")?.as_u64();
    let sum = intervals.iter().filter_map(of).fold(0, u64::saturating_add);
    let refused = intervals.is_empty() && document.get("error").is_some();
    (!refused).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::rounds::any_bytes;
    use archive::settings::LoadRequest;

    /// Output of version 3.12 when interrupted, without most of its figures.
    const OUTPUT: &str = r#"{
	"start":	{ "version":	"iperf 3.12" },
	"intervals":	[{
			"streams":	[{ "socket":	5, "bytes":	715522048 }],
			"sum":	{ "start":	0, "end":	1.02, "bytes":	715522048, "sender":	true }
		}, {
			"streams":	[{ "socket":	5, "bytes":	86507520 }],
			"sum":	{ "start":	1.02, "end":	1.35, "bytes":	86507520, "sender":	true }
		}],
	"end":	{ "sum_sent":	{ "bytes":	802029568 } },
	"error":	"interrupt - the client has terminated"
}
"#;

    #[test]
    fn the_bytes_of_all_intervals_are_added() {
        assert_eq!(bytes(OUTPUT.as_bytes()), Some(802_029_568));
        let refused = br#"{"intervals":[],"end":{},"error":"unable to connect to server: Connection refused"}"#;
        assert_eq!(bytes(refused), None);
        any_bytes(&PROGRAM, OUTPUT);
    }

    #[test]
    fn a_server_of_its_own_is_started_unless_one_is_named() {
        let words = |text: &str| match LoadRequest::parse(text) {
            Ok(LoadRequest::Program { words, .. }) => words,
            other => panic!("{other:?}"),
        };
        let own = words("iperf3:udp,rate=10M");
        let Some(own_server) = server(&Options(&own)).expect("a port") else { panic!("no server") };
        let context = Context { directory: Path::new("/"), server_port: Some(own_server.port) };
        let line = round(&Options(&own), &context, 0)[0].join(" ");
        assert!(line.starts_with(&format!("iperf3 --client 127.0.0.1 --port {} --json", own_server.port)), "{line}");
        assert!(line.ends_with("--udp --bitrate 10M"), "{line}");
        let named = words("iperf3:192.168.7.1");
        assert!(server(&Options(&named)).expect("nothing to do").is_none());
        let line = round(&Options(&named), &Context { directory: Path::new("/"), server_port: None }, 0)[0].join(" ");
        assert!(line.contains("--client 192.168.7.1 --port 5201"), "{line}");
    }
}
