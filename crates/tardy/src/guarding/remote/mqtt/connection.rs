//! A connection to a broker that publishes one message at a time. The output limits the time of each.

use super::Broker;
use super::packets::{ANSWER_BYTES, DISCONNECT, accepted, acknowledged, connect, publish};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Encrypted or not.
trait Line: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Line for S {}

pub struct Connection {
    line: Box<dyn Line>,
    /// Of the last message.
    number: u16,
}

impl Connection {
    /// # Errors
    /// If the broker cannot be reached, or refuses; in words, without a secret.
    pub async fn open(broker: &Broker) -> Result<Self, String> {
        let Broker { host, port, .. } = broker;
        let failed = |why: String| format!("failed to reach the broker {host}:{port}: {why}");
        let tcp = TcpStream::connect((host.as_str(), *port)).await.map_err(|error| failed(error.to_string()))?;
        // A message is complete when it is sent; waiting for more delays it.
        let _ = tcp.set_nodelay(true);
        let line: Box<dyn Line> = match &broker.roots {
            Some(roots) => Box::new(roots.connect(host, tcp).await.map_err(|error| failed(error.to_string()))?),
            None => Box::new(tcp),
        };
        let mut connection = Self { line, number: 0 };
        let answer = connection.exchange(&connect(&broker.login)).await?;
        accepted(answer).map_err(|why| failed(why.into()))?;
        Ok(connection)
    }

    /// Publishes a message; the broker has it on return.
    ///
    /// # Errors
    /// If it did not acknowledge it.
    pub async fn publish(&mut self, topic: &str, payload: &[u8]) -> Result<(), String> {
        // Zero is not a number of a message.
        self.number = self.number.checked_add(1).unwrap_or(1);
        let answer = self.exchange(&publish(topic, self.number, payload)).await?;
        acknowledged(answer, self.number).map_err(str::to_owned)
    }

    pub async fn close(mut self) {
        // A broker that is gone does not hear it.
        let _ = self.line.write_all(&DISCONNECT).await;
        let _ = self.line.shutdown().await;
    }

    async fn exchange(&mut self, packet: &[u8]) -> Result<[u8; ANSWER_BYTES], String> {
        let broke = |error: std::io::Error| format!("the connection to the broker broke: {error}");
        self.line.write_all(packet).await.map_err(broke)?;
        self.line.flush().await.map_err(broke)?;
        let mut answer = [0; ANSWER_BYTES];
        self.line.read_exact(&mut answer).await.map_err(broke)?;
        Ok(answer)
    }
}
