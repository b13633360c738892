//! Our own model of the schema profile: what a listener's XSD allows, in words an agent can act on.
//!
//! An XSD comes in. Out goes a `SchemaModel`, or the list of constructs outside the profile, each with its place and a
//! fix. A model finds the first error in a payload and makes a smallest valid example. It never decides whether a
//! payload is valid: libxml2 judges, and if the model has no words for a refusal, the caller uses those of libxml2.
//! It never fetches anything.

mod build;
pub mod compact;
mod diff;
mod explain;
mod files;
mod finding;
mod form;
mod grammar;
mod json;
mod judge;
pub mod limits;
mod nearest;
mod page_form;
mod part;
mod prompt;
mod read;
mod sensitive;
mod shape;
mod texts;
mod tree;
pub mod types;
mod violation;
mod word;

pub use build::given::ValueSlip;
pub use build::{GivenFile, RefusedFile, TakeFile, TakenFile};
pub use diff::{ChangeEffect, ElementChange, ElementDiff, PartChange};
pub use files::FileElement;
pub use finding::PayloadFinding;
pub use grammar::{AddedAttribute, Grammar, NoGrammar};
pub use json::schema::{ILLEGAL, JsonSchema};
pub use nearest::{find_nearest, is_slip};
pub use page_form::{FormAlternative, FormField, FormInput, FormMistake, FormValues, PageForm};
pub use part::{PayloadPart, PayloadPartKind};
pub use texts::TextElements;
pub use violation::ProfileViolation;

/// A payload that was built from the known parts of a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPayload {
    /// The payload.
    pub payload: Vec<u8>,
    /// The places of the keys that the schema does not know, such as `/found/extra`.
    pub left_out: Vec<String>,
}

/// Everything that one schema document allows, with the documents that it imports.
#[derive(Clone, Debug)]
pub struct SchemaModel {
    schema: shape::SchemaShape,
}

impl SchemaModel {
    /// Reads a standalone schema document, or lists everything in it that is outside the profile.
    pub fn from_xsd(xsd: &[u8]) -> Result<Self, Vec<ProfileViolation>> {
        Self::read_among(xsd, &[])
    }

    /// Reads a schema document and resolves its imports among other documents. Refusals use the name of each
    /// document. An import names a namespace; exactly one of the others must declare it. The schema itself may be
    /// among them.
    pub fn read_among(xsd: &[u8], others: &[(&str, &[u8])]) -> Result<Self, Vec<ProfileViolation>> {
        read::read_schema(xsd, others).map(|schema| Self { schema })
    }

    /// The namespace whose elements the schema declares.
    pub fn target_namespace(&self) -> &str {
        &self.schema.namespace
    }

    /// The namespaces that the document itself imports, in its order.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        self.schema.imports.iter().map(AsRef::as_ref)
    }

    /// The documents drawn in by imports and by imports of imports: their places among the others.
    pub fn drawn_in(&self) -> &[usize] {
        &self.schema.drawn_in
    }

    /// The global elements by local name, in the order of the schema document.
    pub fn elements(&self) -> impl Iterator<Item = &str> {
        self.schema.list_own().map(|element| element.name.as_str())
    }

    /// Whether the schema, or one that it draws in, declares a global element of this name.
    pub fn has_element(&self, namespace: &str, local: &str) -> bool {
        self.schema.global_of(namespace, local).is_some()
    }

    /// Line and column, both from 1, at which the document that was read declares a global element.
    pub fn declared_at(&self, xsd: &[u8], element: &str) -> Option<(u64, u64)> {
        self.schema.find_global(element).map(|declaration| tree::line_and_column(xsd, declaration.offset))
    }

    /// The documentation of a global element or of its type, with collapsed white space.
    pub fn find_documentation(&self, element: &str) -> Option<&str> {
        self.schema.find_about(self.schema.find_global(element)?)
    }

    /// Whether a global element is annotated with `systole:dangerous="true"`, so that a person must
    /// approve its payloads.
    pub fn is_dangerous(&self, element: &str) -> bool {
        self.schema.find_global(element).is_some_and(|declaration| declaration.dangerous)
    }

    /// The bytes of a judged payload that hold values marked `systole:sensitive`, in order.
    pub fn find_sensitive(&self, payload: &[u8]) -> Vec<std::ops::Range<usize>> {
        sensitive::find_places(&self.schema, payload)
    }

    /// The elements of a payload that `systole:file` marks, in order. The payload may not fit the schema.
    pub fn find_files(&self, payload: &[u8]) -> Vec<FileElement> {
        files::find_elements(&self.schema, payload)
    }

    /// Whether any element refers to a file.
    pub fn has_files(&self) -> bool {
        self.schema.has_files
    }

    /// The same schema for authors who know files by numbers: each element that refers to a file has `file` as its only
    /// attribute.
    #[must_use]
    pub fn with_file_numbers(&self) -> Self {
        Self { schema: files::number_files(&self.schema, shape::ComplexContent::Empty) }
    }

    /// The same, with words about the file in the element.
    #[must_use]
    pub fn with_file_words(&self) -> Self {
        Self { schema: files::number_files(&self.schema, shape::ComplexContent::Free) }
    }

    /// The same schema for programs that send the files themselves, as `from_json_with_files` takes them.
    #[must_use]
    pub fn with_sent_files(&self) -> Self {
        Self { schema: files::carry_files(&self.schema) }
    }

    /// Whether a global element is annotated with `systole:together="change-set"`, so that all such payloads of one
    /// reply go out as one change set.
    pub fn is_together(&self, element: &str) -> bool {
        self.schema.find_global(element).is_some_and(|declaration| declaration.marks.together)
    }

    /// The name of the tool that a global element stands for, if it is annotated with `systole:tool`.
    pub fn find_tool(&self, element: &str) -> Option<&str> {
        self.schema.find_global(element)?.marks.tool.as_deref()
    }

    /// The model of a schema that declares nothing.
    pub fn new_empty() -> Self {
        Self { schema: shape::SchemaShape::default() }
    }

    /// What a change from this model to another one does to the payloads of each global element. The texts are the
    /// documents that the two models were read from.
    pub fn compare_with(&self, xsd: &[u8], new: &SchemaModel, new_xsd: &[u8]) -> Vec<ElementDiff> {
        diff::compare_elements((&self.schema, xsd), (&new.schema, new_xsd))
    }

    /// The first error in a payload in document order, as far as the model has words for it.
    pub fn explain_payload(&self, payload: &[u8]) -> Option<PayloadFinding> {
        explain::find_first(&self.schema, payload)
    }

    /// The first error in a payload that the judge refused. It finds more than `explain`: only the judge's verdict
    /// shows that a type chosen with `xsi:type` is wrong.
    pub fn explain_refused(&self, payload: &[u8]) -> Option<PayloadFinding> {
        explain::of_refused(&self.schema, payload)
    }

    /// Whether a global element has an attribute of that name.
    pub fn has_attribute(&self, element: &str, attribute: &str) -> bool {
        prompt::inside::has_attribute(&self.schema, element, attribute)
    }

    /// Whether the elements inside a global element are in a namespace, as `elementFormDefault` says.
    pub fn is_qualified(&self, element: &str) -> bool {
        prompt::inside::is_qualified(&self.schema, element)
    }

    /// A global element, as the start of a path into its payloads.
    pub fn find_part(&self, element: &str) -> Option<PayloadPart<'_>> {
        self.schema
            .find_global(element)
            .map(|declaration| part::PayloadPart::of_global(&self.schema, declaration))
    }

    /// Which elements of a global element's payloads hold only text.
    pub fn find_texts(&self, element: &str) -> Option<TextElements> {
        texts::from_schema(&self.schema, element)
    }

    /// Whether every element of a valid payload is declared at its place; an element that only a wildcard admits is
    /// not.
    pub fn declares_all(&self, payload: &[u8]) -> bool {
        texts::declares_all(&self.schema, payload)
    }

    /// A global element in one line of prompt text: its purpose, and its parameters with everything inside them.
    pub fn write_prompt(&self, element: &str) -> Option<String> {
        prompt::write_line(&self.schema, element)
    }

    /// The whole prompt entry of a global element: the line, and below it its example, its flags and its required
    /// attributes.
    pub fn prompt_entry(&self, element: &str) -> Option<String> {
        prompt::write_entry(&self.schema, element)
    }

    /// A smallest valid instance of a global element, with its namespace declared on it.
    pub fn build_example(&self, element: &str) -> Option<Vec<u8>> {
        build::example::build_smallest(&self.schema, element)
    }

    /// Builds a payload of a global element from command-line arguments: `name=value`, or standalone text. `None` if
    /// there is no such element.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_fields(&self, element: &str, arguments: &[&str]) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        self.build_from_fields(element, arguments, None)
    }

    /// The same, with a file for each `name=@path` of an element that refers to one.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_fields_with_files(
        &self,
        element: &str,
        arguments: &[&str],
        files: TakeFile<'_>,
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        self.build_from_fields(element, arguments, Some(files))
    }

    fn build_from_fields(
        &self,
        element: &str,
        arguments: &[&str],
        files: Option<TakeFile<'_>>,
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        let declaration = self.schema.find_global(element)?;
        let given = build::fields::read_fields(&self.schema, declaration, arguments);
        let manner = build::given::ValueManner::Fields;
        Some(
            given.and_then(|given| {
                build::build_payload(&self.schema, declaration, &given, manner, None, files)
            }),
        )
    }

    /// A payload as JSON, in the form that `json_schema` describes. Missing elements with a default have their
    /// default.
    ///
    /// # Errors
    /// If the payload does not follow the schema; a judged payload always does.
    pub fn to_json(&self, payload: &[u8]) -> Result<serde_json::Value, PayloadFinding> {
        json::unfold::unfold_payload(&self.schema, payload)
    }

    /// Builds a payload of a global element from a JSON value. `None` if there is no such element.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_json(
        &self,
        element: &str,
        value: &serde_json::Value,
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        let declaration = self.schema.find_global(element)?;
        let given = json::text::read_value(value, &format!("/{element}"));
        Some(given.map_err(|slip| vec![*slip]).and_then(|given| {
            build::build_payload(
                &self.schema,
                declaration,
                &given,
                build::given::ValueManner::Json,
                None,
                None,
            )
        }))
    }

    /// Builds a payload of a global element from a JSON value of any origin, without the keys that the schema does not
    /// know. `None` if there is no such element.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_known_json(
        &self,
        element: &str,
        value: &serde_json::Value,
    ) -> Option<Result<KnownPayload, Vec<ValueSlip>>> {
        let declaration = self.schema.find_global(element)?;
        let given = json::text::read_value(value, &format!("/{element}"));
        Some(
            given
                .map_err(|slip| vec![*slip])
                .and_then(|given| build::payload_of_known(&self.schema, declaration, &given))
                .map(|(payload, left_out)| KnownPayload { payload, left_out }),
        )
    }

    /// Builds a payload of a global element from JSON text of any origin: hostile text is refused with its place,
    /// and no digit of a number is lost. `None` if there is no such element.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_json_text(&self, element: &str, json: &[u8]) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        self.build_from_text(element, json, None)
    }

    /// The same, with a file for each `{"type": …, "data": BASE64}` of an element that refers to one.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn from_json_with_files(
        &self,
        element: &str,
        json: &[u8],
        files: TakeFile<'_>,
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        self.build_from_text(element, json, Some(files))
    }

    fn build_from_text(
        &self,
        element: &str,
        json: &[u8],
        files: Option<TakeFile<'_>>,
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        let declaration = self.schema.find_global(element)?;
        let given = json::text::read_text(json, &format!("/{element}"));
        Some(given.map_err(|slip| vec![*slip]).and_then(|given| {
            build::build_payload(
                &self.schema,
                declaration,
                &given,
                build::given::ValueManner::Json,
                Some(json),
                files,
            )
        }))
    }

    /// Adds to a grammar what a model may write as a payload of a global element, with further attributes on it, and
    /// returns the name of its rule. `None` if there is no such element.
    ///
    /// # Errors
    /// If a part of it has to hold any element.
    pub fn add_to_grammar(
        &self,
        grammar: &mut Grammar,
        element: &str,
        added: &[AddedAttribute],
    ) -> Option<Result<String, NoGrammar>> {
        Some(grammar.add_element(&self.schema, self.schema.find_global(element)?, added))
    }

    /// Adds to a grammar the text that a global element holds, and returns the name of its rule. `None` if there is no
    /// such element, or it holds more than text.
    pub fn add_text_to_grammar(&self, grammar: &mut Grammar, element: &str) -> Option<String> {
        grammar.add_text(&self.schema, self.schema.find_global(element)?)
    }

    /// The JSON form of a global element's payloads, as JSON Schema, with the rules that it leaves open.
    pub fn json_schema(&self, element: &str) -> Option<JsonSchema> {
        Some(json::schema::draw_schema(&self.schema, self.schema.find_global(element)?))
    }
}
