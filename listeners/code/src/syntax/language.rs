//! The languages: their names, the extensions of their files, and which parts of their syntax are blocks.
//!
//! Names and paths come in; rows of a table go out. The grammars' own table of extensions also knows grammars that
//! this program does not have, so it is not used.

use ast_grep_language::SupportLang;

/// A language.
#[derive(Debug)]
pub(crate) struct LanguageRow {
    /// The name, and other names that people use.
    pub(crate) names: &'static [&'static str],
    pub(crate) extensions: &'static [&'static str],
    /// Its grammar. Without one, blocks are paragraphs or sections.
    pub(crate) grammar: Option<SupportLang>,
    /// Kinds of syntax that are whole blocks.
    pub(crate) blocks: &'static [&'static str],
    /// Kinds of syntax that hold blocks, and have a name themselves.
    pub(crate) holders: &'static [&'static str],
    /// Kinds of syntax around blocks: the first kind belongs to its block, as `export` does.
    pub(crate) wrappers: &'static [&'static str],
    /// Kinds of syntax that only hold blocks.
    pub(crate) bodies: &'static [&'static str],
}

const NONE: &[&str] = &[];

const fn build_plain(names: &'static [&'static str], extensions: &'static [&'static str]) -> LanguageRow {
    LanguageRow {
        names,
        extensions,
        grammar: None,
        blocks: NONE,
        holders: NONE,
        wrappers: NONE,
        bodies: NONE,
    }
}

const SCRIPT_BLOCKS: &[&str] = &[
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "lexical_declaration",
    "variable_declaration",
    "field_definition",
    "public_field_definition",
    "type_alias_declaration",
    "enum_declaration",
    "method_signature",
    "property_signature",
    "abstract_method_signature",
    "function_signature",
    "expression_statement",
];
const SCRIPT_HOLDERS: &[&str] = &[
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "internal_module",
    "module",
];
const SCRIPT_WRAPPERS: &[&str] = &["export_statement", "ambient_declaration"];
const SCRIPT_BODIES: &[&str] = &["class_body", "interface_body", "object_type", "statement_block"];

/// All languages.
pub(crate) const LANGUAGES: &[LanguageRow] = &[
    LanguageRow {
        names: &["rust", "rs"],
        extensions: &["rs"],
        grammar: Some(SupportLang::Rust),
        blocks: &[
            "function_item",
            "function_signature_item",
            "struct_item",
            "enum_item",
            "union_item",
            "type_item",
            "const_item",
            "static_item",
            "macro_definition",
            "macro_invocation",
            "associated_type",
        ],
        holders: &["impl_item", "trait_item", "mod_item", "foreign_mod_item"],
        wrappers: NONE,
        bodies: &["declaration_list"],
    },
    LanguageRow {
        names: &["python", "py"],
        extensions: &["py", "pyi"],
        grammar: Some(SupportLang::Python),
        blocks: &["function_definition"],
        holders: &["class_definition"],
        wrappers: &["decorated_definition"],
        bodies: &["block", "if_statement"],
    },
    LanguageRow {
        names: &["javascript", "js", "jsx"],
        extensions: &["js", "mjs", "cjs", "jsx"],
        grammar: Some(SupportLang::JavaScript),
        blocks: SCRIPT_BLOCKS,
        holders: SCRIPT_HOLDERS,
        wrappers: SCRIPT_WRAPPERS,
        bodies: SCRIPT_BODIES,
    },
    LanguageRow {
        names: &["typescript", "ts"],
        extensions: &["ts", "mts", "cts"],
        grammar: Some(SupportLang::TypeScript),
        blocks: SCRIPT_BLOCKS,
        holders: SCRIPT_HOLDERS,
        wrappers: SCRIPT_WRAPPERS,
        bodies: SCRIPT_BODIES,
    },
    LanguageRow {
        names: &["tsx"],
        extensions: &["tsx"],
        grammar: Some(SupportLang::Tsx),
        blocks: SCRIPT_BLOCKS,
        holders: SCRIPT_HOLDERS,
        wrappers: SCRIPT_WRAPPERS,
        bodies: SCRIPT_BODIES,
    },
    LanguageRow {
        names: &["go", "golang"],
        extensions: &["go"],
        grammar: Some(SupportLang::Go),
        blocks: &[
            "function_declaration",
            "method_declaration",
            "type_declaration",
            "const_declaration",
            "var_declaration",
        ],
        holders: NONE,
        wrappers: NONE,
        bodies: NONE,
    },
    LanguageRow {
        names: &["java"],
        extensions: &["java"],
        grammar: Some(SupportLang::Java),
        blocks: &[
            "method_declaration",
            "constructor_declaration",
            "field_declaration",
            "compact_constructor_declaration",
        ],
        holders: &[
            "class_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
            "annotation_type_declaration",
        ],
        wrappers: NONE,
        bodies: &[
            "class_body",
            "interface_body",
            "enum_body",
            "enum_body_declarations",
            "annotation_type_body",
        ],
    },
    LanguageRow {
        names: &["c"],
        extensions: &["c", "h"],
        grammar: Some(SupportLang::C),
        blocks: &[
            "function_definition",
            "declaration",
            "type_definition",
            "struct_specifier",
            "enum_specifier",
            "union_specifier",
            "preproc_def",
            "preproc_function_def",
        ],
        holders: NONE,
        wrappers: NONE,
        bodies: &["preproc_ifdef", "preproc_if", "preproc_else", "linkage_specification", "declaration_list"],
    },
    LanguageRow {
        names: &["bash", "sh", "shell"],
        extensions: &["sh", "bash"],
        grammar: Some(SupportLang::Bash),
        blocks: &["function_definition"],
        holders: NONE,
        wrappers: NONE,
        bodies: NONE,
    },
    LanguageRow { grammar: Some(SupportLang::Json), ..build_plain(&["json"], &["json"]) },
    build_plain(&["c++", "cpp", "cxx"], &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    build_plain(&["csharp", "c#", "cs"], &["cs"]),
    build_plain(&["css"], &["css", "scss"]),
    build_plain(&["html"], &["html", "htm"]),
    build_plain(&["kotlin", "kt"], &["kt", "kts"]),
    build_plain(&["lua"], &["lua"]),
    build_plain(&["markdown", "md"], &["md", "markdown"]),
    build_plain(&["php"], &["php"]),
    build_plain(&["ruby", "rb"], &["rb"]),
    build_plain(&["sql"], &["sql"]),
    build_plain(&["swift"], &["swift"]),
    build_plain(&["text", "txt"], &["txt"]),
    build_plain(&["toml"], &["toml"]),
    build_plain(&["xml", "xsd"], &["xml", "xsd"]),
    build_plain(&["yaml", "yml"], &["yaml", "yml"]),
];

impl LanguageRow {
    /// Its first name.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The language of a file, by its extension.
    pub(crate) fn from_path(path: &str) -> Option<&'static LanguageRow> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = file.rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        LANGUAGES.iter().find(|row| row.extensions.contains(&extension.as_str()))
    }

    /// The language of that name, in any case.
    pub(crate) fn from_name(name: &str) -> Option<&'static LanguageRow> {
        let name = name.to_ascii_lowercase();
        LANGUAGES.iter().find(|row| row.names.contains(&name.as_str()))
    }

    /// The names of the languages that have a grammar.
    pub(crate) fn with_grammar() -> impl Iterator<Item = &'static LanguageRow> {
        LANGUAGES.iter().filter(|row| row.grammar.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_path_and_name() {
        let name = |path| LanguageRow::from_path(path).map(LanguageRow::name);
        assert_eq!(name("src/a.RS"), Some("rust"));
        assert_eq!(name("a.b/Makefile"), None);
        assert_eq!(name("x.tsx"), Some("tsx"));
        assert_eq!(LanguageRow::from_name("TS").map(LanguageRow::name), Some("typescript"));
    }

    #[test]
    fn no_name_and_no_extension_has_two_languages() {
        let mut all: Vec<&str> = LANGUAGES.iter().flat_map(|row| row.names).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        let mut all: Vec<&str> = LANGUAGES.iter().flat_map(|row| row.extensions).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
