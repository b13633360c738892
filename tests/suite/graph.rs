//! `systole graph` and `systole completions`: the drawings of an organism, word for word, and a shell that
//! completes.

use std::path::Path;
use std::process::Command;

use systole_queries::graph::{GraphNode, ListenerGraph};
use systole_show::layout;

use crate::golden::golden;
use crate::organism::folder;
use crate::program::systole;

/// Compares the drawing of an organism of `config/` with the golden file.
fn drawn(organism: &str, format: &str, file: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = systole(&root.join("config").join(organism), &["graph", "--format", format]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    golden(format!("tests/suite/golden/graph/{file}"), &ran.stdout);
}

#[test]
fn the_graph_of_a_shop_is_drawn_in_three_ways() {
    for (format, file) in [("text", "beat.txt"), ("mermaid", "beat.mmd"), ("svg", "beat.svg")] {
        drawn("beat", format, file);
    }
}

#[test]
fn the_graph_of_a_crowd_tells_who_may_come_in_and_fits_a_terminal() {
    drawn("soak", "text", "soak.txt");
    drawn("soak", "svg", "soak.svg");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = std::fs::read_to_string(root.join("tests/suite/golden/graph/soak.txt")).unwrap();
    assert!(kept.lines().all(|line| line.chars().count() <= 80), "{kept}");
}

/// Names that would end an attribute, a label or a tag if they were written unescaped. No schema has such names:
/// schema names are checked earlier.
const HOSTILE: &str = "x\"]--><script>1</script>]]>&amp;'; click n0 href #1\u{202e}";

fn two_namespaces() -> tempfile::TempDir {
    let schema = |ns: &str, answer: &str| {
        format!(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"{ns}\" \
             elementFormDefault=\"qualified\"><xs:element name=\"ask\" type=\"xs:string\"/>\
             <xs:element name=\"{answer}\" type=\"xs:string\"/></xs:schema>"
        )
    };
    let yaml = "organism: {name: hostile, entry: end}\nlisteners:\n  \
        end: {run: [cat], schema: one.xsd, accepts: [ask], returns: [told], peers: [other, end], turns: 3}\n  \
        other: {run: [cat], schema: two.xsd, accepts: [ask]}\n  \
        lost: {run: [cat], schema: two.xsd, accepts: [said], peers: [other], turns: 2}\n";
    folder(&[
        ("organism.yaml", yaml),
        ("one.xsd", &schema("urn:one&amp;a", "told")),
        ("two.xsd", &schema("urn:two", "said")),
    ])
}

#[test]
fn names_are_escaped_in_every_drawing() {
    let node = |name: &str, peers: &[&str]| GraphNode {
        name: name.to_owned(),
        from_outside: vec!["operator".to_owned(), HOSTILE.to_owned()],
        takes: vec![HOSTILE.to_owned(), "an-element-of-a-long-name".repeat(4)],
        answers: vec![HOSTILE.to_owned()],
        peers: peers.iter().map(|peer| (*peer).to_owned()).collect(),
        approval: vec![HOSTILE.to_owned()],
        approval_if_marked: Vec::new(),
        is_workflow: false,
        depth: Some(1),
    };
    let listeners = vec![node("end", &[HOSTILE]), node(HOSTILE, &["end"])];
    let graph = ListenerGraph { organism: HOSTILE.to_owned(), entry: Some(HOSTILE.to_owned()), listeners };
    let picture = graph.picture();
    systole_kit::gate::check_document(&picture, &systole_kit::DocumentLimits::default()).unwrap();
    let picture = String::from_utf8(picture).unwrap();
    assert!(!picture.contains("<script") && picture.contains("&lt;script"), "{picture}");
    assert_eq!(
        String::from_utf8(layout::whole_lines(|| graph.picture())).unwrap(),
        picture,
        "a box has the same width on a page, where lines are not cut"
    );
    let chart = graph.mermaid();
    assert!(!chart.contains("<script") && !chart.contains("]; click"), "{chart}");
    for line in chart.lines().filter(|line| line.contains('"') && !line.contains("outside((")) {
        assert_eq!(line.matches('"').count(), 2, "a label that ends early: {line}");
    }
    for line in graph.text() {
        assert!(line.chars().count() <= 80 && !line.contains('\u{202e}'), "{line}");
    }
}

#[test]
fn one_name_in_two_namespaces_is_distinguished_and_unreachable_listeners_are_marked() {
    let folder = two_namespaces();
    let text = systole(folder.path(), &["graph"]).stdout;
    assert!(text.contains("<{urn:one&a}ask>") && text.contains("<told>"), "{text}");
    assert!(text.contains("lost: no listener addresses it"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_waits_for_a_person_is_marked_in_every_drawing() {
    let schema = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:v\" elementFormDefault=\"qualified\" xmlns:systole=\"urn:systole:schema:v1\">\
        <xs:element name=\"wipe\" type=\"xs:string\" systole:dangerous=\"true\"/><xs:element name=\"look\" type=\"xs:string\"/>\
        <xs:element name=\"done\" type=\"xs:string\"/></xs:schema>";
    let yaml = "organism: {name: held, entry: boss}\nlisteners:\n  \
        boss: {run: [cat], accepts: [ask], returns: [answer], entry: true, peers: [disk, vault], turns: 3}\n  \
        disk: {run: [cat], schema: v.xsd, accepts: [wipe, look], returns: [done]}\n  \
        vault: {run: [cat], schema: v.xsd, accepts: [look], returns: [done], approval: {when: always}}\n";
    let folder = folder(&[("organism.yaml", yaml), ("v.xsd", schema)]);
    let drawn = |format: &str| systole(folder.path(), &["graph", "--format", format]).stdout;
    let text = drawn("text");
    let line = |name: &str| text.lines().find(|line| line.contains(&format!("▶ {name} "))).unwrap();
    assert!(line("disk").ends_with("approval of <wipe>"), "{text}");
    assert!(line("vault").ends_with("  approval"), "{text}");
    assert!(!line("boss").contains("approval"), "{text}");
    let chart = drawn("mermaid");
    assert_eq!(chart.matches(" -. \"").count(), 2, "what waits is dashed: {chart}");
    assert!(drawn("svg").contains("approval of &lt;wipe&gt;"));
    let json = systole(folder.path(), &["graph", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let disk = json["listeners"].as_array().unwrap().iter().find(|one| one["name"] == "disk").unwrap();
    assert_eq!(disk["approval"], serde_json::json!(["wipe"]));
}

#[test]
fn a_drawing_goes_into_the_file_that_is_named() {
    let folder = two_namespaces();
    let ran = systole(folder.path(), &["graph", "--out", "who.svg"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(std::fs::read_to_string(folder.path().join("who.svg")).unwrap().starts_with("<svg "));
    let nowhere = systole(folder.path(), &["graph", "--out", "no/where.svg"]);
    assert!(nowhere.code == Some(5) && nowhere.stderr.contains("no/where.svg"), "{nowhere:?}");
    let before = std::fs::read(folder.path().join("organism.yaml")).unwrap();
    for (out, words) in
        [("organism.yaml", "names no format"), ("./organism.yaml", "names no format"), ("who.png", ".svg")]
    {
        let refused = systole(folder.path(), &["graph", "--out", out]);
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{refused:?}");
    }
    let forced = systole(folder.path(), &["graph", "--format", "text", "--out", "./organism.yaml"]);
    assert!(forced.code == Some(2) && forced.stderr.contains("never overwritten"), "{forced:?}");
    assert_eq!(std::fs::read(folder.path().join("organism.yaml")).unwrap(), before);
    assert!(!folder.path().join("who.png").exists());
    let json = systole(folder.path(), &["graph", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json["entry"].as_str(), json["listeners"][0]["depth"].as_u64()), (Some("end"), Some(1)));
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let ran = systole(folder.path(), &["completions", shell]);
        assert!(ran.code == Some(0) && ran.stdout.contains("graph"), "{shell}: {ran:?}");
        std::fs::write(folder.path().join(shell), &ran.stdout).unwrap();
    }
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./bash; COMP_WORDS=({words}); COMP_CWORD={at}; \
             _systole systole \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let bash = Command::new("bash").args(["--norc", "-c", &script]).current_dir(folder.path()).output();
        let bash = bash.unwrap();
        assert!(bash.stderr.is_empty(), "{}", String::from_utf8_lossy(&bash.stderr));
        String::from_utf8(bash.stdout).unwrap()
    };
    assert_eq!(complete("systole gra", 1), "graph\n");
    assert!(complete("systole graph --f", 2).contains("--format"));
    assert_eq!(complete("systole graph --format me", 3), "mermaid\n");
    assert_eq!(systole(folder.path(), &["completions", "tcl"]).code, Some(2));
}
