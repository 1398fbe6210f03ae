//! A lab in a directory of its own, and requests to it without a network.
#![allow(dead_code)]

pub mod running;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::http::request::Builder;
use axum::response::Response;
use fixtures::{tried, year};
use http_body_util::BodyExt;
use server::access::{Role, Tokens};
use server::{Archives, Limits, PlanError, Site};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::queue::JobRequest;
use tempfile::TempDir;
use tower::ServiceExt;

/// A job of the plan `nightly` on a board.
pub fn nightly(board: &str) -> JobRequest {
    JobRequest {
        board: board.into(),
        plan_name: "nightly".into(),
        plan: String::new(),
        kernel: None,
        because: "test".into(),
        priority: 0,
        attempts_max: 1,
    }
}

/// Between two runs of the year.
const YEAR_DAYS: f64 = 9.0;

pub struct Lab {
    pub directory: TempDir,
    pub site: Arc<Site>,
    router: Router,
    tokens: Vec<(Role, String)>,
}

/// Archives as they were written, with the explanations beside them.
pub struct AsStored;

impl Archives for AsStored {
    fn below(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let found = |path: PathBuf| match path.join("manifest.json").is_file() {
            true => vec![path],
            false if path.is_dir() && !path.is_symlink() => self.below(&path),
            false => Vec::new(),
        };
        entries.flat_map(found).collect()
    }

    fn experiments(&self, directory: &Path) -> Vec<server::ExperimentSeries> {
        tried::all(directory, (365.0 / YEAR_DAYS) as usize, 1_790_000_000_000_000_000)
    }

    fn explain(&self, run: &archive::reader::Run, spike: u32) -> Option<archive::explanation::Explanation> {
        run.explanations()?.into_iter().find(|explanation| explanation.spike == spike)
    }

    fn check_plan(&self, _: &str, text: &str) -> Result<(), PlanError> {
        if text.contains("mistake") { Err(PlanError("line 1: a mistake".into())) } else { Ok(()) }
    }
}

impl Lab {
    pub async fn new() -> Self {
        Self::with_tokens(&[]).await
    }

    /// A lab with a year of runs, which were looked at.
    pub async fn of_a_year() -> Self {
        let lab = Self::new().await;
        lab.add_year().await;
        lab
    }

    /// Writes a year of runs until now, and looks at them.
    pub async fn add_year(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        year::write(self.directory.path(), now, YEAR_DAYS);
        server::add_new_archives(&self.site).await;
    }

    /// A lab with one token for each role.
    pub async fn with_tokens(roles: &[Role]) -> Self {
        Self::with(roles, Limits::default()).await
    }

    pub async fn with(roles: &[Role], limits: Limits) -> Self {
        Self::set_up(roles, limits, None).await
    }

    /// A lab behind a proxy that logs people in.
    pub async fn with_proxy(roles: &[Role], proxy: server::Proxy) -> Self {
        Self::set_up(roles, Limits::default(), Some(proxy)).await
    }

    /// A lab that sends messages about changes.
    pub async fn with_alerts(settings: alerts::Settings) -> Self {
        Self::described(&[], |lab| lab.alerts = Some(settings)).await
    }

    pub async fn set_up(roles: &[Role], limits: Limits, proxy: Option<server::Proxy>) -> Self {
        Self::described(roles, |lab| (lab.limits, lab.proxy) = (limits, proxy)).await
    }

    /// A lab with its index in another database.
    pub async fn with_index(index: impl FnOnce(&Path) -> store::Address) -> Self {
        Self::described(&[], |lab| lab.index = index(&lab.directory)).await
    }

    pub async fn described(roles: &[Role], describe: impl FnOnce(&mut server::Lab)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tokens");
        let tokens = roles.iter().map(|role| (*role, Tokens::add(&file, *role, &role.to_string()).unwrap())).collect();
        let mut lab = server::Lab::of(directory.path().to_owned(), Arc::new(AsStored));
        lab.tokens = Tokens::read(&file).unwrap();
        describe(&mut lab);
        let site = Arc::new(Site::open(lab).await.unwrap());
        Self { router: server::router(Arc::clone(&site)), site, directory, tokens }
    }

    pub fn token(&self, role: Role) -> &str {
        &self.tokens.iter().find(|(of, _)| *of == role).unwrap().1
    }

    pub fn bearer(&self, role: Role) -> String {
        format!("Bearer {}", self.token(role))
    }

    pub fn request(&self, method: Method, path: &str) -> Builder {
        Request::builder().method(method).uri(path)
    }

    pub async fn page(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path).header("accept", "text/html,*/*;q=0.8")).await
    }

    pub async fn api(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path).header("accept", "application/json")).await
    }

    pub async fn send(&self, request: Builder) -> Response {
        self.send_whole(request.body(Body::empty()).unwrap()).await
    }

    /// Sends it from loopback, to this server unless it names another host.
    pub async fn send_whole(&self, mut request: Request) -> Response {
        let from = server::Peer(IpAddr::from([127, 0, 0, 1]));
        request.extensions_mut().insert(from);
        request.headers_mut().entry("host").or_insert("127.0.0.1:8700".parse().unwrap());
        self.router.clone().oneshot(request).await.unwrap()
    }
}

pub async fn text(answer: Response) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}
