//! A decision while it is being written. Each fact is sealed and folded into its thread at once, so that each
//! later step of the decision sees what the earlier steps did. Of a thread as it was before, only what the
//! effects are compared with is kept.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use super::buckets::{RefusalCost, ReportBuckets};
use super::event::{Decision, Effect};
use super::replies::RecentReplies;
use super::state::{BudgetUse, Call, CompositionBook, PumpState, Thread};
use super::thread_before::ThreadBefore;
use super::wall::{RunningBudget, RunningBudgets};
use crate::types::body_parts::{BodyHole, BodyParts, PartSeal, in_order};
use crate::types::client;
use crate::types::composition::{Composition, Listener};
use crate::types::fast_maps::FastMap;
use crate::types::flow::SensitivePayload;
use crate::types::ids::{AttemptId, CallPath, Digest, Key, MessageId, Name, ThreadId};
use crate::types::person::PersonRequestId;
use crate::types::ports::{Lease, Seed, StoredDocument};
use crate::types::record::{Header, MessageRole, Record, RecordCode, RecordKind};
use crate::types::time::Millis;

/// A fact before it has its place, id and hashes.
pub(super) struct RecordFact {
    pub(super) kind: RecordKind,
    pub(super) code: Option<RecordCode>,
    pub(super) from: Name,
    pub(super) to: Option<Name>,
    pub(super) call: Option<CallPath>,
    pub(super) turn: Option<u32>,
    pub(super) ordinal: Option<u32>,
    pub(super) cause: Option<MessageId>,
    pub(super) key: Option<Key>,
    pub(super) origin: Option<Digest>,
    pub(super) config: Digest,
    pub(super) body: Arc<[u8]>,
}

impl RecordFact {
    /// A fact of the core, with only kind, mark and body.
    pub(super) fn from_core(kind: RecordKind, code: RecordCode, body: Arc<[u8]>) -> RecordFact {
        RecordFact {
            kind,
            code: Some(code),
            from: Name::new_core(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            config: Digest([0; 32]),
            body,
        }
    }

    pub(super) fn with_addressee(mut self, to: &Name) -> RecordFact {
        self.to = Some(to.clone());
        self
    }

    pub(super) fn with_call(mut self, call: &CallPath) -> RecordFact {
        self.call = Some(call.clone());
        self
    }

    pub(super) fn with_turn(mut self, turn: u32, ordinal: u32) -> RecordFact {
        (self.turn, self.ordinal) = (Some(turn), Some(ordinal));
        self
    }

    pub(super) fn with_cause(mut self, cause: MessageId) -> RecordFact {
        self.cause = Some(cause);
        self
    }

    pub(super) fn with_config(mut self, config: Digest) -> RecordFact {
        self.config = config;
        self
    }
}

/// A decision being written.
pub(super) struct DecisionBuilder<'a> {
    pub(super) threads: &'a mut FastMap<ThreadId, Thread>,
    pub(super) book: &'a CompositionBook,
    buckets: &'a ReportBuckets,
    running: &'a RunningBudgets,
    replies: &'a RecentReplies,
    pub(super) at: Millis,
    tick: Millis,
    seed: Seed,
    /// Folds a record into its thread. The fold knows the payloads that the pump answers, and they know decisions;
    /// so a decision gets the fold from outside.
    apply: fn(&mut Thread, &Record),
    /// The threads with a fact of this decision, each as it was before.
    pub(super) before: SmallVec<[ThreadBefore; 1]>,
    pub(super) touched: SmallVec<[(ThreadId, CallPath); 4]>,
    pub(super) out: Decision,
    /// The judged payloads of the event that have sensitive values.
    pub(super) sensitive: Vec<SensitivePayload>,
}

impl<'a> DecisionBuilder<'a> {
    pub(super) fn new(
        state: &'a mut PumpState,
        (at, tick): (Millis, Millis),
        seed: Seed,
        apply: fn(&mut Thread, &Record),
    ) -> DecisionBuilder<'a> {
        let PumpState { threads, book, buckets, running, replies } = state;
        let (before, touched, out) = (SmallVec::new(), SmallVec::new(), Decision::default());
        DecisionBuilder {
            threads,
            book,
            buckets,
            running,
            replies,
            at,
            tick,
            seed,
            apply,
            before,
            touched,
            out,
            sensitive: Vec::new(),
        }
    }

    /// When this happens.
    pub(super) fn at(&self) -> Millis {
        self.at
    }

    /// The same moment on the monotonic clock.
    pub(super) fn tick(&self) -> Millis {
        self.tick
    }

    /// The running time budgets, as far as ticks measure them.
    pub(super) fn running(&self) -> &'a RunningBudgets {
        self.running
    }

    /// The time-limited messages from outside that this decision concerns so far. A pause of
    /// everything concerns all of them.
    pub(super) fn limited_roots(&self) -> Vec<RunningBudget> {
        if !self.book.limits_time() {
            return Vec::new();
        }
        let sys = ThreadId::new_sys();
        let is_paused = self.find_thread(&sys).is_some_and(|sys| sys.paused.is_some());
        let concerns_all =
            self.before.iter().any(|thread| thread.id == sys && thread.was_paused != is_paused);
        let mut roots: Vec<ThreadId> = match concerns_all {
            true => self.threads.keys().map(ThreadId::root_of).collect(),
            false => self.before.iter().map(|thread| thread.id.root_of()).collect(),
        };
        roots.sort_unstable();
        roots.dedup();
        let is_limited = |budget_use: &BudgetUse| {
            self.find_composition(budget_use.config).is_some_and(Composition::limits_time)
        };
        let roots = roots.iter().filter_map(|id| self.find_thread(id));
        let limited = roots
            .flat_map(|t| t.budget_uses.iter().map(move |(number, budget_use)| (t, *number, budget_use)));
        let limited = limited.filter(|(_, _, budget_use)| is_limited(budget_use));
        limited.map(|(t, budget_use, _)| RunningBudget { thread: t.id.clone(), budget_use }).collect()
    }

    /// A thread as this decision has left it so far.
    pub(super) fn find_thread(&self, id: &ThreadId) -> Option<&Thread> {
        self.threads.get(id)
    }

    /// An open call as this decision has left it so far.
    pub(super) fn find_call(&self, thread: &ThreadId, call: &CallPath) -> Option<&Call> {
        self.find_thread(thread)?.calls.get(call).map(|call| &**call)
    }

    /// The call of that attempt, if that attempt is due.
    pub(super) fn due_call(&self, id: &AttemptId) -> Option<&Call> {
        self.find_call(&id.thread, &id.call).filter(|call| call.is_due(id.turn, id.attempt))
    }

    /// The place of that request to a person. Every open call is in memory.
    pub(super) fn find_asking(&self, id: PersonRequestId) -> Option<(ThreadId, CallPath)> {
        self.threads.values().find_map(|thread| {
            let (place, _) = thread.person_requests().find(|(_, request)| request.id() == id)?;
            Some((thread.id.clone(), place))
        })
    }

    /// A listener in the configuration with that hash. It borrows from the book, so that facts can be added
    /// while the caller holds it.
    pub(super) fn find_listener(&self, config: Digest, name: &Name) -> Option<&'a Listener> {
        self.book.find_listener(config, name)
    }

    /// The configuration with that hash.
    pub(super) fn find_composition(&self, config: Digest) -> Option<&'a Composition> {
        self.book.find_composition(config).map(|page| &**page)
    }

    /// Whether a client has a role in the current configuration.
    pub(super) fn has_role(&self, client: &Name, role: client::Role) -> bool {
        self.book.current().is_some_and(|page| page.has_role(client, role))
    }

    /// The hash of the configuration that the next top call uses.
    pub(super) fn current_config(&self) -> Digest {
        self.book.current().map_or(Digest([0; 32]), |c| c.hash)
    }

    /// Seals a fact at the end of a thread's chain and folds it in.
    pub(super) fn add_record(&mut self, thread: &ThreadId, fact: RecordFact) -> (u64, MessageId) {
        let at = self.at;
        let (random, salt) = self.draw_random();
        let parts = self.seal_parts(&fact.body, salt);
        let folded = self.threads.entry(thread.clone()).or_insert_with(|| Thread::new_blank(thread.clone()));
        // The thread of the last fact is most often that of the next.
        if !self.before.iter().rev().any(|before| before.id == *thread) {
            self.before.push(ThreadBefore::from_thread(folded));
        }
        let (seq, id) = (folded.seq + 1, MessageId::new(at.0, &random));
        let header = Header {
            thread: thread.clone(),
            seq,
            id,
            kind: fact.kind,
            from: fact.from,
            to: fact.to,
            call: fact.call,
            turn: fact.turn,
            ordinal: fact.ordinal,
            cause: fact.cause,
            key: fact.key,
            origin: fact.origin,
            time: at,
            config: fact.config,
            code: fact.code,
        };
        let record = header.seal_record(fact.body, parts, folded.head);
        (self.apply)(folded, &record);
        self.touch_thread(&record.header);
        self.out.facts.push(Arc::new(record));
        (seq, id)
    }

    fn touch_thread(&mut self, header: &Header) {
        let Some(path) = &header.call else { return };
        self.touched.push((header.thread.clone(), path.clone()));
        if let (Some(RecordCode::Role(MessageRole::Call)), Some(turn), Some(ordinal)) =
            (header.code, header.turn, header.ordinal)
        {
            self.touched.push((header.thread.clone(), path.append_item(turn, ordinal)));
        }
    }

    /// The leaf of the last recorded fact.
    pub(super) fn last_leaf(&self) -> Option<Digest> {
        self.out.facts.last().map(|r| r.leaf)
    }

    /// The id of the last recorded fact.
    pub(super) fn last_id(&self) -> Option<MessageId> {
        self.out.facts.last().map(|r| r.header.id)
    }

    /// The organism's name.
    pub(super) fn organism(&self) -> Name {
        self.book.current().map_or_else(Name::new_core, |c| c.organism.clone())
    }

    /// The id and salt of the next fact, from a hash of the event's seed and the fact's number.
    fn draw_random(&self) -> ([u8; 10], [u8; 16]) {
        let number = self.out.facts.len().to_be_bytes();
        let hash: [u8; 32] = Sha256::new().chain_update(self.seed.0).chain_update(number).finalize().into();
        let (mut random, mut salt) = ([0; 10], [0; 16]);
        for (to, from) in random.iter_mut().chain(salt.iter_mut()).zip(hash) {
            *to = from;
        }
        (random, salt)
    }

    /// The parts of a body: what this decision's judged payloads have in sensitive values is salted apart.
    fn seal_parts(&self, body: &[u8], salt: [u8; 16]) -> BodyParts {
        let mut parts = BodyParts::from(salt);
        if !self.sensitive.is_empty() {
            let places = self.sensitive.iter().filter_map(|payload| payload.places_in(body)).flatten();
            let salted = |(number, hole): (u32, BodyHole)| {
                let hash: [u8; 32] = Sha256::new()
                    .chain_update(self.seed.0)
                    .chain_update(self.out.facts.len().to_be_bytes())
                    .chain_update(number.to_be_bytes())
                    .finalize()
                    .into();
                let mut salt = [0; 16];
                salt.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
                (hole, PartSeal::Kept(salt))
            };
            parts.values = (1..).zip(in_order(places.collect())).map(salted).collect();
        }
        parts
    }

    /// Keeps refused bytes, or those of a file, under their hash.
    pub(super) fn keep_document(&mut self, bytes: &Arc<[u8]>) -> Digest {
        let hash = Digest::hash_bytes(bytes);
        self.out.documents.push(StoredDocument { hash, bytes: bytes.clone() });
        hash
    }

    /// Whether one more refusal of that sender is recorded.
    pub(super) fn has_room(&self, sender: &Name) -> bool {
        self.buckets.has_room(sender, self.at)
    }

    /// Takes the cost of a refusal from its sender's bucket; `withheld` says where the refusal would
    /// have been recorded.
    pub(super) fn charge_refusal(&mut self, sender: &Name, withheld: Option<ThreadId>) {
        self.out.toll = Some(RefusalCost { sender: sender.clone(), at: self.at, withheld });
    }

    /// Whether the log has a reply of that listener to that delivery, as far back as is known.
    pub(super) fn was_taken(&self, delivery: &str, listener: &Name) -> bool {
        self.replies.has_reply(delivery, listener)
    }

    /// Remembers that this delivery's reply is taken.
    pub(super) fn note_taken(&mut self, lease: &Lease, print: u64) {
        self.out.replied = Some((lease.token.clone(), lease.listener.clone(), print));
    }

    /// Whether the reply taken for that delivery is known to be a different one.
    pub(super) fn is_other(&self, delivery: &str, print: u64) -> bool {
        self.replies.is_other(delivery, print)
    }

    /// The answers of this decision to the items of a turn that it refuses, with the items' ordinals.
    pub(super) fn refused_items(&self, lease: &Lease) -> Vec<(u32, Arc<[u8]>)> {
        let of_turn = self.out.facts.iter().filter(|fact| {
            let h = &fact.header;
            h.kind == RecordKind::Refusal
                && h.thread == lease.id.thread
                && h.call.as_ref() == Some(&lease.id.call)
                && h.turn == Some(lease.id.turn)
        });
        of_turn.filter_map(|fact| Some((fact.header.ordinal?, fact.body.clone()))).collect()
    }

    pub(super) fn add_effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }
}

/// The top call whose turn it is: the first open one.
pub(super) fn first_top_call(thread: &Thread) -> Option<CallPath> {
    thread.calls.keys().filter(|p| p.depth() == 0).min_by_key(|p| p.top_number()).cloned()
}
