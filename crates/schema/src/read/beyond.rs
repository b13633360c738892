//! Constructs outside the profile: why each is refused, and what to write instead.
//!
//! The name of a construct comes in, words go out.

/// Why a construct is refused and what to write instead.
pub(crate) fn construct_words(local: &str) -> (&'static str, &'static str) {
    match local {
        "import" => ("imports belong at the top of xs:schema", "move it to the top"),
        "include" | "redefine" => {
            ("a schema never fetches another", "copy the definitions into this document")
        }
        "key" | "keyref" | "unique" => ("identity constraints are not supported", "check it in the listener"),
        "group" | "attributeGroup" => {
            ("groups by name are not supported", "write the members where they belong")
        }
        "complexContent" => (
            "inheritance of complex types is not supported",
            "write the type out, with the members of its base",
        ),
        "anyAttribute" => ("attributes by wildcard are not supported", "declare each attribute"),
        "notation" => ("notations are not supported", "leave it out"),
        "attribute" => ("global attributes are not supported", "declare the attribute in its type"),
        "all" => ("xs:all must be the whole content of a type, not inside a group", "use xs:sequence"),
        "sequence" | "choice" | "simpleContent" => {
            ("a type has one content", "put both into one xs:sequence")
        }
        _ => ("the profile does not allow it here", "leave it out"),
    }
}

/// The same for an attribute of the schema's own vocabulary.
pub(crate) fn attribute_words(name: &str) -> (&'static str, &'static str) {
    match name {
        "fixed" => ("fixed values are not supported", "use an xs:enumeration with one value"),
        "default" => ("default values of elements are not supported", "annotate it with systole:default"),
        "nillable" => ("nillable is not supported", "use minOccurs=\"0\""),
        "abstract" | "substitutionGroup" => {
            ("abstract types and substitution groups are not supported", "use xs:choice")
        }
        "block" | "final" | "blockDefault" | "finalDefault" => {
            ("derivation control is not supported", "leave it out")
        }
        "schemaLocation" => ("a location is never fetched", "leave it out"),
        "ref" => ("global attributes are not supported", "declare the attribute here, with name and type"),
        _ => ("the profile does not allow it here", "leave it out"),
    }
}
