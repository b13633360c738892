//! The sections of a prompt: their names, the files with their text, and what no section may contain.

use std::fs;
use std::path::Path;

use systole_config::{self as config, FileMistakes, OrganismFile};

const FILE: &str = "organism: {name: hello}
models: {main: {provider: anthropic, model: some-model, key_env: ANTHROPIC_API_KEY}}
payloads: {find: {query: text}, found: {line: text}}
listeners:
  finder: {run: [python3, finder.py], accepts: [find], returns: [found]}
agents:
  triager:
    model: main
    peers: [finder]
    prompt:
      identity: {file: prompts/triager.md}
      rules: [Be brief.]
";

const TEXT: &str = "You sort what comes in.\n\nAsk before you act.\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("prompts")).unwrap();
    fs::write(folder.path().join("prompts/triager.md"), TEXT).unwrap();
    folder
}

fn load(folder: &Path, text: &str) -> Result<OrganismFile, FileMistakes> {
    let path = folder.join("organism.yaml");
    fs::write(&path, text).unwrap();
    config::load(&path)
}

/// The first mistake: its line, its marked part, and its message.
fn refused(folder: &Path, text: &str) -> (usize, String, String) {
    let Err(FileMistakes(found)) = load(folder, text) else { panic!("it is taken") };
    let [one] = found.as_slice() else { panic!("one mistake: {found:?}") };
    (one.place.line, one.place.span.clone(), one.message.clone())
}

#[test]
fn e12_the_text_of_a_section_comes_from_a_file_and_is_part_of_the_configuration() {
    let folder = folder();
    let organism = load(folder.path(), FILE).unwrap();
    assert_eq!(organism.warnings, []);
    let section = &organism.agents[0].prompt[0];
    assert_eq!((section.name.as_str(), section.lines.as_slice()), ("identity", &[TEXT.to_owned()][..]));
    let first = organism.composition.hash;
    let stored = organism.composition.source.clone();
    assert!(String::from_utf8_lossy(&stored).contains(TEXT), "an auditor sees the text");
    // Another text is another configuration, and the stored one stays the same.
    fs::write(folder.path().join("prompts/triager.md"), "\u{feff}You sort.").unwrap();
    let organism = load(folder.path(), FILE).unwrap();
    assert_ne!(organism.composition.hash, first);
    assert_eq!(organism.agents[0].prompt[0].lines, ["You sort."]);
    fs::remove_file(folder.path().join("prompts/triager.md")).unwrap();
    assert_eq!(config::read_source(&stored, folder.path()).unwrap().hash, first);
}

#[test]
fn e12_a_file_of_a_prompt_that_cannot_be_read_is_a_mistake_with_its_place() {
    let folder = folder();
    let prompts = folder.path().join("prompts");
    for (wrong, why) in [
        ("none.md", "prompts/none.md: "),
        ("", "this is a folder"),
        ("large.md", "larger than"),
        ("latin.md", "not UTF-8"),
    ] {
        fs::write(prompts.join("large.md"), "x".repeat(2 << 20)).unwrap();
        fs::write(prompts.join("latin.md"), [0xe9, 0x20]).unwrap();
        let (line, span, message) = refused(folder.path(), &FILE.replace("triager.md", wrong));
        assert_eq!((line, span.as_str()), (11, &*format!("prompts/{wrong}")), "{message}");
        assert!(
            message.starts_with("agents.triager.prompt.identity.file: ") && message.contains(why),
            "{message}"
        );
    }
    let (line, span, message) = refused(folder.path(), &FILE.replace("{file: ", "{fil: "));
    assert_eq!((line, span.as_str()), (11, "{fil: prompts/triager.md}"), "{message}");
    let (line, span, message) = refused(folder.path(), &FILE.replace(".md}", ".md, text: x}"));
    assert_eq!((line, span.as_str()), (11, "text"), "{message}");
}

#[test]
fn e12_a_section_has_no_name_of_another_element() {
    for name in [
        "thinking",
        "message",
        "find",
        "answer",
        "triager",
        "recall",
        "final-report",
        "core-x",
        "tool_result",
    ] {
        let (line, span, message) = refused(folder().path(), &FILE.replace("rules:", &format!("{name}:")));
        assert_eq!((line, span.as_str()), (12, name), "{message}");
        assert!(message.contains("means something else"), "{message}");
        // Only in XML is the name that of an element.
        let native = FILE
            .replace("rules:", &format!("{name}:"))
            .replace("model: main\n", "model: main\n    dialect: native\n");
        assert!(load(folder().path(), &native).is_ok(), "{name}");
    }
    assert!(load(folder().path(), &FILE.replace("rules:", "making_code_changes:")).is_ok());
}

#[test]
fn e12_no_text_of_a_section_holds_the_end_tag_of_one() {
    for text in ["a </rules> b", "</identity>", "x </response_protocol >", "</TOOLS>"] {
        let tag = &text[text.find('<').unwrap()..=text.find('>').unwrap()];
        let (line, span, message) =
            refused(folder().path(), &FILE.replace("[Be brief.]", &format!("['{text}']")));
        assert_eq!((line, span.as_str()), (12, tag), "{message}");
        let folder = folder();
        fs::write(folder.path().join("prompts/triager.md"), format!("one\n{text}\n")).unwrap();
        let (line, span, message) = refused(folder.path(), FILE);
        assert_eq!((line, span.as_str()), (11, "prompts/triager.md"), "{message}");
        assert!(message.contains(&format!("prompts/triager.md, line 2: `{tag}`")), "{message}");
    }
    assert!(load(folder().path(), &FILE.replace("Be brief.", "'</b> and <rules> are no end'")).is_ok());
}
