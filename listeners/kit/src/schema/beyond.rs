//! What lies beyond the profile: why a construct is refused, and what to write instead.
//!
//! The name of a construct comes in, words go out. What belongs to later work says so.

/// Shown where a construct belongs to later work.
pub(super) const NOT_BUILT: &str = "not built yet";

/// Why a construct is refused and what to write instead.
pub(super) fn construct_words(local: &str) -> (&'static str, &'static str) {
    match local {
        "import" => ("several namespaces in one schema are not built yet", "leave xs:import out"),
        "include" | "redefine" => {
            ("a schema never fetches another", "copy the definitions into this document")
        }
        "union" | "list" => (NOT_BUILT, "restrict one built-in type, or repeat an element"),
        "key" | "keyref" | "unique" => ("identity constraints are not taken", "check it in the listener"),
        "group" | "attributeGroup" => ("groups by name are not taken", "write the members where they belong"),
        "complexContent" => ("inheritance of complex types is not built yet", "write the type out"),
        "anyAttribute" => ("attributes by wildcard are not taken", "declare each attribute"),
        "notation" => ("notations are not taken", "leave it out"),
        "attribute" => ("a global attribute is not built yet", "declare the attribute in its type"),
        "all" => ("xs:all stands alone and not inside a group", "use xs:sequence"),
        "sequence" | "choice" | "simpleContent" => {
            ("a type has one content", "put both into one xs:sequence")
        }
        _ => ("it has no place here in the profile", "leave it out"),
    }
}

/// The same for an attribute of the schema's own vocabulary.
pub(super) fn attribute_words(name: &str) -> (&'static str, &'static str) {
    match name {
        "fixed" => ("fixed values are not taken", "use an xs:enumeration with one value"),
        "default" => ("default values of elements are not taken", "annotate it with systole:default"),
        "nillable" => ("nillable is not built yet", "use minOccurs=\"0\""),
        "abstract" | "substitutionGroup" => {
            ("abstract types and substitution groups are not taken", "use xs:choice")
        }
        "block" | "final" | "blockDefault" | "finalDefault" => {
            ("derivation control is not taken", "leave it out")
        }
        "schemaLocation" => ("a location is never fetched", "leave it out"),
        _ => ("it has no place here in the profile", "leave it out"),
    }
}
