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
        "key" | "keyref" | "unique" => ("identity constraints are not taken", "check it in the listener"),
        "group" | "attributeGroup" => ("groups by name are not taken", "write the members where they belong"),
        "complexContent" => {
            ("inheritance of complex types is not taken", "write the type out, with the members of its base")
        }
        "anyAttribute" => ("attributes by wildcard are not taken", "declare each attribute"),
        "notation" => ("notations are not taken", "leave it out"),
        "attribute" => ("global attributes are not taken", "declare the attribute in its type"),
        "all" => ("xs:all stands alone and not inside a group", "use xs:sequence"),
        "sequence" | "choice" | "simpleContent" => {
            ("a type has one content", "put both into one xs:sequence")
        }
        _ => ("it has no place here in the profile", "leave it out"),
    }
}

/// The same for an attribute of the schema's own vocabulary.
pub(crate) fn attribute_words(name: &str) -> (&'static str, &'static str) {
    match name {
        "fixed" => ("fixed values are not taken", "use an xs:enumeration with one value"),
        "default" => ("default values of elements are not taken", "annotate it with systole:default"),
        "nillable" => ("nillable is not taken", "use minOccurs=\"0\""),
        "abstract" | "substitutionGroup" => {
            ("abstract types and substitution groups are not taken", "use xs:choice")
        }
        "block" | "final" | "blockDefault" | "finalDefault" => {
            ("derivation control is not taken", "leave it out")
        }
        "schemaLocation" => ("a location is never fetched", "leave it out"),
        "ref" => ("global attributes are not taken", "declare the attribute here, with name and type"),
        _ => ("it has no place here in the profile", "leave it out"),
    }
}
