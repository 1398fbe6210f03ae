//! PostgreSQL on another host: encrypted, and believed with a certificate of a known authority only.

use crate::both::finish;
use fixtures::authority::certify;
use fixtures::postgres::{Server, programs};
use prerequisites::require;
use sqlx::AnyPool;
use store::{Address, Store};

#[test]
fn a_database_behind_tls_needs_a_certificate_of_a_known_authority() {
    require!(Program("openssl"), Prepared("PostgreSQL's initdb (Debian: postgresql)", programs().is_some()));
    let (known, unknown, archives) = (tempfile::tempdir(), tempfile::tempdir(), tempfile::tempdir().unwrap());
    let (known, unknown) = (known.unwrap(), unknown.unwrap());
    certify(known.path());
    certify(unknown.path());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Server::encrypted(known.path(), port);
    let name = server.create();
    let url = |authority: &std::path::Path| {
        let root = authority.join("ca.pem");
        format!("postgres://tardy@localhost:{port}/{name}?sslmode=verify-full&sslrootcert={}", root.display())
    };
    finish(async {
        let refused = Store::open(&Address::parse(&url(unknown.path()), archives.path()).unwrap()).await.unwrap_err();
        assert!(refused.to_string().contains("certificate"), "{refused}");
        Store::open(&Address::parse(&url(known.path()), archives.path()).unwrap()).await.unwrap();
        let pool = AnyPool::connect(&url(known.path())).await.unwrap();
        let sql = "SELECT CAST(ssl AS TEXT) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let (encrypted,): (String,) = sqlx::query_as(sql).fetch_one(&pool).await.unwrap();
        assert_eq!(encrypted, "true");
    });
}
