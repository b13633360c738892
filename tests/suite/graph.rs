//! `systole graph` and `systole completions`: the drawings of an organism, word for word, and a shell that
//! completes.

use std::path::Path;
use std::process::Command;

use crate::organism::folder;
use crate::program::systole;

/// The drawing of an organism of `config/`, held against the file that is kept of it.
fn golden(organism: &str, format: &str, file: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = systole(&root.join("config").join(organism), &["graph", "--format", format]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let kept = root.join("tests/suite/golden/graph").join(file);
    if std::env::var_os("SYSTOLE_GOLDEN").is_some() {
        std::fs::write(&kept, &ran.stdout).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap_or_default(), ran.stdout, "{file}");
}

#[test]
fn the_graph_of_a_shop_is_drawn_in_three_ways() {
    for (format, file) in [("text", "beat.txt"), ("mermaid", "beat.mmd"), ("svg", "beat.svg")] {
        golden("beat", format, file);
    }
}

#[test]
fn the_graph_of_a_crowd_tells_who_may_come_in_and_fits_a_terminal() {
    golden("soak", "text", "soak.txt");
    golden("soak", "svg", "soak.svg");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = std::fs::read_to_string(root.join("tests/suite/golden/graph/soak.txt")).unwrap();
    assert!(kept.lines().all(|line| line.chars().count() <= 80), "{kept}");
}

/// Two namespaces that would end an attribute, a label or a tag if they were written as they are.
const HOSTILE: [&str; 2] = ["x&quot;]--&gt;&lt;script&gt;1&lt;/script&gt;", "y&quot;]; click n0 href #1;"];

fn hostile() -> tempfile::TempDir {
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
        ("one.xsd", &schema(HOSTILE[0], "told")),
        ("two.xsd", &schema(HOSTILE[1], "said")),
    ])
}

#[test]
fn names_are_escaped_in_every_drawing() {
    let folder = hostile();
    let draw = |format: &str| {
        let ran = systole(folder.path(), &["graph", "--format", format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    let picture = draw("svg");
    assert!(!picture.contains("<script") && picture.contains("&lt;script"), "{picture}");
    systole_kit::gate::check(picture.as_bytes(), &systole_kit::Limits::default()).unwrap();
    let chart = draw("mermaid");
    assert!(!chart.contains("<script") && !chart.contains("]; click"), "{chart}");
    for line in chart.lines().filter(|line| line.contains('"') && !line.contains("outside((")) {
        assert_eq!(line.matches('"').count(), 2, "a label that ends early: {line}");
    }
    let text = draw("text");
    // The same element in two namespaces is told apart; whoever nobody reaches is said to be.
    assert!(text.contains("<{x\"]--><script>1</script>}ask>") && text.contains("<told>"), "{text}");
    assert!(text.contains("lost: nobody addresses it"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_drawing_goes_into_the_file_that_is_named() {
    let folder = hostile();
    let ran = systole(folder.path(), &["graph", "--out", "who.svg"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(std::fs::read_to_string(folder.path().join("who.svg")).unwrap().starts_with("<svg "));
    let nowhere = systole(folder.path(), &["graph", "--out", "no/where.svg"]);
    assert!(nowhere.code == Some(5) && nowhere.stderr.contains("no/where.svg"), "{nowhere:?}");
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
