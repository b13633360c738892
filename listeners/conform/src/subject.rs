//! The worker that is judged: its program, and what its organism says about it.
//!
//! It starts nothing. In: a composition. Out: what checks need to know.

use std::cell::RefCell;

use systole_carriers::InheritedVariables;
use systole_core::types::composition::{Composition, ListenerProgram, Reach};
use systole_core::types::ids::Name;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::{SchemaModel, find_nearest};
use systole_kit::{Payload, QName};

use crate::documents::CONFORM;

/// A worker to judge.
pub struct ConformSubject {
    /// The organism as its file describes it.
    pub composition: Composition,
    /// The name of the listener.
    pub listener: Name,
    /// The program.
    pub program: ListenerProgram,
    /// The framings that are scored, for a program that stays: whether by length.
    pub framings: Vec<bool>,
    /// The most deliveries that it may have at the same time.
    pub in_flight: usize,
    /// The most turns of a call to it.
    pub turns: u32,
    /// A request in place of the smallest example.
    pub request: Option<Payload>,
    /// The variables of this process.
    pub around: InheritedVariables,
    judge: RefCell<LibxmlJudge>,
    accepts: Vec<(QName, String)>,
    returns: Vec<(QName, String)>,
    example: Payload,
}

impl ConformSubject {
    /// Reads what a composition says about a listener. `command` replaces its program.
    ///
    /// # Errors
    /// Why it cannot be judged, and the fix.
    pub fn new(
        composition: Composition,
        listener: &Name,
        command: &[String],
        request: Option<Payload>,
        around: InheritedVariables,
    ) -> Result<ConformSubject, (String, String)> {
        let unfit = |words: String, fix: &str| (words, fix.to_owned());
        let found = composition.find_listener(listener).cloned();
        let Some(found) = found else {
            let known = || composition.listeners.keys().map(Name::as_str);
            let near = find_nearest(listener.as_str(), known()).map(str::to_owned);
            let fix = near.unwrap_or_else(|| known().collect::<Vec<_>>().join(", "));
            return Err(unfit(format!("nothing in the organism's file is called {listener}"), &fix));
        };
        let own = match &found.reach {
            Reach::Process(program) => Some(program.clone()),
            _ => None,
        };
        let Some(program) = choose_program(own, command) else {
            let words = format!("nothing says which program {listener} is");
            return Err(unfit(words, "-- and the program, with its arguments"));
        };
        let named = composition.sections.get(listener).is_some_and(|section| section.has_key("framing"));
        let framings = if named { vec![program.by_length] } else { vec![false, true] };
        let sources: Vec<SchemaSource> = composition
            .schemas
            .iter()
            .enumerate()
            .map(|(at, schema)| SchemaSource { name: at.to_string(), xsd: schema.text.to_vec() })
            .collect();
        let judge = LibxmlJudge::compile_sources(&sources)
            .map_err(|error| unfit(error.to_string(), "systole check names the place"))?;
        let list = |all: &[systole_core::types::composition::ElementSchema]| {
            let one = |element: &systole_core::types::composition::ElementSchema| {
                (element.name.clone(), element.schema.0.to_string())
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        let (accepts, returns) = (list(&found.accepts), list(&found.returns));
        let example = find_example(&composition, &accepts)
            .ok_or_else(|| unfit(format!("{listener} takes nothing"), "accepts: with an element"))?;
        Ok(ConformSubject {
            listener: listener.clone(),
            in_flight: found.in_flight,
            turns: found.turns,
            judge: RefCell::new(judge),
            composition,
            program,
            framings,
            request,
            around,
            accepts,
            returns,
            example,
        })
    }

    /// Whether it takes `<task>`.
    pub(crate) fn takes_tasks(&self) -> bool {
        self.accepts.iter().any(|(name, _)| name.is_named(CONFORM, "task"))
    }

    /// Whether a call to it has one turn.
    pub(crate) fn has_one_turn(&self) -> bool {
        self.turns < 2
    }

    /// A request that every worker takes.
    pub(crate) fn example(&self) -> Payload {
        self.request.clone().unwrap_or_else(|| self.example.clone())
    }

    /// Whether a payload is one of those that it may return.
    pub(crate) fn returns(&self, payload: &Payload) -> bool {
        self.returns.iter().any(|(name, _)| name == payload.name())
    }

    /// Whether it answers with nothing.
    pub(crate) fn returns_nothing(&self) -> bool {
        self.returns.is_empty()
    }

    /// What libxml2 says against a payload.
    ///
    /// # Errors
    /// The words of libxml2.
    pub(crate) fn judge_payload(&self, payload: &Payload) -> Result<(), String> {
        let known = self.returns.iter().chain(&self.accepts).find(|(name, _)| name == payload.name());
        let Some((_, schema)) = known else {
            return Err(format!("<{}> is neither returned nor accepted", payload.name().local));
        };
        let mut judge = self.judge.borrow_mut();
        let Some(id) = judge.find_schema(schema) else { return Err("its schema is missing".to_owned()) };
        match judge.judge_payload(id, payload.bytes()) {
            SchemaVerdict::Valid => Ok(()),
            SchemaVerdict::Invalid { words } | SchemaVerdict::Broken { words } => Err(words),
        }
    }
}

/// The program of the file, with another command line if one is given; or that command alone.
fn choose_program(own: Option<ListenerProgram>, command: &[String]) -> Option<ListenerProgram> {
    match own {
        Some(own) if command.is_empty() => Some(own),
        Some(own) => Some(ListenerProgram { run: command.to_vec(), adapter: Vec::new(), ..own }),
        None if command.is_empty() => None,
        None => Some(ListenerProgram {
            run: command.to_vec(),
            adapter: Vec::new(),
            directory: std::env::current_dir().unwrap_or_default(),
            env: std::collections::BTreeMap::new(),
            pass: Vec::new(),
            stays: true,
            by_length: false,
            sandbox: None,
        }),
    }
}

/// The smallest request that the first schema of the listener describes.
fn find_example(composition: &Composition, accepts: &[(QName, String)]) -> Option<Payload> {
    let sources: Vec<(&str, &[u8])> =
        composition.schemas.iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    accepts.iter().find_map(|(name, schema)| {
        let text = composition.schemas.get(schema.parse::<usize>().ok()?)?;
        let model = SchemaModel::read_among(&text.text, &sources).ok()?;
        let example = model.build_example(&name.local)?;
        Payload::parse(&example, &systole_kit::DocumentLimits::FROM_PUMP).ok()
    })
}
