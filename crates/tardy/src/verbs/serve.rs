//! `tardy lab serve`: boards and runs as pages in a browser, and as an HTTP API.

use crate::archives::RUNS;
use crate::exit::{Exit, UsageError};
use crate::lab::arguments::address;
use crate::lab::this_host::ThisHost;
use crate::verb::{Parent, Place, Verb};
use alerts::Settings;
use anyhow::Context;
use clap::Args;
use server::access::{AccessError, Tokens};
use server::{Lab, ListenError, Listener, Proxy};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tokens of the directory, unless the command line names another file.
const TOKENS_FILE: &str = "tokens";

/// Serve boards and runs as pages and as an HTTP API
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Directory of archives; it may be empty
    #[arg(value_name = "DIR", default_value = RUNS)]
    directory: PathBuf,
    /// The index, if it is not in DIR: postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Keep the archives in an S3-compatible object store, s3://BUCKET/PREFIX; DIR has copies then
    #[arg(long, value_name = "URL")]
    artefacts: Option<String>,
    /// Address to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8700", value_parser = socket_address)]
    listen: SocketAddr,
    /// Answer for this name, too, beside addresses and localhost
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// File of tokens [default: tokens in DIR]
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Address of a proxy that logs people in and names them in a header
    #[arg(long, value_name = "IP")]
    proxy: Option<IpAddr>,
    /// Header in which the proxy names the user
    #[arg(long, value_name = "HEADER", requires = "proxy", default_value = "X-Forwarded-User")]
    proxy_user: String,
    /// Header in which the proxy lists the user's groups, with commas
    #[arg(long, value_name = "HEADER", requires = "proxy")]
    proxy_groups: Option<String>,
    /// Header to which the proxy appends the address of its client; limits of rate then count clients
    #[arg(long, value_name = "HEADER", requires = "proxy")]
    proxy_client: Option<String>,
    /// Role of a group, or of everyone ('*=read', the default); may be repeated
    #[arg(long = "proxy-role", value_name = "GROUP=ROLE", requires = "proxy")]
    proxy_roles: Vec<String>,
    /// Look for changes and send messages as this file says: to webhooks, by mail, as issues or comments
    #[arg(long, value_name = "FILE")]
    alerts: Option<PathBuf>,
    /// Make a token, print it, and end; ROLE is read, run or admin
    #[arg(long, value_name = "ROLE:NAME")]
    add_token: Option<String>,
}

fn socket_address(text: &str) -> Result<SocketAddr, UsageError> {
    text.parse().map_err(|_| UsageError("write ADDRESS:PORT, like 127.0.0.1:8700".into()))
}

impl Verb for ServeArguments {
    const NAME: &'static str = "serve";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab serve",
        "tardy lab serve lab/ --listen 127.0.0.1:9000",
        "tardy lab serve /srv/archives --store postgres://lab@db/tardy",
        "tardy lab serve /srv/copies --store postgres://lab@db/tardy --artefacts s3://lab/archives",
        "tardy lab serve lab/ --add-token read:grafana",
        "tardy lab serve lab/ --listen 0.0.0.0:8700 --host lab.example",
        "tardy lab serve lab/ --alerts alerts.toml",
        "tardy lab serve lab/ --proxy 127.0.0.1 --proxy-groups X-Forwarded-Groups --proxy-role lab=run --proxy-role '*=read'",
    ];
    const NOTES: &'static str = "\
On loopback nobody logs in. On another address the server starts only with tokens or --proxy; a token of \
the role read sees everything, one of the role run also uploads archives and queues plans. A token is printed once and stored as a \
hash. Put a proxy with TLS in front: tokens travel as they are. With --proxy the proxy logs people in; it must \
remove the headers from what clients send.
Ctrl-C ends it; requests in progress are answered.";
    const FORMER_NAMES: &'static [&'static str] = &["serve"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ServeArguments) -> anyhow::Result<Exit> {
    let directory = &arguments.directory;
    let mut lab = Lab::of(directory.clone(), Arc::new(ThisHost));
    // Without --store the index is in the directory.
    let store = arguments.store.clone().unwrap_or_else(|| directory.display().to_string());
    if arguments.store.is_some() || arguments.artefacts.is_some() {
        lab.index = address(&store, directory, arguments.artefacts.as_deref())?;
    }
    if lab.index.archives != *directory {
        return Err(UsageError(format!("--store {store} is a directory; write tardy lab serve {store}")).into());
    }
    make_default(directory)?;
    let file = arguments.tokens.clone().unwrap_or_else(|| directory.join(TOKENS_FILE));
    if let Some(wanted) = &arguments.add_token {
        return add_token(&file, wanted);
    }
    lab.tokens = match &arguments.tokens {
        Some(named) => Tokens::read_named(named),
        None => Tokens::read_beside_mark(&file),
    }
    .map_err(|error| UsageError(error.to_string()))?;
    lab.proxy = arguments.proxy.map(|address| proxy(address, arguments)).transpose()?;
    let settings = arguments.alerts.as_deref().map(Settings::read).transpose();
    lab.alerts = settings.map_err(|error| UsageError(error.to_string()))?;
    lab.hosts.clone_from(&arguments.hosts);
    let listener = Listener::bind(arguments.listen, lab).map_err(|error| match error {
        ListenError::Open(_) | ListenError::OpenName(_) => UsageError(error.to_string()).into(),
        other => anyhow::Error::from(other),
    })?;
    let address = listener.address().unwrap_or(arguments.listen);
    complain!("tardy: serving {} at http://{address}/; Ctrl-C ends it", directory.display());
    listener.serve(std::future::pending())?;
    Ok(Exit::Measured)
}

/// Makes the directory of runs. One that the user named exists: a mistyped name would be an empty lab.
fn make_default(directory: &Path) -> anyhow::Result<()> {
    if directory != Path::new(RUNS) && !directory.is_dir() {
        let name = directory.display();
        return Err(UsageError(format!("no directory {name}; check its name, or make it: mkdir -p {name}")).into());
    }
    fs::create_dir_all(directory)
        .with_context(|| format!("failed to make {}; choose another directory", directory.display()))
}

fn proxy(address: IpAddr, arguments: &ServeArguments) -> Result<Proxy, UsageError> {
    let groups = arguments.proxy_groups.as_deref();
    let proxy = Proxy::parse(address, &arguments.proxy_user, groups, &arguments.proxy_roles);
    let client = arguments.proxy_client.as_deref();
    let proxy = proxy.and_then(|proxy| client.map_or(Ok(proxy.clone()), |header| proxy.with_client(header)));
    proxy.map_err(|error| UsageError(error.to_string()))
}

fn add_token(file: &Path, wanted: &str) -> anyhow::Result<Exit> {
    let Some((role, name)) = wanted.split_once(':') else {
        return Err(UsageError(format!("--add-token {wanted} has no name; write ROLE:NAME, like read:grafana")).into());
    };
    let usage = |error: AccessError| match error {
        AccessError::Role(_) | AccessError::Name(_) | AccessError::Taken(_) => UsageError(error.to_string()).into(),
        other => anyhow::Error::from(other),
    };
    let token = role.parse().and_then(|role| Tokens::add(file, role, name)).map_err(usage)?;
    let mut page = crate::terminal::page::Page::for_stdout();
    page.line(&token);
    page.print()?;
    complain!("tardy: it is stored as a hash in {}; a running server reads it when it starts again", file.display());
    Ok(Exit::Measured)
}
