//! Accepts connections, limits what each may use, and ends without cutting answers off.

mod heads;
mod stalling;

use crate::access::AccessError;
use crate::alerting::alerting;
use crate::follow::follow;
use crate::guard::{Peer, Proxy};
use crate::limits::Limits;
use crate::site::{Lab, Site};
use axum::Router;
use axum::extract::Request;
use heads::{Head, Heads};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use stalling::Stalling;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::StoreError;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

/// Name of the threads that answer: who ranks what delays a machine recognises them.
const THREAD: &str = "tardy:serve";

/// Pause after the system refused a connection for want of files or memory.
const RETRY: Duration = Duration::from_millis(100);

/// Pause between two attempts to find a place by closing a connection without a request.
const PLACE_RETRY: Duration = Duration::from_millis(50);

/// Why the server does not start, or ended.
#[derive(Debug, Error)]
pub enum ListenError {
    #[error("failed to listen on {address}: {source}; choose another with --listen")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error(
        "failed to listen on {0}: without tokens every machine that reaches it could change everything; \
         `tardy lab serve --add-token admin:NAME` makes a token, or leave out --listen"
    )]
    Open(SocketAddr),
    #[error(
        "failed to answer for {0}: a name means clients beyond this machine, and without tokens they could change everything; \
         `tardy lab serve --add-token admin:NAME` makes a token, or leave out --host"
    )]
    OpenName(String),
    #[error("failed to start the server's threads: {0}")]
    Threads(std::io::Error),
    #[error("failed to handle signals: {0}")]
    Signals(std::io::Error),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Index(#[from] StoreError),
}

/// A bound address with what it serves.
pub struct Listener {
    listener: std::net::TcpListener,
    site: Arc<Site>,
    runtime: Runtime,
    endings: Endings,
}

impl Listener {
    /// Binds an address and opens the index. From now on SIGINT and SIGTERM end [`Self::serve`] and not the process.
    ///
    /// # Errors
    /// If the address is taken, other machines reach it by address or name and there are neither tokens nor a proxy, the index cannot be
    /// opened, or the kernel refuses a signal handler.
    pub fn bind(address: SocketAddr, lab: Lab) -> Result<Self, ListenError> {
        if !address.ip().is_loopback() && lab.tokens.is_empty() && lab.proxy.is_none() {
            return Err(ListenError::Open(address));
        }
        if let Some(name) = lab.hosts.first().filter(|_| lab.tokens.is_empty() && lab.proxy.is_none()) {
            return Err(ListenError::OpenName(name.clone()));
        }
        let failed = |source| ListenError::Bind { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let runtime =
            Builder::new_multi_thread().thread_name(THREAD).enable_all().build().map_err(ListenError::Threads)?;
        let site = Arc::new(runtime.block_on(Site::open(lab))?);
        // A user who reads the address may end the server at once: the handlers stand before it is shown. Not earlier, because a
        // database that does not answer keeps the index from opening for long.
        let endings = runtime.block_on(async { Endings::handle() }).map_err(ListenError::Signals)?;
        Ok(Self { listener, site, runtime, endings })
    }

    /// The address, with the port that the system chose if 0 was requested.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves until SIGINT, SIGTERM, or `until` completes; then finishes open requests for a few seconds.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn serve(mut self, until: impl Future<Output = ()>) -> Result<(), ListenError> {
        let ended = self.runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener).map_err(ListenError::Threads)?;
            let limits = *self.site.limits();
            let following = tokio::spawn(follow(Arc::clone(&self.site)));
            let alerting = tokio::spawn(alerting(Arc::clone(&self.site)));
            // Its connections are those of many clients.
            let proxy = self.site.lab.proxy.clone().filter(|proxy| proxy.client.is_some());
            let router = crate::api::router(self.site);
            accept(listener, &router, &limits, proxy.as_ref(), async {
                tokio::select! { () = until => {}, () = self.endings.received() => {} }
            })
            .await;
            following.abort();
            alerting.abort();
            Ok(())
        });
        // A report in the making is not waited for.
        self.runtime.shutdown_background();
        ended
    }
}

/// The signals that end a server.
struct Endings {
    interrupt: Signal,
    terminate: Signal,
}

impl Endings {
    fn handle() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn received(&mut self) {
        tokio::select! { _ = self.interrupt.recv() => {}, _ = self.terminate.recv() => {} }
    }
}

async fn accept(
    listener: TcpListener,
    router: &Router,
    limits: &Limits,
    proxy: Option<&Proxy>,
    until: impl Future<Output = ()>,
) {
    let all = Arc::new(Semaphore::new(limits.connections));
    let open = Arc::new(Open::default());
    let heads = Arc::new(Heads::default());
    let ending = GracefulShutdown::new();
    let mut until = std::pin::pin!(until);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut until => break,
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let is_proxy = proxy.is_some_and(|proxy| proxy.is(from.ip()));
        let connections = if is_proxy { limits.connections } else { limits.connections_of_one };
        let Some(counted) = Open::enter(&open, from.ip(), connections) else { continue };
        let place = tokio::select! {
            // Without a place new clients wait in the kernel's queue.
            place = place(&all, &heads) => place,
            () = &mut until => break,
        };
        let head = heads.begin();
        let connection = ending.watch(connection(stream, from, router.clone(), limits, Arc::clone(&head)));
        tokio::spawn(async move {
            // A client that breaks off is its own affair.
            tokio::select! { _ = connection => {}, () = head.closed() => {} }
            drop((place, counted));
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.farewell, ending.shutdown()).await;
}

/// A place for a connection; where all are taken, one whose client has not asked for anything gives up its own.
async fn place(all: &Arc<Semaphore>, heads: &Heads) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(place) = Arc::clone(all).try_acquire_owned() {
            return Some(place);
        }
        heads.close_oldest();
        if let Ok(place) = tokio::time::timeout(PLACE_RETRY, Arc::clone(all).acquire_owned()).await {
            return place.ok();
        }
    }
}

fn connection(
    stream: TcpStream,
    from: SocketAddr,
    router: Router,
    limits: &Limits,
    head: Arc<Head>,
) -> impl hyper_util::server::graceful::GracefulConnection<Output = hyper::Result<()>> + use<> {
    // Answers are complete when they are sent, so waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        head.finish();
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(Peer(from.ip()));
        router.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(Stalling::new(stream, limits.stalled)), service)
}

/// Open connections of each address.
#[derive(Debug, Default)]
struct Open(Mutex<HashMap<IpAddr, usize>>);

impl Open {
    fn enter(open: &Arc<Self>, address: IpAddr, max: usize) -> Option<Counted> {
        let mut counts = open.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(Counted { open: Arc::clone(open), address })
    }
}

/// One open connection, counted until it is dropped.
struct Counted {
    open: Arc<Open>,
    address: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}
