//! Our own model of the schema profile: what a listener's XSD allows, in words an agent can act on.
//!
//! An XSD comes in. Out goes a `Model`, or the list of constructs outside the profile, each with its
//! place and a mend. A model finds the first thing wrong with a payload and makes a smallest valid
//! example. It never decides whether a payload is valid: libxml2 judges, and where the model has no
//! words for a refusal the caller falls back to libxml2's. It never fetches anything.

mod tree;

/// A construct that the profile leaves out, or that is wrong in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Line of the construct in the schema document, from 1.
    pub line: u64,
    /// Column of the construct in the schema document, in characters from 1.
    pub column: u64,
    /// The construct by name, as `xs:import` or `maxOccurs`.
    pub construct: String,
    /// Why it is refused.
    pub message: String,
    /// What to write instead.
    pub mend: String,
}

/// What one schema document allows.
#[derive(Clone, Debug)]
pub struct Model {
    namespace: String,
    elements: Vec<String>,
}

impl Model {
    /// Reads a schema document, or lists everything in it that the profile leaves out.
    pub fn read(xsd: &[u8]) -> Result<Self, Vec<Unfit>> {
        let unfit = |offset, construct: &str, message: String| {
            let (line, column) = tree::line_and_column(xsd, offset);
            Unfit { line, column, construct: construct.to_owned(), message, mend: "leave it out".to_owned() }
        };
        let root = tree::read(xsd).map_err(|fault| vec![unfit(fault.offset, "document", fault.words)])?;
        let located = ["include", "import", "redefine"];
        let refused: Vec<Unfit> = (root.children())
            .filter(|child| located.contains(&child.name.local.as_str()))
            .map(|child| {
                unfit(child.span.start, &["xs:", &child.name.local].concat(), "not built yet".to_owned())
            })
            .collect();
        let namespace = root.attribute("targetNamespace").unwrap_or_default().to_owned();
        let elements = (root.children())
            .filter(|child| child.name.local == "element")
            .filter_map(|child| child.attribute("name").map(str::to_owned))
            .collect();
        if refused.is_empty() { Ok(Self { namespace, elements }) } else { Err(refused) }
    }

    /// The namespace of its elements.
    pub fn target_namespace(&self) -> &str {
        &self.namespace
    }

    /// Its root elements, in order.
    pub fn elements(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(String::as_str)
    }
}
