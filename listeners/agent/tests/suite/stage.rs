//! An agent on a stage: a line that records everything said on it, and deliveries like a pump's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};
use systole_agent::model::script::{Script, ScriptedModel};
use systole_agent::model::{HttpLimits, Model, Models, SystemRandom};
use systole_agent::{Agent, spec};
use systole_kit::answers::{Answer as Item, Answers, write_answers};
use systole_kit::ask::{
    BytePage, ByteSource, MessageSpot, PumpQuestion, StoredBlob, ViewEntry, ViewedMessage, ViewedPage,
};
use systole_kit::envelope::{Delivered, EnvelopeStamp};
use systole_kit::journal::{EarlierEntries, EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::line::{Line, LineRequest, NotTaken, PendingAnswer, Remark};
use systole_kit::prompt_link::{self, ParsedLink};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::ReplyContent;
use systole_kit::{DocumentLimits, Payload, QName, namespaces};

/// The mark of the only call on this stage.
pub(crate) const MARK: &str = "5eed0123";
const TALK: &[u8] = include_bytes!("../../../../schemas/talk.xsd");
const SEARCH: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/search/v1" xmlns="https://xml-pipeline.org/ns/search/v1" elementFormDefault="qualified">
  <xs:element name="search">
    <xs:annotation><xs:documentation>Finds text.</xs:documentation></xs:annotation>
    <xs:complexType><xs:all>
      <xs:element name="query" type="xs:string"/>
      <xs:element name="limit" minOccurs="0"><xs:simpleType><xs:restriction base="xs:long"><xs:minInclusive value="1"/><xs:maxInclusive value="100"/></xs:restriction></xs:simpleType></xs:element>
    </xs:all></xs:complexType>
  </xs:element>
  <xs:element name="found" type="xs:string"/>
</xs:schema>"#;

/// An agent called helper, which takes questions and may search.
pub(crate) fn helper(dialect: spec::Dialect) -> spec::AgentSpec {
    let talk =
        |local: &str| spec::ElementContract { element: QName::new(namespaces::TALK, local), schema: 0 };
    let search = |local: &str| spec::ElementContract {
        element: QName::new("https://xml-pipeline.org/ns/search/v1", local),
        schema: 1,
    };
    let schema = |name: &str, text: &[u8]| spec::NamedSchema { name: name.to_owned(), text: text.into() };
    let native = matches!(dialect, spec::Dialect::Native | spec::Dialect::XmlFinal);
    spec::AgentSpec {
        name: "helper".to_owned(),
        model: "main".to_owned(),
        dialect,
        is_rehearsed: false,
        thinking: spec::ThinkingRule::Required,
        reads_as_before: false,
        actions: if native { spec::ActionLimit::Many } else { spec::ActionLimit::One },
        stop_early: false,
        sees_thread: false,
        attempts: 3,
        turns: 10,
        tool_output_max: 4096,
        files: Vec::new(),
        when_full: spec::WhenFull::Final,
        tool_choice: None,
        core_tools: spec::CoreToolGroup::list_all(),
        folders: Vec::new(),
        output: spec::Output { format: spec::OutputFormat::Text, schema: None },
        preamble: None,
        prompt: vec![section("identity", &["You answer questions."], false)],
        accepts: vec![talk("ask")],
        returns: vec![talk("answer")],
        gives: Vec::new(),
        broadcasts: Vec::new(),
        task_takers: Vec::new(),
        peers: vec![spec::Peer {
            name: "search".to_owned(),
            accepts: vec![search("search")],
            returns: vec![search("found")],
            needs_approval: false,
        }],
        schemas: spec::NamedSchemas::from(vec![
            schema("talk.xsd", TALK),
            schema("search.xsd", SEARCH.as_bytes()),
        ]),
    }
}

/// A section of a prompt.
pub(crate) fn section(name: &str, lines: &[&str], is_list: bool) -> spec::PromptSection {
    spec::PromptSection {
        name: name.to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        is_list,
    }
}

pub(crate) fn limits() -> spec::ModelSpec {
    spec::ModelSpec {
        name: "main".to_owned(),
        provider: spec::Provider::Script,
        model: String::new(),
        url: None,
        server: None,
        key_env: None,
        headers_env: Vec::new(),
        thinking: None,
        is_cached: true,
        files: Vec::new(),
        stream: true,
        timeout: spec::ModelTimeouts::default(),
        file: None,
        window: 32_000,
        max_output: 1_000,
        params: serde_json::Map::new(),
        price: None,
        rate: spec::ModelRates::default(),
        at_once: 4,
        retry: spec::RequestRetry { attempts: 1, first_ms: 1, longest_ms: 1 },
        fallback: Vec::new(),
    }
}

/// Everything said on a line.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) documents: HashMap<String, String>,
    pub(crate) journal: Vec<JournalEntry>,
    pub(crate) notices: Vec<(String, String)>,
    pub(crate) progress: Vec<String>,
    /// The messages that the view shows after the request.
    pub(crate) since: Vec<ViewEntry>,
    /// The views that were read, each with its content.
    pub(crate) views: Vec<Vec<ViewEntry>>,
    /// The bytes that may be read, by their hash.
    pub(crate) blobs: HashMap<String, Vec<u8>>,
    /// The hashes of those that were read.
    pub(crate) read: Vec<String>,
    /// The links that were stored, in order.
    pub(crate) put: Vec<String>,
    /// The messages that the view shows before the request.
    pub(crate) before: Vec<ViewEntry>,
    /// The message numbers from which the view was read.
    pub(crate) asked: Vec<u64>,
    /// The journal of earlier attempts at the turn.
    pub(crate) past: Vec<EarlierEntry>,
}

pub(crate) struct AgentStage {
    agent: Arc<Agent>,
    pub(crate) heard: Arc<Mutex<Heard>>,
    request: Payload,
    turn: u32,
}

impl AgentStage {
    /// That agent, with the answers of a script.
    pub(crate) fn of(spec: spec::AgentSpec, answers: &str) -> Self {
        let script = Arc::new(Script::from_text(answers).expect("the script is right"));
        let model = Arc::new(Arc::new(ScriptedModel::new(script, "main", &spec.name)));
        Self::with(spec, model, "Where is login?")
    }

    /// That agent with that model and that question.
    pub(crate) fn with(spec: spec::AgentSpec, model: Arc<dyn Model>, question: &str) -> Self {
        let models = Models::new(vec![(limits(), model)], Box::new(SystemRandom), &HttpLimits::default());
        Self::asking(spec, Arc::new(models.expect("the models are right")), question)
    }

    /// That agent with those models and that question.
    pub(crate) fn asking(spec: spec::AgentSpec, models: Arc<Models>, question: &str) -> Self {
        let agent = Agent::new(spec, models).expect("the schemas are right");
        Self::playing(agent, question)
    }

    /// The same agent as one of several processes under its name.
    pub(crate) fn one_of_many(spec: spec::AgentSpec, answers: &str) -> Self {
        let Self { agent, .. } = Self::of(spec, answers);
        let agent = Arc::into_inner(agent).expect("the stage is its only owner");
        Self::playing(agent.one_of_many(), "Where is login?")
    }

    fn playing(agent: Agent, question: &str) -> Self {
        let agent = Arc::new(agent);
        let request = Payload::write(namespaces::TALK, "ask", |inside| inside.text(question));
        Self { agent, heard: Arc::default(), request, turn: 0 }
    }

    /// The same stage with that request.
    pub(crate) fn with_request(self, request: Payload) -> Self {
        Self { request, ..self }
    }

    /// The first delivery of the call.
    pub(crate) async fn ask(&mut self) -> ReplyContent {
        self.turn = 1;
        self.deliver(self.request.clone()).await
    }

    /// The next delivery, with these answers to the items of the last reply, and these unrequested payloads.
    pub(crate) async fn answer(&mut self, items: Vec<Option<Payload>>, inbox: Vec<Payload>) -> ReplyContent {
        self.answer_each((0u32..).zip(items).collect(), inbox).await
    }

    /// The same, with the item that each answers: an item that went to several peers has several answers.
    pub(crate) async fn answer_each(
        &mut self,
        items: Vec<(u32, Option<Payload>)>,
        inbox: Vec<Payload>,
    ) -> ReplyContent {
        self.turn += 1;
        let item = |(ordinal, payload)| Item { ordinal, from: None, seq: None, payload };
        let items = items.into_iter().map(item).collect();
        let answers = Answers { turn: self.turn, wrap_up: None, items, inbox };
        self.deliver(write_answers(&answers)).await
    }

    /// A later turn of a call that this process does not remember, as after a restart or a cleared view.
    pub(crate) async fn take_up(&mut self, turn: u32, since: Vec<ViewEntry>) -> ReplyContent {
        self.heard.lock().unwrap().since = since;
        self.turn = turn - 1;
        self.answer(Vec::new(), Vec::new()).await
    }

    /// The last turn, which accepts only a final.
    pub(crate) async fn wrap_up(&mut self, what: &str) -> ReplyContent {
        self.turn += 1;
        let wrap_up = Some(what.to_owned());
        let answers = Answers { turn: self.turn, wrap_up, items: Vec::new(), inbox: Vec::new() };
        self.deliver(write_answers(&answers)).await
    }

    /// Continues like the pump after a reply that reports an unusable output.
    pub(crate) async fn again(&mut self, said: &ReplyContent) -> ReplyContent {
        let ReplyContent::Again { code, words } = said else { panic!("{said:?} is no again") };
        let notices = std::mem::take(&mut self.heard.lock().unwrap().notices);
        let inbox = notices.iter().map(|(code, words)| system_error(code, words)).collect();
        self.answer(vec![Some(system_error(code, words))], inbox).await
    }

    /// Tells the agent that its last reply was accepted.
    pub(crate) fn taken(&self) {
        self.agent.mark_taken(&self.delivery(self.request.clone()));
    }

    fn delivery(&self, payload: Payload) -> Delivered {
        let delivery = format!("d{}", self.turn);
        let past = self.heard.lock().unwrap().past.len();
        let stamp = EnvelopeStamp {
            call: "1".into(),
            turn: self.turn,
            attempt: 1,
            delivery,
            journal: u32::try_from(past).ok().filter(|entries| *entries > 0),
            ..EnvelopeStamp::default()
        };
        let (from, to, thread) = ("alice".to_owned(), None, "sess-1".to_owned());
        Delivered { from, to, thread, stamp, payload }
    }

    async fn deliver(&self, payload: Payload) -> ReplyContent {
        let asked = self.delivery(payload);
        let line = Kept { heard: self.heard.clone(), request: self.request.clone() };
        self.agent.clone().answer(asked, Arc::new(line)).await
    }

    /// The last prompt of the model: base, segments and header.
    pub(crate) fn prompt(&self) -> (String, Vec<String>, String) {
        let (system, _, segments, header) = self.whole();
        (system, segments, header)
    }

    /// The last tools of the model, one per line.
    pub(crate) fn tools(&self) -> String {
        self.whole().1
    }

    fn whole(&self) -> (String, String, Vec<String>, String) {
        let heard = self.heard.lock().unwrap();
        let started = heard.journal.iter().rev().find_map(|entry| match entry {
            JournalEntry::Started(started) => Some(started.prompt.clone()),
            JournalEntry::Result(_) => None,
        });
        let text = |hash: &str| heard.documents.get(hash).expect("every link is put down").as_str();
        let Some(ParsedLink::Prompt { mut before, header, .. }) =
            prompt_link::read_link(text(&started.expect("a model was asked")))
        else {
            panic!("the journal names no prompt")
        };
        let mut segments = Vec::new();
        loop {
            match prompt_link::read_link(text(before)) {
                Some(ParsedLink::Segment { before: earlier, messages }) => {
                    segments.insert(0, messages.to_owned());
                    before = earlier;
                }
                Some(ParsedLink::Base { system, tools }) => {
                    return (system.to_owned(), tools.to_owned(), segments, header.to_owned());
                }
                _ => panic!("the chain is broken"),
            }
        }
    }

    /// The words of the last segment: the previous turn as the model sees it.
    pub(crate) fn shown(&self) -> String {
        let (_, segments, _) = self.prompt();
        let last = segments.last().expect("there is a request");
        let messages = last.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let user = messages.filter(|message| message["role"] == "user");
        let parts = user.flat_map(|message| message["parts"].as_array().unwrap().clone());
        let words = parts.map(|part| {
            let text = part["text"].as_str().or_else(|| part["result"]["text"].as_str());
            text.unwrap_or_default().to_owned()
        });
        // The slot of the final comes before a request.
        let is_slot = |text: &String| text.starts_with(&format!("<core-{MARK}>\nYour final: "));
        words.filter(|text| !is_slot(text)).collect::<Vec<_>>().join("\n")
    }

    /// The record of the model's last answer.
    pub(crate) fn outcome(&self) -> ModelCallOutcome {
        let heard = self.heard.lock().unwrap();
        let found = heard.journal.iter().rev().find_map(|entry| match entry {
            JournalEntry::Result(outcome) => Some(outcome.clone()),
            JournalEntry::Started(_) => None,
        });
        found.expect("the model answered")
    }
}

/// `<system-error>`, as the pump writes it.
pub(crate) fn system_error(code: &str, message: &str) -> Payload {
    let mut writer = systole_kit::writer::XmlWriter::new();
    let start = writer.open("system-error").xmlns(namespaces::CORE).attr("code", code);
    start.attr("retry_allowed", "true").attr("message", message).empty();
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).unwrap()
}

/// The result of a search.
pub(crate) fn found(text: &str) -> Payload {
    Payload::write("https://xml-pipeline.org/ns/search/v1", "found", |inside| inside.text(text))
}

/// The payloads of a reply.
pub(crate) fn items(said: &ReplyContent) -> Vec<&Payload> {
    match said {
        ReplyContent::Items(items) => items.iter().map(|item| item.payload.as_ref().unwrap()).collect(),
        other => panic!("{other:?} has no items"),
    }
}

struct Kept {
    heard: Arc<Mutex<Heard>>,
    request: Payload,
}

impl Line for Kept {
    fn say(&self, what: LineRequest) -> PendingAnswer<'_, Result<PumpAnswer, NotTaken>> {
        let mut heard = self.heard.lock().unwrap();
        let mut id = 0;
        let payload = match what {
            LineRequest::Journal(entry) => {
                heard.journal.push(entry);
                id = heard.journal.len() as u64;
                None
            }
            LineRequest::Ask(PumpQuestion::PutBlob { bytes }) => {
                let text = String::from_utf8(bytes).expect("agents keep texts");
                let hash: String =
                    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
                let total = text.len() as u64;
                heard.put.push(text.clone());
                heard.documents.insert(hash.clone(), text);
                Some(StoredBlob { hash, total }.to_payload())
            }
            LineRequest::Ask(PumpQuestion::Blob { hash, from }) => Some(match heard.blobs.get(&hash) {
                Some(bytes) => {
                    let page = BytePage::cut_page(bytes, from, 256 << 10).expect("it asks for what there is");
                    if from == 0 {
                        heard.read.push(hash.clone());
                    }
                    page.to_payload(ByteSource::Blob(&hash))
                }
                None => system_error("payload.unknown-blob", "no message of your view names it"),
            }),
            LineRequest::Ask(PumpQuestion::View { from_seq, .. }) => {
                heard.asked.push(from_seq);
                let message = ViewedMessage {
                    seq: heard.before.len() as u64 + 1,
                    from: "alice".to_owned(),
                    to: None,
                    spot: MessageSpot::Request,
                    payload: self.request.clone(),
                };
                let (mark, began) = (MARK.to_owned(), "2026-11-20".to_owned());
                let all = heard.before.iter().cloned().chain([ViewEntry::Message(message)]);
                let all: Vec<ViewEntry> = all.chain(heard.since.iter().cloned()).collect();
                let number = |shown: &ViewEntry| match shown {
                    ViewEntry::Message(message) => Some(message.seq),
                    ViewEntry::Words(_) => None,
                };
                let count = all.iter().filter_map(number).max().unwrap_or(0);
                // Words go with the next message.
                let with = |at: usize| all[at..].iter().find_map(number).unwrap_or(count);
                let asked = (0..all.len()).filter(|at| with(*at) >= from_seq);
                let shown: Vec<ViewEntry> = asked.map(|at| all[at].clone()).collect();
                heard.views.push(shown.clone());
                Some(ViewedPage { count, next: None, mark, began, shown }.to_payload())
            }
            LineRequest::Ask(PumpQuestion::Journal { .. }) => {
                Some(EarlierEntries { entries: heard.past.clone(), next: None }.to_payload())
            }
            LineRequest::Ask(other) => panic!("the stage does not answer {other:?}"),
        };
        drop(heard);
        Box::pin(async move { Ok(PumpAnswer { delivery: String::new(), id, payload }) })
    }

    fn tell(&self, what: Remark) -> PendingAnswer<'_, Result<(), NotTaken>> {
        let mut heard = self.heard.lock().unwrap();
        match what {
            Remark::Notice { code, words } => heard.notices.push((code, words)),
            Remark::Progress { words, .. } => heard.progress.push(words),
        }
        drop(heard);
        Box::pin(async { Ok(()) })
    }
}
