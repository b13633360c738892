//! A connection to a nats-server that can say everything, status lines included, which no client library sends.
//!
//! It knows no subject of Systole. In: bytes to publish. Out: messages.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::limits;

/// A message that came.
#[derive(Clone, Debug)]
pub(crate) struct NatsMessage {
    /// Its subject.
    pub subject: String,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// Its body, without headers.
    pub body: Vec<u8>,
}

/// A connection.
pub(crate) struct NatsClient {
    out: mpsc::Sender<Vec<u8>>,
    messages: mpsc::Receiver<NatsMessage>,
    // Both directions end with this value.
    _tasks: JoinSet<()>,
}

impl NatsClient {
    /// Connects with a password, and subscribes.
    ///
    /// # Errors
    /// If there is no server.
    pub(crate) async fn connect(
        port: u16,
        password: &str,
        subjects: &[String],
    ) -> std::io::Result<NatsClient> {
        let (input, mut output) = TcpStream::connect(("127.0.0.1", port)).await?.into_split();
        let hello = format!(
            "CONNECT {{\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"user\":\"kit\",\"pass\":\"{password}\",\"lang\":\"systole\",\"version\":\"1\",\"protocol\":1}}\r\n"
        );
        output.write_all(hello.as_bytes()).await?;
        for (at, subject) in subjects.iter().enumerate() {
            output.write_all(format!("SUB {subject} {}\r\n", at + 1).as_bytes()).await?;
        }
        // Enough for what a check says at once.
        let (out, mut to_write) = mpsc::channel::<Vec<u8>>(limits::WAITING_MESSAGES);
        let (message, messages) = mpsc::channel(limits::WAITING_MESSAGES);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(bytes) = to_write.recv().await {
                if output.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        let pong = out.clone();
        tasks.spawn(async move {
            // A connection that breaks ends the messages.
            let _broken = read_messages(BufReader::new(input), &message, &pong).await;
        });
        Ok(NatsClient { out, messages, _tasks: tasks })
    }

    /// The next message; `None` once the connection is over.
    pub(crate) async fn next(&mut self) -> Option<NatsMessage> {
        self.messages.recv().await
    }

    /// Publishes a message. `head` is what comes after `NATS/1.0`: a status, and headers each on a line.
    pub(crate) async fn publish(&self, subject: &str, reply: Option<&str>, head: Option<&str>, body: &[u8]) {
        let reply = reply.map(|reply| format!("{reply} ")).unwrap_or_default();
        let mut bytes = match head {
            None => format!("PUB {subject} {reply}{}\r\n", body.len()).into_bytes(),
            Some(head) => {
                let head = format!("NATS/1.0{head}\r\n\r\n");
                let whole = head.len() + body.len();
                format!("HPUB {subject} {reply}{} {whole}\r\n{head}", head.len()).into_bytes()
            }
        };
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\r\n");
        // If the connection is over, the next read says so.
        let _over = self.out.send(bytes).await;
    }

    /// Says something of the protocol itself.
    pub(crate) async fn say(&self, line: &str) {
        let _over = self.out.send(format!("{line}\r\n").into_bytes()).await;
    }
}

async fn read_messages(
    mut input: BufReader<tokio::net::tcp::OwnedReadHalf>,
    message: &mpsc::Sender<NatsMessage>,
    pong: &mpsc::Sender<Vec<u8>>,
) -> std::io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["PING"] => {
                let _over = pong.send(b"PONG\r\n".to_vec()).await;
            }
            ["MSG" | "HMSG", subject, _, rest @ ..] => {
                let has_head = line.starts_with('H');
                let numbers = if has_head { 2 } else { 1 };
                let reply = (rest.len() > numbers).then(|| rest.first().map(|reply| (*reply).to_owned()));
                let number = |back: usize| -> usize {
                    let at = rest.len().checked_sub(back);
                    at.and_then(|at| rest.get(at)?.parse().ok()).unwrap_or(0)
                };
                let (whole, head) = (number(1), if has_head { number(2) } else { 0 });
                let (subject, reply) = ((*subject).to_owned(), reply.flatten());
                let mut bytes = vec![0; whole + 2];
                input.read_exact(&mut bytes).await?;
                let body = bytes.get(head..whole).unwrap_or_default().to_vec();
                if message.send(NatsMessage { subject, reply, body }).await.is_err() {
                    return Ok(());
                }
            }
            _ => {}
        }
    }
}
