//! The clients: what they send, how often they repeat it, and the history that each writes of the
//! answers. They share only the messages with the pump; the checker compares their histories with the
//! log.

use std::collections::{BTreeMap, HashMap};

use systole_checker::history::{self, ClientHistory, SeenAnswer, SentMessage};
use systole_checker::record::{RecordHash, RecordId};
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::{ClientOrder, PauseOrder, RetryOrder};
use systole_core::types::codes::Code;
use systole_core::types::flow::{Admitted, DoorMessage, PayloadKind, Refused, Ticket, Verdict};
use systole_core::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_core::types::thread_choice::{ThreadChoice, ThreadName};
use systole_kit::Payload;
use systole_soak::dice::SeededDice;

use crate::{cast, primitives};

/// A message of a client, under one key.
struct Message {
    key: Key,
    thread: ThreadChoice,
    to: Name,
    payload: Payload,
    /// The steering payload for the call at work, if it opens no call.
    word: Option<Payload>,
    token: String,
    /// Whether the door refuses it, like a payload that no schema accepts.
    is_wrong: bool,
    /// Its place, once that is known.
    place: Option<(ThreadId, CallPath)>,
    /// Whether nothing more is expected: a receipt came, or a definite refusal.
    is_settled: bool,
}

struct Client {
    name: Name,
    messages: Vec<Message>,
    sent: Vec<SentMessage>,
    acts_left: u64,
}

/// One copy of a message in transit, which the answer refers to.
enum Letter {
    Message { client: usize, message: usize, line: usize, payload: Payload },
    Order { client: usize, order: Order },
}

/// What a client may order.
#[derive(Clone)]
pub(crate) enum Order {
    /// Ends a thread, with everything open in it.
    Cancel(ThreadId),
    /// Ends one top call of a thread.
    Stop { thread: ThreadId, call: u32 },
    /// Ends a root at rest.
    End(ThreadId),
    /// Tries a thread again, whether or not it failed.
    Retry { thread: ThreadId, allows_effects: bool },
    /// Pauses or resumes a thread, or everything.
    Pause { thread: Option<ThreadId>, halts: bool },
    /// A person's decision on a waiting request.
    Rule { request: PersonRequestId, hash: Option<Digest>, says: PersonDecision<Payload> },
}

/// The part of the log that a client sees before it acts.
pub(crate) struct Sight<'a> {
    /// Every thread.
    pub(crate) threads: &'a [ThreadId],
    /// The requests that wait for a person.
    pub(crate) waiting: &'a [Waits],
}

/// A request that waits for a person.
pub(crate) struct Waits {
    pub(crate) id: PersonRequestId,
    /// The hash of its bytes.
    pub(crate) hash: Digest,
    /// The token of its conversation.
    pub(crate) token: String,
    /// The choices, if it is a question.
    pub(crate) choices: Option<Vec<String>>,
}

/// The pump's answer to a letter.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Receipt(systole_core::types::flow::Receipt, Position),
    Refused(Code),
    Done,
}

/// All clients.
pub(crate) struct Crowd {
    clients: Vec<Client>,
    /// Whether all clients send to one root at once.
    is_flood: bool,
    letters: BTreeMap<u64, Letter>,
    tickets: u64,
    /// The message that opened each top call, if its receipt arrived.
    placed: HashMap<(ThreadId, CallPath), (usize, usize)>,
}

/// One of the orders that end something of a thread.
fn draw_end(thread: ThreadId, dice: &mut SeededDice) -> Option<Order> {
    Some(match dice.weighed(&[30, 50, 40]) {
        0 => Order::End(thread),
        1 => Order::Cancel(thread),
        _ => Order::Stop { thread, call: u32::try_from(dice.between(1, 3)).ok()? },
    })
}

/// A message that may have to be sent again.
pub(crate) type Pending = (usize, usize);

/// How likely each act of a client is, by its number.
fn weigh_acts(rooted: u64, repeats: u64, known: u64, rules: u64) -> [u64; 12] {
    [30, rooted, repeats, repeats / 2, known * 8, known * 4, 3, 3, known * 20, known * 8, rules, known * 8]
}

impl Crowd {
    pub(crate) fn new(dice: &mut SeededDice) -> Crowd {
        let is_flood = dice.below(50) == 0;
        let clients = ["alice", "bob", "operator"].iter().map(|name| Client {
            name: cast::name(name),
            messages: Vec::new(),
            sent: Vec::new(),
            acts_left: if is_flood { 20 } else { dice.between(1, 8) },
        });
        let clients = clients.collect();
        Crowd { clients, is_flood, letters: BTreeMap::new(), tickets: 0, placed: HashMap::new() }
    }

    /// The clients, by number.
    pub(crate) fn everybody(&self) -> std::ops::Range<usize> {
        0..self.clients.len()
    }

    /// A client acts: returns what it sends, and the message that it may have to send again. None once
    /// it has done everything.
    pub(crate) fn acts(
        &mut self,
        client: usize,
        number: u64,
        Sight { threads, waiting }: Sight<'_>,
        dice: &mut SeededDice,
    ) -> Option<(Ticket, Option<Pending>)> {
        let (flooded, of) = (self.is_flood.then(|| threads.first()).flatten(), self.clients.get_mut(client)?);
        of.acts_left = of.acts_left.checked_sub(1)?;
        let repeats = if of.messages.is_empty() { 0 } else { 15 };
        let rooted = if of.messages.iter().any(|m| m.place.is_some()) { 25 } else { 0 };
        let known = if threads.is_empty() { 0 } else { 1 };
        let pick = dice.below(of.messages.len() as u64);
        let old = usize::try_from(pick).unwrap_or(0);
        if let Some(root) = flooded.map(ThreadId::root_of) {
            let message = of.new_message(number, Some(root), dice)?;
            return Some((self.sends(client, message)?, Some((client, message))));
        }
        let rules = if waiting.is_empty() { 0 } else { 40 };
        let weights = weigh_acts(rooted, repeats, known, rules);
        let message = match dice.weighed(&weights) {
            0 => of.new_message(number, None, dice)?,
            1 => {
                let roots: Vec<ThreadId> =
                    of.messages.iter().filter_map(|m| m.place.as_ref().map(|(t, _)| t.clone())).collect();
                of.new_message(number, dice.one_of(&roots).cloned(), dice)?
            }
            2 => return Some((self.sends(client, old)?, None)),
            3 => return Some((self.conflicts(client, old, number)?, None)),
            4 => {
                let order = draw_end(dice.one_of(threads)?.clone(), dice)?;
                return Some((self.orders(client, order), None));
            }
            // Any thread: a child, another client's, an ended one.
            5 => of.new_message(number, dice.one_of(threads).cloned(), dice)?,
            6 => of.new_message(number, ThreadId::parse("sess-0123456789ab").ok(), dice)?,
            8 => {
                let message = of.new_message(number, dice.one_of(threads).map(ThreadId::root_of), dice)?;
                of.messages.get_mut(message)?.becomes_word(number)?;
                message
            }
            9 => {
                let (anyone, halts) = (dice.percent(75), dice.percent(60));
                let thread = if anyone { dice.one_of(threads).cloned() } else { None };
                return Some((self.orders(client, Order::Pause { thread, halts }), None));
            }
            11 => {
                let (thread, allows_effects) = (dice.one_of(threads)?.root_of(), dice.percent(50));
                return Some((self.orders(client, Order::Retry { thread, allows_effects }), None));
            }
            10 => {
                let Waits { id, hash, token, choices } = dice.one_of(waiting)?;
                let other = cast::request(&cast::name(cast::WARDED), token, number)?;
                let chosen = choices.as_ref().and_then(|choices| dice.one_of(choices).cloned());
                // An answer of the other kind, or an answer that is not a choice, has no effect.
                let questions = if choices.is_some() { 20 } else { 1 };
                let says = match dice.weighed(&[4, 2, 2, questions]) {
                    0 => PersonDecision::Approve,
                    1 => PersonDecision::Reject,
                    2 => PersonDecision::Amend(other),
                    _ if dice.percent(60) => PersonDecision::Choose(Some("perhaps".to_owned())),
                    _ => PersonDecision::Choose(chosen),
                };
                let hash = match dice.below(3) {
                    0 => Some(*hash),
                    1 if dice.percent(20) => Some(Digest([0; 32])),
                    _ => None,
                };
                return Some((self.orders(client, Order::Rule { request: *id, hash, says }), None));
            }
            _ => {
                let wrong = of.new_message(number, dice.one_of(threads).cloned(), dice)?;
                of.messages.get_mut(wrong)?.is_wrong = true;
                wrong
            }
        };
        Some((self.sends(client, message)?, Some((client, message))))
    }

    /// The usual pause between two actions of a client.
    pub(crate) fn pause_ms(&self) -> u64 {
        if self.is_flood { 50 } else { 1_500 }
    }

    /// From now on no client begins anything new.
    pub(crate) fn settle_down(&mut self) {
        self.clients.iter_mut().for_each(|client| client.acts_left = 0);
    }

    /// The messages without a definite answer.
    pub(crate) fn unsettled(&self) -> Vec<Pending> {
        let all = self.clients.iter().enumerate();
        let open = all.flat_map(|(client, of)| {
            let open = of.messages.iter().enumerate().filter(|(_, m)| !m.is_settled);
            open.map(move |(message, _)| (client, message))
        });
        open.collect()
    }

    /// Whether a message waits for a definite answer.
    pub(crate) fn is_unsettled(&self, (client, message): Pending) -> bool {
        self.clients.get(client).and_then(|c| c.messages.get(message)).is_some_and(|m| !m.is_settled)
    }

    /// Sends a message, or sends it again.
    pub(crate) fn sends(&mut self, client: usize, message: usize) -> Option<Ticket> {
        let payload = self.clients.get(client)?.messages.get(message)?.payload.clone();
        self.sends_as(client, message, payload)
    }

    /// Sends other bytes under the key of a message.
    fn conflicts(&mut self, client: usize, message: usize, number: u64) -> Option<Ticket> {
        let old = self.clients.get(client)?.messages.get(message)?;
        let payload = cast::request(&old.to, &old.token, number)?;
        self.sends_as(client, message, payload)
    }

    fn sends_as(&mut self, client: usize, message: usize, payload: Payload) -> Option<Ticket> {
        let of = self.clients.get_mut(client)?;
        let sent = of.messages.get(message)?;
        of.sent.push(SentMessage {
            client: of.name.to_string(),
            key: sent.key.to_string(),
            // For a steering message the client knows only the inner payload; the pump writes the rest.
            sha256: hash(sent.word.as_ref().filter(|_| sent.payload == payload).unwrap_or(&payload)),
            acked: None,
            refused: None,
            answer: None,
            token: Some(sent.token.clone()),
        });
        let line = of.sent.len() - 1;
        Some(self.letter(Letter::Message { client, message, line, payload }))
    }

    /// A client sends an order.
    pub(crate) fn orders(&mut self, client: usize, order: Order) -> Ticket {
        self.letter(Letter::Order { client, order })
    }

    fn letter(&mut self, letter: Letter) -> Ticket {
        self.tickets += 1;
        self.letters.insert(self.tickets, letter);
        Ticket(self.tickets)
    }

    /// The input that a letter gives to the pump.
    pub(crate) fn opened(&self, ticket: Ticket) -> Option<PumpInput> {
        Some(match self.letters.get(&ticket.0)? {
            Letter::Order { client, order } => order.input(ticket, self.clients.get(*client)?.name.clone()),
            Letter::Message { client, message: nth, payload, .. } => {
                let of = self.clients.get(*client)?;
                let message = of.messages.get(*nth)?;
                let payload = if message.is_wrong {
                    let refusal = Refusal::new(Code::Invalid, "no such value");
                    Err(Refused { refusal, kept: Some(payload.bytes().clone()) })
                } else if let Some(word) = message.word.as_ref().filter(|_| message.payload == *payload) {
                    let (inside, outside) =
                        (Verdict::from_valid(word.clone()), Verdict::from_valid(payload.clone()));
                    Ok(Admitted::new_steer(message.to.clone(), inside, outside))
                } else {
                    Ok(Admitted::new(
                        PayloadKind::For(message.to.clone()),
                        Verdict::from_valid(payload.clone()),
                    ))
                };
                let (client, key) = (of.name.clone(), message.key.clone());
                PumpInput::Asked(DoorMessage {
                    ticket,
                    client,
                    key,
                    thread: message.thread.clone(),
                    payload,
                    claimed: None,
                    subject: if nth % 4 == 3 { Subject::parse("every fourth message").ok() } else { None },
                })
            }
        })
    }

    /// The sender of a letter.
    pub(crate) fn client_of(&self, ticket: Ticket) -> Option<&Name> {
        let (Letter::Order { client, .. } | Letter::Message { client, .. }) = self.letters.get(&ticket.0)?;
        self.clients.get(*client).map(|client| &client.name)
    }

    /// The thread that a letter names.
    pub(crate) fn thread_of(&self, ticket: Ticket) -> Option<&ThreadId> {
        match self.letters.get(&ticket.0)? {
            Letter::Order { order, .. } => order.thread(),
            Letter::Message { client, message, .. } => {
                match &self.clients.get(*client)?.messages.get(*message)?.thread {
                    ThreadChoice::Known(thread) => Some(thread),
                    ThreadChoice::New | ThreadChoice::Named(_) => None,
                }
            }
        }
    }

    /// The thread that a letter ends.
    pub(crate) fn ends(&self, ticket: Ticket) -> Option<&ThreadId> {
        match self.letters.get(&ticket.0)? {
            Letter::Order { order: Order::Cancel(thread) | Order::End(thread), .. } => Some(thread),
            _ => None,
        }
    }

    /// A client reads the answer to a letter, and writes it down.
    pub(crate) fn hears(&mut self, ticket: Ticket, word: &Word) {
        let Some(Letter::Message { client, message, line, payload }) = self.letters.get(&ticket.0) else {
            return;
        };
        let (number, at) = (*client, *message);
        let Some(client) = self.clients.get_mut(number) else { return };
        let Some(message) = client.messages.get_mut(at) else { return };
        let Some(line) = client.sent.get_mut(*line) else { return };
        match word {
            Word::Receipt(receipt, position) => {
                line.acked = Some(history::HistoryReceipt {
                    thread: receipt.thread.to_string(),
                    seq: receipt.seq,
                    id: RecordId(receipt.id.0),
                    position: position.0,
                });
                let place = (receipt.thread.clone(), receipt.call.clone());
                // If the bytes of a conflict came first, they own the key.
                message.is_settled |= message.payload == *payload;
                // A steering message opened nothing, so it has no answer.
                if message.word.is_none() || message.payload != *payload {
                    message.place = Some(place.clone());
                    self.placed.insert(place, (number, at));
                }
            }
            Word::Refused(code) => {
                line.refused = Some(code.as_str().to_owned());
                message.is_settled |= *code != Code::IngressUnavailable && message.payload == *payload;
            }
            Word::Done => {}
        }
    }

    /// A client that waits for the outcome of its call sees it.
    pub(crate) fn sees(&mut self, place: &(ThreadId, CallPath), seq: u64, body: &[u8]) {
        let Some((client, message)) = self.placed.get(place) else { return };
        let Some(client) = self.clients.get_mut(*client) else { return };
        let Some(key) = client.messages.get(*message).map(|m| m.key.as_str()) else { return };
        let mut lines = client.sent.iter_mut().filter(|line| line.key == key && line.acked.is_some());
        if let Some(line) = lines.next() {
            line.answer = Some(SeenAnswer { seq, sha256: RecordHash(Digest::hash_bytes(body).0) });
        }
    }

    /// The histories that the clients wrote.
    pub(crate) fn histories(&self) -> Vec<ClientHistory> {
        self.clients.iter().map(|client| ClientHistory { sent: client.sent.clone() }).collect()
    }
}

impl Client {
    /// Makes a new message.
    fn new_message(&mut self, number: u64, thread: Option<ThreadId>, dice: &mut SeededDice) -> Option<usize> {
        let to = [
            [cast::AGENT, cast::AGENT, cast::AGENT, cast::AGENT],
            [cast::TOOL, cast::OTHER, cast::QUIET, cast::CAREFUL],
            [cast::AGENT, cast::AGENT, cast::WARDED, cast::TOOL],
        ];
        let to = to.concat();
        let to = cast::name(dice.one_of(&to)?);
        let token = cast::token(number);
        let payload = cast::request(&to, &token, number)?;
        let key = Key::parse(&format!("k{number}")).ok()?;
        let (thread, key) = match thread {
            Some(thread) => (ThreadChoice::Known(thread), key),
            None if dice.percent(25) => {
                let name = ThreadName::parse(dice.one_of(&["east", "west"])?).ok()?;
                let key = name.bind_key(&key).ok()?;
                (ThreadChoice::Named(name), key)
            }
            None => (ThreadChoice::New, key),
        };
        let (is_wrong, place, is_settled) = (false, None, false);
        let word = None;
        self.messages.push(Message { key, thread, to, payload, word, token, is_wrong, place, is_settled });
        Some(self.messages.len() - 1)
    }
}

impl Message {
    /// Makes it a message that joins the work in its thread.
    fn becomes_word(&mut self, number: u64) -> Option<()> {
        let word = cast::word(&self.to, number)?;
        self.payload = primitives::steer(&word)?;
        self.word = Some(word);
        Some(())
    }
}

impl Order {
    fn thread(&self) -> Option<&ThreadId> {
        match self {
            Order::Cancel(thread) | Order::End(thread) => Some(thread),
            Order::Retry { thread, .. } | Order::Stop { thread, .. } => Some(thread),
            Order::Pause { thread, .. } => thread.as_ref(),
            Order::Rule { .. } => None,
        }
    }

    /// The order, as the door passes it on.
    fn input(&self, ticket: Ticket, by: Name) -> PumpInput {
        PumpInput::Ordered(match self {
            Order::Cancel(thread) => ClientOrder::Cancel { ticket, by, thread: thread.clone() },
            Order::Stop { thread, call } => {
                ClientOrder::StopRun { ticket, by, thread: thread.clone(), call: *call }
            }
            Order::End(thread) => ClientOrder::End { ticket, by, thread: thread.clone() },
            Order::Retry { thread, allows_effects } => ClientOrder::Retry(RetryOrder {
                ticket,
                by,
                thread: thread.clone(),
                seen: None,
                note: None,
                effects: Vec::new(),
                allows_effects: *allows_effects,
                steps: None,
            }),
            Order::Pause { thread, halts } => ClientOrder::Pause(PauseOrder {
                ticket,
                by,
                thread: thread.clone(),
                halts: *halts,
                note: None,
            }),
            Order::Rule { request, hash, says } => {
                let warded = || PayloadKind::For(cast::name(cast::WARDED));
                let says = match says {
                    PersonDecision::Approve => PersonDecision::Approve,
                    PersonDecision::Reject => PersonDecision::Reject,
                    PersonDecision::Choose(choice) => PersonDecision::Choose(choice.clone()),
                    PersonDecision::Amend(payload) => PersonDecision::Amend(Box::new(Ok(Admitted::new(
                        warded(),
                        Verdict::from_valid(payload.clone()),
                    )))),
                };
                let note = Some("as drawn".to_owned());
                ClientOrder::Ruled(Ruling { ticket, by, request: *request, hash: *hash, note, says })
            }
        })
    }
}

fn hash(payload: &Payload) -> RecordHash {
    RecordHash(Digest::hash_bytes(payload.bytes()).0)
}
