//! Workflows of whole files: what a file says, and what is made of it.

use std::path::Path;

use systole_workflow::spec::{FORM, Workflow};

use crate::{OrganismFile, load_text, read_stored};

/// A file with a workflow `w` of these keys. It takes a topic and a number of words, and has the agents `one` and `two`.
fn load(keys: &str) -> Result<OrganismFile, Vec<String>> {
    let text = format!(
        "organism: {{name: t}}\nmodels: {{m: {{provider: anthropic, model: x, key_env: KEY}}}}\n\
         payloads: {{job: {{topic: line, words?: int, part: [line, 1..9]}}}}\n\
         agents:\n  one: {{model: m, prompt: {{identity: One.}}}}\n  two: {{model: m, prompt: {{identity: Two.}}}}\n\
         workflows:\n  w:\n    accepts: [job]\n{keys}"
    );
    load_text(Path::new("/nowhere/organism.yaml"), &text)
        .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
}

fn workflow(keys: &str) -> Workflow {
    let file = load(keys).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    file.workflows.into_iter().next().expect("there is one")
}

/// The same file as a log of an earlier version stores it.
fn stored_in_v6(keys: &str) -> Workflow {
    let file = load(keys).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let source = String::from_utf8(file.composition.source.to_vec()).expect("it is text");
    let source = source.replacen("systole configuration v7", "systole configuration v6", 1);
    let stored = read_stored(source.as_bytes(), Path::new("/nowhere")).expect("it can be read");
    stored.workflows.into_iter().next().expect("there is one")
}

#[test]
fn f2_runs_of_an_earlier_version_keep_the_form_of_their_requests() {
    let keys = "    by: one\n    goals: [answer: Say it.]\n";
    assert_eq!(workflow(keys).form, FORM);
    assert_eq!(stored_in_v6(keys).form, 1);
}
