//! The judge of one validator thread. It holds all schemas of all configurations in force, compiled once,
//! and our own model of each. libxml2 decides whether a payload is valid; the model explains why not.

use std::collections::HashMap;
use std::sync::Arc;

use systole_kit::Payload;
use systole_kit::schema::{FileElement, SchemaModel};

use systole_core::rules::introspection::META_XSD;
use systole_core::types::body_parts::BodyHole;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, SchemaId};
use systole_core::types::flow::{Judge, Refused, Verdict};
use systole_core::types::ids::Digest;
use systole_core::types::refusal::Refusal;
use systole_judge::{self as schemas, SchemaSource};

/// Why the schemas cannot be set up. This is our fault, because the file was checked before.
#[derive(Debug, thiserror::Error)]
pub enum SchemaSetupFault {
    /// libxml2 rejects a schema that our model accepted.
    #[error(transparent)]
    Judge(schemas::SchemaSetError),
    /// Our model rejects a schema that was checked before.
    #[error("schema {name}, line {}: {}", first.line, first.message)]
    Model {
        /// The schema.
        name: String,
        /// The first unsupported construct.
        first: systole_kit::schema::ProfileViolation,
    },
    /// libxml2 gives no reason.
    #[error("schema {0} cannot be read")]
    Unread(String),
}

/// The name of the introspection schema, for people.
const META: &str = "meta.xsd";

/// The schemas of one configuration.
struct SchemaPage {
    judge: schemas::LibxmlJudge,
    ids: Vec<schemas::CompiledSchemaId>,
}

/// The compiled schemas. Not `Send`: each thread builds its own.
pub struct CompiledSchemas {
    pages: HashMap<Digest, SchemaPage>,
}

impl CompiledSchemas {
    /// Compiles the schemas of these configurations.
    pub fn set_up<'a>(
        compositions: impl Iterator<Item = &'a Arc<Composition>>,
    ) -> Result<CompiledSchemas, SchemaSetupFault> {
        let mut pages = HashMap::new();
        for composition in compositions {
            pages.insert(composition.hash, SchemaPage::compile(composition)?);
        }
        Ok(CompiledSchemas { pages })
    }

    /// No schemas yet.
    pub fn empty() -> CompiledSchemas {
        CompiledSchemas { pages: HashMap::new() }
    }

    /// Compiles the schemas of one more configuration.
    pub fn add(&mut self, composition: &Composition) -> Result<(), SchemaSetupFault> {
        self.pages.insert(composition.hash, SchemaPage::compile(composition)?);
        Ok(())
    }
}

impl SchemaPage {
    fn compile(composition: &Composition) -> Result<SchemaPage, SchemaSetupFault> {
        let mut sources: Vec<SchemaSource> = composition
            .schemas
            .iter()
            .map(|schema| SchemaSource { name: schema.name.clone(), xsd: schema.text.to_vec() })
            .collect();
        sources.push(SchemaSource { name: META.to_owned(), xsd: META_XSD.to_vec() });
        let judge = schemas::LibxmlJudge::compile_sources(&sources).map_err(|refused| match refused {
            schemas::SchemaSetError::Unfit { name, unfit } => refuse_schema(&name, unfit),
            other => SchemaSetupFault::Judge(other),
        })?;
        // By position, as in the composition: a file of the author may have the same name as a built-in
        // one.
        let ids = judge.list_schemas().collect();
        Ok(SchemaPage { judge, ids })
    }
}

fn refuse_schema(name: &str, unfit: Vec<systole_kit::schema::ProfileViolation>) -> SchemaSetupFault {
    let name = name.to_owned();
    match unfit.into_iter().next() {
        Some(first) => SchemaSetupFault::Model { name, first },
        None => SchemaSetupFault::Unread(name),
    }
}

impl Judge for CompiledSchemas {
    fn judge_payload(
        &mut self,
        config: Digest,
        schema: SchemaId,
        payload: Payload,
    ) -> Result<Verdict, Refused> {
        let page = self.pages.get_mut(&config);
        let found = page.and_then(|page| {
            // The introspection schema comes after those of the composition.
            let place = if schema == SchemaId::META { page.ids.len().checked_sub(1)? } else { schema.0 };
            let id = *page.ids.get(place)?;
            Some((&mut page.judge, id))
        });
        let Some((judge, id)) = found else {
            let refusal =
                Refusal::new(Code::NoSuchElement, "the schema of this payload is not in force here");
            return Err(Refused { refusal, kept: Some(payload.bytes().clone()) });
        };
        let refusal = match judge.judge_payload(id, payload.bytes()) {
            schemas::SchemaVerdict::Valid => {
                let model = judge.find_model(id);
                let dangerous = model.is_none_or(|model| model.is_dangerous(&payload.name().local));
                let sensitive = model.map(|model| model.find_sensitive(payload.bytes())).unwrap_or_default();
                let places = sensitive.into_iter().filter_map(BodyHole::from_range).collect();
                let verdict = Verdict::from_valid(payload).of_dangerous_element(dangerous);
                return Ok(verdict.with_sensitive(places));
            }
            schemas::SchemaVerdict::Invalid { words } => {
                explain_refusal(judge.find_model(id), &payload, &words)
            }
            schemas::SchemaVerdict::Broken { words } => {
                Refusal::new(Code::Invalid, format!("the judge gave no verdict: {words}"))
                    .fixed_by("send it again; if it is refused again, tell the operator")
            }
        };
        Err(Refused { refusal, kept: Some(payload.bytes().clone()) })
    }
}

/// The refusal in our own words. If the model finds no fault, in libxml2's words, with a note that they
/// are.
fn explain_refusal(model: Option<&SchemaModel>, payload: &Payload, theirs: &str) -> Refusal {
    let Some(finding) = model.and_then(|model| model.explain_refused(payload.bytes())) else {
        return Refusal::new(Code::Invalid, format!("in the words of libxml2: {theirs}"))
            .of_element(&*payload.name().local);
    };
    let place = payload.place_of(finding.offset);
    let is_of_file = |file: FileElement| file.span.contains(&finding.offset);
    let is_unfit = ["/@type", "/@bytes"].iter().any(|end| finding.path.ends_with(end))
        && model.is_some_and(|model| model.find_files(payload.bytes()).into_iter().any(is_of_file));
    let code = if is_unfit { Code::UnfitFile } else { Code::Invalid };
    let mut refusal = Refusal::new(code, finding.message).of_element(finding.element);
    refusal.path = Some(finding.path);
    refusal.at = Some((place.line, place.column));
    refusal.expected = Some(finding.expected);
    refusal.received = Some(finding.received);
    refusal.schema = Some(finding.schema.into());
    refusal.fix = Some(finding.fix);
    refusal
}
