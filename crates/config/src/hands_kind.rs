//! The two kinds of built-in listeners that work on a folder, their vocabularies, and how the file declares one.
//!
//! Plain data: nothing is read or checked here.

use super::value::At;

/// The names of the vocabularies among the built-in schemas.
pub(super) const CODE: &str = "code/";
pub(super) const COMMANDS: &str = "commands/";
pub(super) const PROPOSALS: &str = "proposals/";
pub(super) const WORKSPACE: &str = "workspace/";

/// Elements of one vocabulary.
pub(super) struct VocabularyElements {
    pub(super) vocabulary: &'static str,
    pub(super) names: &'static [&'static str],
}

/// A kind of listener that works on a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HandsKind {
    Code,
    Workspace,
}

/// A listener that works on a folder, as declared.
pub(super) struct HandsDeclaration {
    pub(super) kind: HandsKind,
    /// The folder, from the folder of the organism's file.
    pub(super) root: At<String>,
    /// Files that it neither shows nor edits.
    pub(super) deny: Vec<At<String>>,
    /// Files whose edits need a person.
    pub(super) ask: Vec<At<String>>,
    /// Commands that need no person.
    pub(super) shell: Vec<At<String>>,
}

impl HandsKind {
    pub(super) const ALL: [HandsKind; 2] = [HandsKind::Code, HandsKind::Workspace];

    /// Its key in the file.
    pub(super) fn key(self) -> &'static str {
        match self {
            HandsKind::Code => "code",
            HandsKind::Workspace => "workspace",
        }
    }

    /// The elements that it takes.
    pub(super) fn accepts(self) -> &'static [VocabularyElements] {
        match self {
            HandsKind::Code => {
                &[VocabularyElements { vocabulary: CODE, names: &["search", "extract", "query"] }]
            }
            HandsKind::Workspace => &[
                VocabularyElements {
                    vocabulary: COMMANDS,
                    names: &["str_replace", "create_file", "patch", "shell"],
                },
                VocabularyElements {
                    vocabulary: PROPOSALS,
                    names: &[
                        "proposed_actions",
                        "proposed_file_replace_substring",
                        "proposed_file_replace",
                        "proposed_file_insert",
                        "proposed_shell_command",
                        "proposed_package_install",
                    ],
                },
                VocabularyElements { vocabulary: WORKSPACE, names: &["undo", "change-set", "apply"] },
            ],
        }
    }

    /// The elements that it answers with.
    pub(super) fn returns(self) -> &'static [VocabularyElements] {
        match self {
            HandsKind::Code => &[VocabularyElements {
                vocabulary: CODE,
                names: &["search-result", "extract-result", "query-result", "code-error"],
            }],
            HandsKind::Workspace => {
                &[VocabularyElements { vocabulary: WORKSPACE, names: &["change-result"] }]
            }
        }
    }
}
