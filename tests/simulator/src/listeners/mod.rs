//! The listeners: what each does with a delivery, drawn from dice. The input is a delivery; the output is a
//! script, which the world runs in simulated time. A listener never sees the pump, nor another listener.
//!
//! A new behaviour is a `Thing` or an `End`, and a weight in the file of the listeners that have it.

mod buyer;
mod thinker;
mod worker;

use std::collections::HashMap;

use systole_core::types::codes::Code;
use systole_core::types::composition::GatherRule;
use systole_core::types::flow::{
    Admitted, FoundAnswer, JudgedContent, JudgedItem, PayloadKind, Refused, Verdict,
};
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::Delivery;
use systole_core::types::refusal::Refusal;
use systole_kit::Payload;
use systole_kit::ask::PumpQuestion;
use systole_kit::journal::JournalEntry;
use systole_soak::dice::SeededDice;

use crate::cast;
use crate::primitives::{self, Sent};
use crate::weather::Weather;

/// One item of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Thing {
    Note(Payload),
    Final(Payload),
    Call(Name, Payload),
    Spawn {
        label: Option<String>,
        to: Name,
        initial: Payload,
        spawn: Payload,
    },
    Refused(Payload),
    ForThread(String, Payload),
    /// A steering payload that the addressee accepts, if the thread is a child of one of its callers.
    Steers(String, Name, Payload),
    Primitive(FoundAnswer, Payload),
    /// A payload that several accept.
    ForEach(GatherRule, Vec<Name>, Payload),
}

impl Thing {
    fn item(&self) -> JudgedItem {
        let admitted = |what, payload: &Payload| {
            JudgedItem::Admitted(Admitted::new(what, Verdict::from_valid(payload.clone())))
        };
        match self {
            Thing::Note(payload) => admitted(PayloadKind::Note, payload),
            Thing::Final(payload) => admitted(PayloadKind::Final, payload),
            Thing::Call(to, payload) => admitted(PayloadKind::For(to.clone()), payload),
            Thing::Spawn { label, to, initial, spawn } => {
                let initial = initial.bytes().clone();
                let found = FoundAnswer::Child { label: label.clone(), to: to.clone(), initial };
                admitted(PayloadKind::Primitive(found), spawn)
            }
            Thing::Refused(payload) => {
                let refusal = Refusal::new(Code::Invalid, "limit: 0 is less than 1, the smallest allowed");
                JudgedItem::Refused(Refused { refusal, kept: Some(payload.bytes().clone()) })
            }
            Thing::ForThread(thread, payload) => {
                let refusal = Refusal::new(Code::NotAPeer, "no listener takes news");
                let judged = Box::new(Err(Refused { refusal, kept: None }));
                JudgedItem::ForThread { thread: thread.clone(), payload: payload.bytes().clone(), judged }
            }
            Thing::Steers(thread, to, payload) => {
                let judged =
                    Admitted::new(PayloadKind::For(to.clone()), Verdict::from_valid(payload.clone()));
                let (thread, payload) = (thread.clone(), payload.bytes().clone());
                JudgedItem::ForThread { thread, payload, judged: Box::new(Ok(judged)) }
            }
            Thing::Primitive(found, payload) => admitted(PayloadKind::Primitive(found.clone()), payload),
            Thing::ForEach(gather, takers, payload) => {
                let verdict = |to: &Name| (to.clone(), Verdict::from_valid(payload.clone()));
                let admitted = Admitted::for_each(*gather, takers.iter().map(verdict).collect());
                let refusal = || Refusal::new(Code::NotAPeer, "no listener takes it");
                let refused = || JudgedItem::Refused(Refused { refusal: refusal(), kept: None });
                admitted.map_or_else(refused, JudgedItem::Admitted)
            }
        }
    }
}

/// A message of a listener.
#[derive(Clone, Debug)]
pub(crate) enum Speech {
    Items(Vec<Thing>),
    Failure {
        retry: bool,
    },
    /// Someone is away whom it needs.
    Away {
        outage: &'static str,
        retry: bool,
    },
    Again,
    Notice,
    Progress,
    Writes(u64, JournalEntry),
    Asks(u64, PumpQuestion),
}

impl Speech {
    /// The same, as the door judges it.
    pub(crate) fn said(&self) -> JudgedContent {
        let (code, words) = ("simulated".to_owned(), "as drawn".to_owned());
        match self {
            Speech::Items(things) => JudgedContent::Items(things.iter().map(Thing::item).collect()),
            Speech::Failure { retry } => JudgedContent::new_failure(code, *retry, words),
            Speech::Away { outage, retry } => {
                JudgedContent::Away { outage: (*outage).to_owned(), code, retry: *retry, words }
            }
            Speech::Again => JudgedContent::Again { code, words },
            Speech::Notice => JudgedContent::Notice { code, words },
            Speech::Progress => JudgedContent::Progress { part: None, words },
            Speech::Writes(id, entry) => JudgedContent::Journal { id: *id, entry: Ok(entry.clone()) },
            Speech::Asks(id, question) => JudgedContent::Ask { id: *id, question: Ok(question.clone()) },
        }
    }

    /// Whether it ends its delivery.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Speech::Items(_) | Speech::Failure { .. } | Speech::Away { .. } | Speech::Again)
    }

    /// Whether its attempt failed so that another one may follow.
    pub(crate) fn fails_openly(&self) -> bool {
        matches!(self, Speech::Failure { retry: true } | Speech::Away { .. })
    }
}

/// How a delivery ends.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It replies.
    Speaks(Speech),
    /// It ends without a reply, with the code that the carrier reports.
    Dies(Code),
    /// It does not end until it is called back.
    Hangs,
}

/// What a listener does with a delivery.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// Notices, signs of life, journal entries and questions during the work, each with the time since the
    /// delivery.
    pub(crate) signs: Vec<(u64, Speech)>,
    /// The time of the end since the delivery.
    pub(crate) after_ms: u64,
    pub(crate) end: End,
}

/// The state of a listener in a call.
#[derive(Default)]
struct Conversation {
    token: String,
    children: Vec<String>,
}

/// How the thinking listeners behave in this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Temper {
    /// As drawn, turn by turn.
    Changing,
    /// They ask one another down to the greatest depth.
    Deep,
    /// They spawn as many children as one reply may hold.
    Wide,
}

/// All listeners, with their memory.
pub(crate) struct Troupe {
    temper: Temper,
    /// Whether the thinking listeners also broadcast, clear their views and recall from them.
    is_wide: bool,
    conversations: HashMap<(ThreadId, CallPath), Conversation>,
    deliveries: u64,
    numbers: u64,
}

/// Deliveries after which every listener answers as briefly as it can: a run has to end.
const LONG_ENOUGH: u64 = 250;
/// Depth of calls and threads below which no listener asks another.
const DEEP_ENOUGH: usize = 3;

/// The choices of a listener.
struct Cue<'a> {
    delivery: &'a Delivery,
    token: &'a str,
    children: &'a [String],
    /// Fired timers in the delivery.
    fired: Vec<String>,
    temper: Temper,
    is_wide: bool,
    /// Whether it should end soon.
    is_brief: bool,
    /// Whether it may ask others.
    may_ask: bool,
    numbers: &'a mut u64,
}

impl Cue<'_> {
    fn number(&mut self) -> u64 {
        *self.numbers += 1;
        *self.numbers
    }

    fn payload(&mut self, local: &'static str) -> Option<Payload> {
        let number = self.number();
        cast::payload(local, self.token, number)
    }

    fn note(&mut self) -> Option<Thing> {
        self.payload("thought").map(Thing::Note)
    }

    fn answer(&mut self) -> Option<Thing> {
        self.payload("done").map(Thing::Final)
    }

    fn refused(&mut self) -> Option<Thing> {
        self.payload("wrong").map(Thing::Refused)
    }

    fn call(&mut self, to: &str) -> Option<Thing> {
        let (to, number) = (cast::name(to), self.number());
        let payload = cast::request(&to, self.token, number)?;
        Some(Thing::Call(to, payload))
    }

    fn spawn(&mut self, label: Option<&str>, to: &str) -> Option<Thing> {
        let (to, number) = (cast::name(to), self.number());
        let initial = cast::request(&to, self.token, number)?;
        let spawn = cast::spawn(label, &initial)?;
        Some(Thing::Spawn { label: label.map(str::to_owned), to, initial, spawn })
    }

    fn primitive(sent: Sent) -> Option<Thing> {
        sent.map(|(found, payload)| Thing::Primitive(found, payload))
    }

    /// A steering payload for a child, which the child's listener may or may not accept.
    fn steers(&mut self, child: String, to: &str) -> Option<Thing> {
        let (to, number) = (cast::name(to), self.number());
        let word = cast::request(&to, self.token, number)?;
        Some(Thing::Steers(child, to, word))
    }

    /// A payload for all of them, with all answers or the first that is not a failure.
    fn spreads(&mut self, gather: GatherRule, takers: &[&str]) -> Option<Thing> {
        let payload = self.payload("spread")?;
        Some(Thing::ForEach(gather, takers.iter().map(|to| cast::name(to)).collect(), payload))
    }

    fn sets_timer(&mut self, dice: &mut SeededDice) -> Option<Thing> {
        let id = dice.one_of(&[None, Some("tick"), Some("tock")])?;
        let (after_ms, repeats) = (dice.between(1_000, 20_000), dice.percent(20));
        Cue::primitive(primitives::timer(*id, after_ms, repeats, self.token))
    }

    fn ends_timer(&mut self, dice: &mut SeededDice) -> Option<Thing> {
        let id = dice.one_of(&["tick", "tock", "t1", "t2"])?;
        Cue::primitive(primitives::no_timer(id))
    }

    fn for_thread(&mut self, thread: String) -> Option<Thing> {
        let payload = self.payload("news")?;
        Some(Thing::ForThread(thread, payload))
    }
}

impl Troupe {
    pub(crate) fn new(dice: &mut SeededDice, is_wide: bool) -> Troupe {
        let temper = match dice.below(50) {
            0 => Temper::Deep,
            1 => Temper::Wide,
            _ => Temper::Changing,
        };
        Troupe { temper, is_wide, conversations: HashMap::new(), deliveries: 0, numbers: 0 }
    }

    /// A number that no payload has yet.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// What the addressee does with a delivery.
    pub(crate) fn plays(&mut self, delivery: &Delivery, weather: &Weather, dice: &mut SeededDice) -> Script {
        self.deliveries += 1;
        let lease = &delivery.lease;
        // The watch reports a delivery without a payload.
        let shown = delivery.envelope().ok();
        let body = shown.as_ref().map_or(&[][..], |shown| shown.payload.bytes());
        let place = (lease.id.thread.clone(), lease.id.call.clone());
        let conversation = self.conversations.entry(place).or_default();
        if let Some(token) = cast::tokens(body).next() {
            token.clone_into(&mut conversation.token);
        }
        conversation.children.extend(cast::children(body).map(str::to_owned));
        let is_brief = weather.is_calm() || self.deliveries > LONG_ENOUGH;
        let deepest = if self.temper == Temper::Deep { usize::MAX } else { DEEP_ENOUGH };
        let mut cue = Cue {
            delivery,
            temper: self.temper,
            is_wide: self.is_wide,
            token: &conversation.token,
            children: &conversation.children,
            fired: cast::fired(body).map(str::to_owned).collect(),
            is_brief,
            may_ask: !is_brief && lease.id.thread.depth() + lease.id.call.depth() < deepest,
            numbers: &mut self.numbers,
        };
        let end = if !is_brief && dice.permille(weather.unruly) {
            unruly(&mut cue, dice)
        } else if lease.listener.as_str() == cast::AGENT {
            thinker::thinks(&mut cue, dice)
        } else {
            worker::works(&mut cue, dice)
        };
        let after_ms = dice.delay_ms(300);
        let mut signs = signs(is_brief, after_ms, dice);
        if !is_brief && dice.permille(200) {
            signs.extend(buyer::writes(after_ms, dice));
        }
        Script { signs, after_ms, end }
    }
}

/// Everything that a listener may do against the rules.
fn unruly(cue: &mut Cue<'_>, dice: &mut SeededDice) -> End {
    match dice.weighed(&[3, 3, 3, 3, 2, 1]) {
        0 => End::Speaks(Speech::Failure { retry: false }),
        1 => End::Speaks(Speech::Failure { retry: true }),
        2 => End::Dies(Code::ListenerLost),
        3 => End::Hangs,
        4 => End::Dies(Code::ListenerFailed),
        _ if cue.delivery.lease.listener.as_str() == cast::QUIET => End::Dies(Code::ListenerDown),
        _ => End::Speaks(Speech::Items(Vec::new())),
    }
}

fn signs(is_brief: bool, until_ms: u64, dice: &mut SeededDice) -> Vec<(u64, Speech)> {
    if is_brief || !dice.permille(150) {
        return Vec::new();
    }
    // Sometimes more notices than a turn may store.
    let count = if dice.permille(20) { 70 } else { dice.between(1, 3) };
    let mut sign = || if dice.permille(600) { Speech::Notice } else { Speech::Progress };
    let signs: Vec<Speech> = (0..count).map(|_| sign()).collect();
    signs.into_iter().map(|sign| (dice.below(until_ms + 1), sign)).collect()
}
