//! What an author of a listener gets: the SDKs for Python and TypeScript as source, the types of the organism's payloads,
//! and the first files of a listener.
//!
//! Schemas and names come in. Files go out, and are compared with those of a folder or written there. It reads no
//! organism file and prints nothing.

mod block;
mod embedded;
mod folder;
mod new_file;
mod plan;
mod sdk;

pub use block::{insert_below, replace_text};
pub use folder::{SdkFileState, compare_folder, write_folder};
pub use new_file::NewFile;
pub use plan::{
    ListenerPlan, ListenerSite, TemplateWords, plan_plain_python, plan_python, plan_rust, plan_shell,
    plan_typescript,
};
pub use sdk::{SdkLanguage, SdkPlan, find_classes, plan_sdk};
