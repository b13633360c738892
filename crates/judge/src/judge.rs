//! The judge: compiled schemas, and the verdict of libxml2 on the bytes of one payload.
//!
//! Owned by ONE validator thread, because libxml2's validation state is not `Send`. Sources come in and
//! compile once, each with the other sources that it imports. Payload bytes that passed the gate come in; a
//! verdict goes out. The judge must never fetch anything. Before libxml2 sees a schema, the model refuses
//! every construct that could fetch. Imports are resolved from memory (`shelf`). Documents are parsed
//! strictly, without recovery, network, entity substitution or lifted limits.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libxml::error::StructuredError;
use libxml::parser::{Parser, ParserOptions, XmlParseFailure};
use libxml::schemas::{SchemaParserContext, SchemaValidationContext};
use systole_kit::schema::{ProfileViolation, SchemaModel};
use thiserror::Error;

use super::import_memory::{SchemaFile, SealedSchemas};
use crate::limits;

/// libxml2's code for an internal fault, as opposed to a fault of the document.
const INTERNAL_FAULT: i32 = 1818;

/// One schema document, with the name that refusals use for it.
#[derive(Clone, Debug)]
pub struct SchemaSource {
    /// The name of the schema, as the operator knows it.
    pub name: String,
    /// The schema document.
    pub xsd: Vec<u8>,
}

/// Identifies a compiled schema: the position of its source among the compiled sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompiledSchemaId(usize);

/// The verdict of libxml2 on a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum SchemaVerdict {
    /// The payload is well-formed and valid.
    Valid,
    /// The payload is not valid; the words are libxml2's own.
    Invalid {
        /// libxml2's words, one fault per line.
        words: String,
    },
    /// There is no verdict: the fault is ours or libxml2's, never the sender's.
    Broken {
        /// What went wrong.
        words: String,
    },
}

/// Why a set of schemas does not make a judge.
#[derive(Debug, Error)]
pub enum SchemaSetError {
    /// A schema uses something that the profile leaves out.
    #[error("schema {name} is outside the profile, {} constructs", unfit.len())]
    Unfit {
        /// The source's name.
        name: String,
        /// Each construct with its place and its fix.
        unfit: Vec<ProfileViolation>,
    },
    /// libxml2 rejects a schema that our model accepted.
    #[error("schema {name}: {words}")]
    Uncompiled {
        /// The source's name.
        name: String,
        /// The line that libxml2 names, if it is in this schema and not in an imported one.
        line: Option<u64>,
        /// libxml2's words.
        words: String,
    },
}

/// Compiled schemas, ready to judge. Not `Send`: build it on the thread that uses it.
pub struct LibxmlJudge {
    sources: Vec<SchemaSource>,
    models: Vec<SchemaModel>,
    compiled: Vec<Option<SchemaValidationContext>>,
    parser: Parser,
}

impl LibxmlJudge {
    /// Compiles every source once. First it refuses what the profile leaves out. Imports of a source are
    /// looked up among the other sources.
    pub fn compile_sources(sources: &[SchemaSource]) -> Result<Self, SchemaSetError> {
        Self::compile_each(sources, |_| {})
    }

    /// The same; `begun` gets the place of each source before it is read, and again before libxml2 sees it.
    pub(super) fn compile_each(
        sources: &[SchemaSource],
        mut begun: impl FnMut(usize),
    ) -> Result<Self, SchemaSetError> {
        let models = read_models(sources, &mut begun)?;
        let parser = Parser::default();
        let mut judge = Self { sources: sources.to_vec(), models, compiled: Vec::new(), parser };
        for (at, source) in sources.iter().enumerate() {
            begun(at);
            match judge.compile_one(at) {
                Ok(context) => judge.compiled.push(Some(context)),
                Err(CompileFault { line, words }) => {
                    return Err(SchemaSetError::Uncompiled { name: source.name.clone(), line, words });
                }
            }
        }
        Ok(judge)
    }

    /// Our own model of a schema, read among the same sources.
    pub fn find_model(&self, schema: CompiledSchemaId) -> Option<&SchemaModel> {
        self.models.get(schema.0)
    }

    /// The schemas, in the order of their sources.
    pub fn list_schemas(&self) -> impl Iterator<Item = CompiledSchemaId> + use<> {
        (0..self.sources.len()).map(CompiledSchemaId)
    }

    /// The schema that was compiled under this name.
    pub fn find_schema(&self, name: &str) -> Option<CompiledSchemaId> {
        self.sources.iter().position(|source| source.name == name).map(CompiledSchemaId)
    }

    /// Judges the bytes of one payload. The gate comes first: unbounded input must not get here.
    pub fn judge_payload(&mut self, schema: CompiledSchemaId, payload: &[u8]) -> SchemaVerdict {
        let Some(context) = self.make_ready(schema) else {
            return SchemaVerdict::Broken { words: "the schema cannot be compiled any more".to_owned() };
        };
        let parser = &self.parser;
        let only = self.models.get(schema.0).filter(|model| !model.drawn_in().is_empty());
        // The context is moved in: after a panic its state is unknown, and it is dropped.
        let judged = guard_panic(move || {
            let mut context = context;
            let verdict = judge_document(parser, &mut context, only, payload);
            (context, verdict)
        });
        match judged {
            Some((context, verdict)) => {
                let keep = !matches!(verdict, SchemaVerdict::Broken { .. });
                if let Some(slot) = self.compiled.get_mut(schema.0) {
                    *slot = keep.then_some(context);
                }
                verdict
            }
            None => SchemaVerdict::Broken { words: PANICKED.to_owned() },
        }
    }

    /// Takes the compiled schema out, and compiles it again if its last use broke it.
    fn make_ready(&mut self, schema: CompiledSchemaId) -> Option<SchemaValidationContext> {
        if let Some(context) = self.compiled.get_mut(schema.0).and_then(Option::take) {
            return Some(context);
        }
        self.compile_one(schema.0).ok()
    }

    /// Compiles one source with what it imports, and nothing else. A lax wildcard accepts what is unknown, so
    /// libxml2 must know exactly what the model knows.
    fn compile_one(&self, at: usize) -> Result<SchemaValidationContext, CompileFault> {
        let document = |at: usize| {
            let namespace = self.models.get(at)?.target_namespace();
            Some(SchemaFile { namespace, xsd: &self.sources.get(at)?.xsd })
        };
        let drawn_in = self.models.get(at).map(SchemaModel::drawn_in).unwrap_or_default();
        let documents: Vec<SchemaFile<'_>> =
            std::iter::once(at).chain(drawn_in.iter().copied()).filter_map(document).collect();
        guard_panic(|| compile_schema(&self.parser, &documents))
            .unwrap_or_else(|| Err(CompileFault::from_words(PANICKED)))
    }
}

const PANICKED: &str = "libxml2's wrapper panicked";

/// Why one schema does not compile.
struct CompileFault {
    line: Option<u64>,
    words: String,
}

impl CompileFault {
    fn from_words(words: &str) -> Self {
        Self { line: None, words: words.to_owned() }
    }
}

/// The model of every source, read among all of them. All are read, even after one is refused, because a
/// trial in another process reads all of them too.
fn read_models(
    sources: &[SchemaSource],
    begun: &mut impl FnMut(usize),
) -> Result<Vec<SchemaModel>, SchemaSetError> {
    let among: Vec<(&str, &[u8])> = sources.iter().map(|s| (s.name.as_str(), s.xsd.as_slice())).collect();
    let mut models = Ok(Vec::with_capacity(sources.len()));
    for (at, source) in sources.iter().enumerate() {
        begun(at);
        match (SchemaModel::read_among(&source.xsd, &among), &mut models) {
            (Ok(model), Ok(all)) => all.push(model),
            (Err(unfit), Ok(_)) => models = Err(SchemaSetError::Unfit { name: source.name.clone(), unfit }),
            (_, Err(_)) => {}
        }
    }
    models
}

/// Compiles the first of these documents; the others are its imports.
fn compile_schema(
    parser: &Parser,
    documents: &[SchemaFile<'_>],
) -> Result<SchemaValidationContext, CompileFault> {
    for document in documents {
        // The schema compiler prints faults of form to stderr, so a strict parse collects them first.
        let parsed = parser.parse_string_with_diagnostics(document.xsd, make_options());
        parsed.map_err(|failure| CompileFault::from_words(&parse_words(&failure)))?;
    }
    let uncompiled = |errors: Vec<StructuredError>, alone: bool| CompileFault {
        line: errors
            .first()
            .filter(|_| alone)
            .and_then(|error| error.line)
            .and_then(|l| u64::try_from(l).ok()),
        words: join_words(&errors),
    };
    if let [alone] = documents {
        let mut compiler = SchemaParserContext::from_buffer(alone.xsd);
        let compiled = SchemaValidationContext::from_parser(&mut compiler);
        return compiled.map_err(|errors| uncompiled(errors, true));
    }
    let shelf = SealedSchemas::from_documents(documents)
        .map_err(|error| CompileFault::from_words(&error.to_string()))?;
    let mut compiler = SchemaParserContext::from_buffer(&shelf.driver);
    let compiled = SchemaValidationContext::from_parser(&mut compiler);
    compiled.map_err(|errors| uncompiled(errors, false))
}

/// `only` is the model of a schema that was compiled with others: their root elements are not its payloads.
fn judge_document(
    parser: &Parser,
    context: &mut SchemaValidationContext,
    only: Option<&SchemaModel>,
    payload: &[u8],
) -> SchemaVerdict {
    // A fresh parser context per document: a reused one keeps every name it has ever seen.
    let document = match parser.parse_string_with_diagnostics(payload, make_options()) {
        Ok((document, _)) => document,
        Err(XmlParseFailure::ParseFailed(errors)) => {
            return SchemaVerdict::Invalid { words: join_words(&errors) };
        }
        Err(failure) => return SchemaVerdict::Broken { words: parse_words(&failure) },
    };
    if let Some(model) = only {
        let namespace = document.get_root_element().and_then(|root| root.get_namespace());
        if namespace.is_none_or(|namespace| namespace.get_href() != model.target_namespace()) {
            let words = "the root element is of a namespace that the schema only imports, or does not know";
            return SchemaVerdict::Invalid { words: words.to_owned() };
        }
    }
    match context.validate_document(&document) {
        Ok(()) => {
            // Otherwise warnings would pile up in the context from one document to the next.
            drop(context.drain_errors());
            SchemaVerdict::Valid
        }
        Err(errors) if errors.iter().any(|error| error.code == INTERNAL_FAULT) => {
            SchemaVerdict::Broken { words: join_words(&errors) }
        }
        Err(errors) => SchemaVerdict::Invalid { words: join_words(&errors) },
    }
}

/// No recovery, no network, no lifted limits. Entity substitution, DTD loading and XInclude have no
/// switch in this parser: they are off. `no_error` and `no_warning` silence stderr only.
fn make_options() -> ParserOptions<'static> {
    ParserOptions {
        recover: false,
        no_def_dtd: true,
        no_error: true,
        no_warning: true,
        no_net: true,
        huge: false,
        ..ParserOptions::default()
    }
}

fn parse_words(failure: &XmlParseFailure) -> String {
    match failure {
        XmlParseFailure::ParseFailed(errors) => join_words(errors),
        other => other.to_string(),
    }
}

fn join_words(errors: &[StructuredError]) -> String {
    let mut all = String::new();
    for error in errors {
        let message = error.message.as_deref().unwrap_or("libxml2 gives no words").trim_end();
        if all.len().saturating_add(message.len()) > limits::WORDS_BYTES && !all.is_empty() {
            break;
        }
        if !all.is_empty() {
            all.push('\n');
        }
        all.extend(message.chars().take(limits::WORDS_BYTES));
    }
    all
}

/// Runs code that may panic inside libxml2's wrapper. `None` means that it did; what the code owned is gone.
fn guard_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

#[cfg(test)]
mod tests {
    use super::guard_panic;

    #[test]
    fn a_panic_below_is_told_and_does_not_spread() {
        assert_eq!(guard_panic(|| 7), Some(7));
        assert_eq!(guard_panic(|| -> u8 { panic!("as validate_document may") }), None);
    }
}
