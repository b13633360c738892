//! A whole listener around one function, over a broker: whoever has the listener's key is it, on whatever machine.
//!
//! It takes one delivery for each free slot and never more, says that it is alive while it works, and sends its reply
//! again until the pump says that it is on disk. It makes and asks for nothing at the broker but its next delivery, and
//! judges nothing. Deliveries come in; the function's words go out.
//!
//! ```no_run
//! use systole_kit::Payload;
//! use systole_kit::nats::Worker;
//!
//! fn main() -> std::process::ExitCode {
//!     Worker::new("nats://127.0.0.1:4222", "shop", "shout").key_file("shout.nk").slots(4).answer_each(|turn| {
//!         let words = turn.request().text().to_uppercase();
//!         Payload::write("https://xml-pipeline.org/ns/shout/v1", "shouted", |inside| inside.text(&words))
//!     })
//! }
//! ```

mod call;
mod connection;
mod held;
mod news;
mod service;
mod slot;
mod work;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::name::QName;
use crate::reply::Said;
use crate::turn::Turn;

pub use held::{GONE, Held, Untold};
pub use news::{News, Unserved};
use service::Shown;
use slot::Slot;
use work::{House, Working};

/// The most deliveries that one process works on at once.
const SLOTS: usize = 256;
/// How often a delivery is renewed, where the author does not say. The shortest patience that an organism's file is
/// likely to have with a listener, `idle`, is a few seconds.
const RENEW: Duration = Duration::from_secs(1);

/// A worker of one listener: where it works, and as what it shows itself.
pub struct Worker {
    pub(crate) url: String,
    pub(crate) organism: String,
    pub(crate) listener: String,
    pub(crate) key_file: Option<PathBuf>,
    slots: usize,
    renew: Duration,
    shown: Shown,
    tell: Arc<dyn Fn(&News) + Send + Sync>,
    /// What is wrong with what was said above, in the order of saying.
    wrong: Option<Unserved>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Worker")
            .field("organism", &self.organism)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker of that listener of that organism, over the broker at `url`. Of a cluster the addresses of several servers
    /// have commas between.
    #[must_use]
    pub fn new(url: &str, organism: &str, listener: &str) -> Self {
        let wrong = [("organism", organism), ("listener", listener)]
            .into_iter()
            .find(|(_, name)| !is_name(name))
            .map(|(what, name)| {
                Unserved::Told(format!(
                    "{name:?} is no name of a {what}: small letters, digits, - and, between parts, a dot"
                ))
            });
        Self {
            url: url.to_owned(),
            organism: organism.to_owned(),
            listener: listener.to_owned(),
            key_file: None,
            slots: 1,
            renew: RENEW,
            shown: Shown::default(),
            tell: Arc::new(|news| {
                // With stderr gone there is nobody to tell.
                let _gone = writeln!(std::io::stderr(), "{news}");
            }),
            wrong,
        }
    }

    /// The same from the environment: `SYSTOLE_NATS`, `SYSTOLE_ORGANISM` and `SYSTOLE_LISTENER`, and where they are set
    /// `SYSTOLE_KEY_FILE` and `SYSTOLE_SLOTS`.
    #[must_use]
    pub fn from_environment() -> Self {
        let found = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let names = ["SYSTOLE_NATS", "SYSTOLE_ORGANISM", "SYSTOLE_LISTENER"];
        let [Some(url), Some(organism), Some(listener)] = names.map(found) else {
            let missing: Vec<&str> = names.into_iter().filter(|name| found(name).is_none()).collect();
            let words = format!("not set: {}", missing.join(", "));
            return Self { wrong: Some(Unserved::Told(words)), ..Self::new("", "unset", "unset") };
        };
        let mut worker = Self::new(&url, &organism, &listener);
        if let Some(path) = found("SYSTOLE_KEY_FILE") {
            worker = worker.key_file(path);
        }
        match found("SYSTOLE_SLOTS").map(|text| (text.parse(), text)) {
            None => worker,
            Some((Ok(slots), _)) => worker.slots(slots),
            Some((Err(_), text)) => worker.but(format!("SYSTOLE_SLOTS: {text:?} is no number")),
        }
    }

    /// The file with the key of this listener, one of those that `systole permissions --nats-config` makes.
    #[must_use]
    pub fn key_file(self, path: impl Into<PathBuf>) -> Self {
        Self { key_file: Some(path.into()), ..self }
    }

    /// How many deliveries it works on at once; 1 where nothing is said, 256 at most.
    #[must_use]
    pub fn slots(self, slots: usize) -> Self {
        if (1..=SLOTS).contains(&slots) {
            Self { slots, ..self }
        } else {
            self.but(format!("slots: {slots} is not from 1 to {SLOTS}"))
        }
    }

    /// How often it says that it is alive while it works; every second where nothing is said. It has to be less than
    /// the listener's `idle`, of which the broker tells a worker nothing.
    #[must_use]
    pub fn renew_every(self, renew: Duration) -> Self {
        if renew.is_zero() {
            self.but("renew_every: 0 is no pause".to_owned())
        } else {
            Self { renew, ..self }
        }
    }

    /// The version that it shows to who looks for services: three numbers, as `1.4.0`.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.shown.version = version.to_owned();
        self
    }

    /// What it does, in a sentence, for who looks for services.
    #[must_use]
    pub fn description(mut self, words: &str) -> Self {
        self.shown.description = words.to_owned();
        self
    }

    /// Elements that it takes, for who looks for services. Which ones it is sent is said by the organism's file.
    #[must_use]
    pub fn accepts(mut self, namespace: &str, elements: &[&str]) -> Self {
        self.shown.accepts.extend(elements.iter().map(|local| QName::new(namespace, local)));
        self
    }

    /// Elements that it answers with, for who looks for services.
    #[must_use]
    pub fn returns(mut self, namespace: &str, elements: &[&str]) -> Self {
        self.shown.returns.extend(elements.iter().map(|local| QName::new(namespace, local)));
        self
    }

    /// A schema that it was written against: its namespace and its hash are shown to who looks for services.
    #[must_use]
    pub fn schema(mut self, xsd: &[u8]) -> Self {
        match self.shown.schema(xsd) {
            Ok(()) => self,
            Err(words) => self.but(words),
        }
    }

    /// Who is told what happens beside the work, in place of stderr.
    #[must_use]
    pub fn tell(self, tell: impl Fn(&News) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), ..self }
    }

    fn but(mut self, words: String) -> Self {
        self.wrong.get_or_insert(Unserved::Told(words));
        self
    }

    /// Answers every delivery with what `answer` says about it, until the process gets TERM or INT. Then it takes
    /// nothing more, finishes what it has, and ends; a second signal ends it where it stands.
    ///
    /// What `answer` says is a [`Payload`](crate::Payload), several, a [`Said`], or a `Result` of one of them and a
    /// [`Failure`](crate::stdio::Failure). It is called on a thread of its own for each slot, so it may block.
    pub fn answer_each<A: Into<Said>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> ExitCode {
        let tell = self.tell.clone();
        // A thread for each slot, and a few for the names of hosts.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(self.slots + 8)
            .enable_all()
            .build();
        let ended = match runtime {
            Ok(runtime) => {
                let ended = runtime.block_on(self.until_signalled(answer));
                // After a second signal somebody may still work; nobody waits for it.
                runtime.shutdown_background();
                ended
            }
            Err(error) => Err(Unserved::Told(format!("no threads: {error}"))),
        };
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(unserved) => {
                tell(&News::Ends(unserved));
                ExitCode::FAILURE
            }
        }
    }

    async fn until_signalled<A: Into<Said>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> Result<(), Unserved> {
        let no_signal = |error: std::io::Error| Unserved::Told(format!("no signals: {error}"));
        let mut term = signal(SignalKind::terminate()).map_err(no_signal)?;
        let mut int = signal(SignalKind::interrupt()).map_err(no_signal)?;
        let (count, mut counted) = watch::channel(0);
        let mut first = count.subscribe();
        let counting = async move {
            loop {
                tokio::select! { _ = term.recv() => {} _ = int.recv() => {} }
                count.send_modify(|signals| *signals += 1);
            }
        };
        let stop = async move {
            // Who counts lives as long as this.
            let _one = first.wait_for(|signals| *signals >= 1).await;
        };
        tokio::select! {
            ended = self.serve(answer, stop) => ended,
            _ = counted.wait_for(|signals| *signals >= 2) => Err(Unserved::Told("told twice to stop: what was begun is not answered".to_owned())),
            () = counting => Ok(()),
        }
    }

    /// The same for a program with a runtime of its own, until `stop` is ready. It returns once what was begun is
    /// answered. The function runs on the runtime's threads for blocking work.
    ///
    /// # Errors
    /// When something that was said of the worker cannot be, or the broker does not let in who has that key.
    pub async fn serve<A: Into<Said>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Unserved> {
        let answer: Arc<call::Answering> = Arc::new(Box::new(move |turn: &mut Turn<'_>| answer(turn).into()));
        self.carry(move |held| call::answers(held, answer.clone()), stop).await
    }

    /// The layer below: each delivery is given to `work` as it came, and what it says about it goes out in documents. For
    /// whoever carries deliveries further, such as to programs. There are never more futures of `work` than slots, and each
    /// delivery is renewed until its future ends.
    ///
    /// # Errors
    /// Those of [`Worker::serve`].
    pub async fn carry<F: Future<Output = ()> + Send + 'static>(
        self,
        work: impl Fn(Held) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Unserved> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        self.shown.check()?;
        let mut stop = std::pin::pin!(stop);
        let connection = tokio::select! {
            connection = connection::made(&self) => connection?,
            () = &mut stop => return Ok(()),
        };
        let (drain, draining) = watch::channel(false);
        let work: Working = Box::new(move |held| Box::pin(work(held)));
        let house =
            Arc::new(House::new(connection, &self.organism, &self.listener, self.tell, work, self.renew));
        // They end with this function, the slots before it and the rest behind it.
        let (mut slots, mut beside) = (JoinSet::new(), JoinSet::new());
        beside.spawn(house.clone().hear_cancels(house.ear(house.cancels()).await?));
        for (subject, verb) in service::questions(&house) {
            let ear = house.ear(subject).await?;
            beside.spawn(service::answers(house.clone(), self.shown.clone(), verb, ear));
        }
        for _ in 0..self.slots {
            slots.spawn(Slot::open(house.clone(), draining.clone()).await?.serve());
        }
        loop {
            tokio::select! {
                () = &mut stop, if !*drain.borrow() => { drain.send_replace(true); }
                ended = slots.join_next() => match ended {
                    None => break,
                    Some(Ok(())) => {}
                    Some(Err(error)) => return Err(Unserved::Told(format!("a slot fell: {error}"))),
                },
            }
        }
        // The last acknowledgements are on their way when the process ends; the pump needs none of them.
        let _nobody_needs_them = house.connection.client.flush().await;
        Ok(())
    }
}

/// The part of a subject that a name is.
pub(crate) fn token(name: &str) -> String {
    name.replace('.', "_")
}

fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.len() <= 63
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.split('.').all(part)
}
