//! A whole listener around one function, over a broker. Any process with the listener's key can be the listener, on
//! any machine.
//!
//! It takes one delivery for each free slot and never more. It reports that it is alive while it works, and sends its
//! reply again until the pump says that the reply is on disk. At the broker it creates nothing and only asks for its
//! next delivery. It makes no decisions. Deliveries come in; the function's replies go out.
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
mod held_delivery;
mod in_hand;
mod news;
mod service;
mod slot;
mod work;
mod worker;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::limits::{self, SLOTS};
use crate::name::QName;
use crate::reply::ReplyContent;
use crate::turn::Turn;

pub use held_delivery::{DocumentFault, GONE, HeldDelivery, UNSTARTED};
pub use news::{WorkerEvent, WorkerFault};
use slot::{WorkFunction, WorkerSlot};
use work::WorkerState;
pub use worker::Worker;
use worker::{ServiceDescription, as_token, is_name};

impl Worker {
    /// A worker of a listener of an organism, over the broker at `url`. For a cluster, `url` holds the addresses of
    /// several servers, separated by commas.
    #[must_use]
    pub fn new(url: &str, organism: &str, listener: &str) -> Self {
        let wrong = [("organism", organism), ("listener", listener)]
            .into_iter()
            .find(|(_, name)| !is_name(name))
            .map(|(what, name)| {
                WorkerFault::Told(format!(
                    "{name:?} is not the name of a {what}: small letters, digits, - and, between parts, a dot"
                ))
            });
        Self {
            url: url.to_owned(),
            organism: organism.to_owned(),
            listener: listener.to_owned(),
            key_file: None,
            slots: 1,
            renew: limits::RENEW,
            shown: ServiceDescription::default(),
            tell: Arc::new(|news| {
                // If stderr is gone, no one can read the message.
                let _gone = writeln!(std::io::stderr(), "{news}");
            }),
            wrong,
        }
    }

    /// A worker set up from the environment: `SYSTOLE_NATS`, `SYSTOLE_ORGANISM` and `SYSTOLE_LISTENER`, and if they
    /// are set, `SYSTOLE_KEY_FILE` and `SYSTOLE_SLOTS`.
    #[must_use]
    pub fn from_environment() -> Self {
        let found = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let names = ["SYSTOLE_NATS", "SYSTOLE_ORGANISM", "SYSTOLE_LISTENER"];
        let [Some(url), Some(organism), Some(listener)] = names.map(found) else {
            let missing: Vec<&str> = names.into_iter().filter(|name| found(name).is_none()).collect();
            let words = format!("not set: {}", missing.join(", "));
            return Self { wrong: Some(WorkerFault::Told(words)), ..Self::new("", "unset", "unset") };
        };
        let mut worker = Self::new(&url, &organism, &listener);
        if let Some(path) = found("SYSTOLE_KEY_FILE") {
            worker = worker.key_file(path);
        }
        match found("SYSTOLE_SLOTS").map(|text| (text.parse(), text)) {
            None => worker,
            Some((Ok(slots), _)) => worker.slots(slots),
            Some((Err(_), text)) => worker.with_error(format!("SYSTOLE_SLOTS: {text:?} is no number")),
        }
    }

    /// The file with the key of this listener. `systole permissions --nats-config` creates it.
    #[must_use]
    pub fn key_file(self, path: impl Into<PathBuf>) -> Self {
        Self { key_file: Some(path.into()), ..self }
    }

    /// How many deliveries it works on at once. The default is 1, the maximum 256.
    #[must_use]
    pub fn slots(self, slots: usize) -> Self {
        if (1..=SLOTS).contains(&slots) {
            Self { slots, ..self }
        } else {
            self.with_error(format!("slots: {slots} is not from 1 to {SLOTS}"))
        }
    }

    /// How often the worker reports that it is alive while it works; the default is every second. It has to be less
    /// than the listener's `idle`, which the broker does not tell a worker.
    #[must_use]
    pub fn renew_every(self, renew: Duration) -> Self {
        if renew.is_zero() {
            self.with_error("renew_every: 0 is no pause".to_owned())
        } else {
            Self { renew, ..self }
        }
    }

    /// The version shown to clients that look for services: three numbers, such as `1.4.0`.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        self.shown.version = version.to_owned();
        self
    }

    /// A sentence that describes the worker, for clients that look for services.
    #[must_use]
    pub fn description(mut self, words: &str) -> Self {
        self.shown.description = words.to_owned();
        self
    }

    /// Elements that the worker takes, for clients that look for services. The organism file decides which ones it is
    /// sent.
    #[must_use]
    pub fn accepts(mut self, namespace: &str, elements: &[&str]) -> Self {
        self.shown.accepts.extend(elements.iter().map(|local| QName::new(namespace, local)));
        self
    }

    /// Elements that the worker answers with, for clients that look for services.
    #[must_use]
    pub fn returns(mut self, namespace: &str, elements: &[&str]) -> Self {
        self.shown.returns.extend(elements.iter().map(|local| QName::new(namespace, local)));
        self
    }

    /// A schema that the worker was written against. Clients that look for services see its namespace and its hash.
    #[must_use]
    pub fn schema(mut self, xsd: &[u8]) -> Self {
        match self.shown.add_schema(xsd) {
            Ok(()) => self,
            Err(words) => self.with_error(words),
        }
    }

    /// Receives the news, in place of stderr.
    #[must_use]
    pub fn tell(self, tell: impl Fn(&WorkerEvent) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), ..self }
    }

    fn with_error(mut self, words: String) -> Self {
        self.wrong.get_or_insert(WorkerFault::Told(words));
        self
    }

    /// Answers every delivery with what `answer` returns, until the process gets TERM or INT. Then it takes nothing
    /// more, finishes what it has, and ends. A second signal ends it at once.
    ///
    /// `answer` returns a [`Payload`](crate::Payload), several, a [`ReplyContent`], or a `Result` of one of these and a
    /// [`Failure`](crate::stdio::Failure). Each slot calls it on a separate thread, so it may block.
    pub fn answer_each<A: Into<ReplyContent>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> ExitCode {
        let tell = self.tell.clone();
        // A thread for each slot, and a few for resolving host names.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(self.slots + 8)
            .enable_all()
            .build();
        let ended = match runtime {
            Ok(runtime) => {
                let ended = runtime.block_on(self.serve_until_signal(answer));
                // After a second signal, work may still be running. It is not waited for.
                runtime.shutdown_background();
                ended
            }
            Err(error) => Err(WorkerFault::Told(format!("no threads: {error}"))),
        };
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(unserved) => {
                let is_unfit = matches!(unserved, WorkerFault::Protocol(_));
                tell(&WorkerEvent::Ends(unserved));
                if is_unfit { ExitCode::from(limits::UNFIT) } else { ExitCode::FAILURE }
            }
        }
    }

    async fn serve_until_signal<A: Into<ReplyContent>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> Result<(), WorkerFault> {
        let no_signal = |error: std::io::Error| WorkerFault::Told(format!("no signals: {error}"));
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
            // The sender lives as long as this future.
            let _one = first.wait_for(|signals| *signals >= 1).await;
        };
        tokio::select! {
            ended = self.serve(answer, stop) => ended,
            _ = counted.wait_for(|signals| *signals >= 2) => Err(WorkerFault::Told("stopped a second time: open deliveries are not answered".to_owned())),
            () = counting => Ok(()),
        }
    }

    /// Like [`Worker::answer_each`], for a program that has a runtime, until `stop` is ready. It returns once the
    /// deliveries that it began are answered. The function runs on the runtime's threads for blocking work.
    ///
    /// # Errors
    /// If a setting of the worker is invalid, or the broker rejects the key.
    pub async fn serve<A: Into<ReplyContent>>(
        self,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), WorkerFault> {
        let answer: Arc<call::AnswerFunction> =
            Arc::new(Box::new(move |turn: &mut Turn<'_>| answer(turn).into()));
        self.carry(move |held| call::answer_delivery(held, answer.clone()), stop).await
    }

    /// The layer below: `work` gets each delivery as it came, and sends documents about it. It is for programs that
    /// pass deliveries on, such as to other programs. There are never more futures of `work` than slots, and each
    /// delivery is renewed until its future ends.
    ///
    /// # Errors
    /// Those of [`Worker::serve`].
    pub async fn carry<F: Future<Output = ()> + Send + 'static>(
        self,
        work: impl Fn(HeldDelivery) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), WorkerFault> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        self.shown.check()?;
        let mut stop = std::pin::pin!(stop);
        let connection = tokio::select! {
            connection = connection::connect(&self) => connection?,
            () = &mut stop => return Ok(()),
        };
        let (drain, draining) = watch::channel(false);
        let work: Arc<WorkFunction> = Arc::new(Box::new(move |held| Box::pin(work(held))));
        let house =
            Arc::new(WorkerState::new(connection, &self.organism, &self.listener, self.tell, self.renew));
        // All tasks end with this function: the slots before it, the others when it drops them.
        let (mut slots, mut beside) = (JoinSet::new(), JoinSet::new());
        beside.spawn(house.clone().hear_cancels(house.subscribe(house.cancels()).await?));
        for (subject, verb) in service::list_subjects(&house) {
            let ear = house.subscribe(subject).await?;
            beside.spawn(service::answer_requests(house.clone(), self.shown.clone(), verb, ear));
        }
        for _ in 0..self.slots {
            slots.spawn(WorkerSlot::open(house.clone(), Arc::clone(&work), draining.clone()).await?.serve());
        }
        let mut foreign = house.foreign.subscribe();
        let away = wait_for_absence(&house, drain.subscribe());
        tokio::pin!(away);
        loop {
            tokio::select! {
                () = &mut away => return Err(house.describe_absence()),
                Ok(()) = foreign.changed() => {
                    let words = foreign.borrow_and_update().clone().unwrap_or_default();
                    return Err(WorkerFault::Protocol(words));
                }
                () = &mut stop, if !*drain.borrow() => { drain.send_replace(true); }
                ended = slots.join_next() => match ended {
                    None => break,
                    Some(Ok(())) => {}
                    Some(Err(error)) => return Err(WorkerFault::Told(format!("a slot fell: {error}"))),
                },
            }
        }
        // The last acknowledgements may be lost when the process ends. The pump does not need them.
        let _nobody_needs_them = house.connection.client.flush().await;
        Ok(())
    }
}

/// Waits until the worker is to stop and the broker has been away for long.
async fn wait_for_absence(house: &WorkerState, mut draining: watch::Receiver<bool>) {
    if draining.wait_for(|draining| *draining).await.is_err() {
        return std::future::pending().await;
    }
    let mut since = tokio::time::Instant::now();
    while since.elapsed() < limits::AWAY {
        tokio::time::sleep(limits::RENEW).await;
        if house.connection.client.connection_state() == async_nats::connection::State::Connected {
            since = tokio::time::Instant::now();
        }
    }
}
