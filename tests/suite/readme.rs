//! Runs the session in the README, word for word: every command, in a copy of the folder it names. Only times of day
//! and durations are removed on both sides.

use std::path::Path;

use crate::session::{Shell, copy, steps, untimed};

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// What a newcomer sees without scrolling: what Systole is, how to see it, how to ask it, what one writes, what it
/// answers, and who should not use it. Everything else comes below.
#[test]
fn the_first_screen_has_what_a_newcomer_looks_for() {
    let page = page();
    let screen = page.split("\n## ").next().unwrap();
    assert!(screen.trim_end().lines().count() <= 45, "{} lines", screen.trim_end().lines().count());
    for part in [
        " on Linux ",
        " stop, question and prove",
        "](docs/",
        "[Install](docs/install.md)",
        " minutes on two processors",
        "\nmake demo ",
        "\nmake install ",
        "\nsystole init ",
        "systole ask ",
        "\n```yaml\n",
        "| Why did it say that? | `systole why`",
        "\n**Not for you if** ",
    ] {
        assert!(screen.contains(part), "{part} is not on the first screen");
    }
}

/// The till of the file: a program of ten lines.
const TILL: &str = r#"import sys, xml.etree.ElementTree as ET
for line in sys.stdin:
    meta, refund = ET.fromstring(line)
    delivery = meta.find("{urn:systole:stamp:v1}stamp").get("delivery")
    reply = ET.Element("{urn:systole:listener:v1}reply", delivery=delivery)
    ET.SubElement(reply, "{https://xml-pipeline.org/ns/desk/v1}refunded").text = "paid " + refund[1].text
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

/// The file as it is shown, with a script in place of the model.
#[test]
fn the_ten_lines_of_the_readme_are_an_agent_a_tool_and_a_decision() {
    let yaml = page().split("```yaml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    assert!(yaml.lines().count() <= 10);
    let shell = Shell::new();
    let write = |name: &str, text: &str| std::fs::write(shell.folder().join(name), text).unwrap();
    write("organism.yaml", &yaml);
    write("till.py", TILL);
    write(
        "replies.yaml",
        "clerk:\n  - call: {refund: {order: a7, amount: 12.5}}\n  - {if: paid, say: It is paid.}\n",
    );
    let checked = shell.run("ANTHROPIC_API_KEY=x systole check");
    assert!(checked.contains("nothing is wrong") && checked.contains("a person approves"), "{checked}");
    shell.run("sed -i 's/provider: anthropic, .*}/provider: script, file: replies.yaml}}/' organism.yaml");
    let asked = shell.run("systole ask 'My cup came broken, order a7.' || echo \"exit $?\"");
    assert!(asked.contains("waits for a person") && asked.ends_with("exit 6\n"), "{asked}");
    shell.run("systole run --detach && systole approve a1");
    let paid = "systole tree @last | grep -q 'clerk  <ask>.* answered <answer>'";
    shell.run(&format!("for i in $(seq 600); do {paid} && break; sleep 0.1; done"));
    let log = shell.run("systole log @last; systole stop");
    assert!(log.contains("paid 12.5") && log.contains("It is paid."), "{log}");
}

#[test]
fn the_session_in_the_readme_is_what_one_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell::new();
    copy(&root.join("config/team"), &shell.folder());
    let steps = steps(&page());
    assert_eq!(steps.len(), 1, "the session was found");
    shell.run("systole ask 'What makes a heart beat?'");
    for step in steps {
        let said = shell.run(&step.command);
        assert_eq!(untimed(&said), untimed(&step.shown), "{}", step.command);
    }
}
