//! A server that asks a person in the middle of a call.

use std::path::Path;

use super::house::{ToolHouse, prepared, python, python_path};
use crate::program::{Ran, Running};

/// One listener, `asker`, whose server asks who books.
fn house() -> ToolHouse {
    let house = ToolHouse::new(&format!(
        "  asker:\n    mcp: [{}, asker.py]\n    sandbox: {{write: [./state]}}\n    safe: [book, think, draw]\n    entry: true\n",
        python()
    ));
    std::fs::create_dir(house.path().join("state")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/asker.py");
    std::fs::copy(script, house.path().join("asker.py")).unwrap();
    house.pinned();
    house
}

fn form(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| {
        format!("<field name=\"{name}\" type=\"string\" required=\"true\"><value>{value}</value></field>")
    };
    let fields: String = fields.iter().map(field).collect();
    format!(
        "<input-form xmlns=\"https://xml-pipeline.org/ns/mcp/v1\"><tool>book</tool><question key=\"who\">\
         <message>changed</message>{fields}</question><question key=\"other\"><message/></question></input-form>"
    )
}

fn says(ran: &Ran, code: i32, wanted: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for wanted in wanted {
        assert!(ran.stdout.contains(wanted) || ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
}

/// Amends the form `id` with these values, and waits until `next` is shown.
fn amended(house: &ToolHouse, id: &str, fields: &[(&str, &str)], next: &str) {
    house.write("form.xml", &form(fields));
    says(&house.systole(&["amend", id, "--file", "form.xml"]), 0, &["is amended"]);
    house.until(|| {
        house.systole(&["approve"]).stdout.contains(next) || house.read("state/heard").contains(next)
    });
}

#[test]
fn g3_a_person_answers_a_servers_question_by_amending_and_is_asked_again_if_it_does_not_fit() {
    let house = house();
    let organism = Running::organism(house.path());
    let asked = house.systole(&["send", "--to", "asker", "book"]);
    says(&asked, 6, &["waits for a person: approval a1 (input-form, asker)"]);
    says(&house.systole(&["approve"]), 0, &["books?", "name=\"email\"", "<value>1</value>"]);
    amended(&house, "a1", &[("email", "a@b"), ("seats", "two")], "seats is a number, not two");
    amended(&house, "a2", &[("email", "ab"), ("seats", "2")], "is shorter than 3 characters");
    amended(&house, "a3", &[("email", "abc"), ("more", "x")], "there is no field more");
    // The server asks once more, with a state that only it knows.
    amended(&house, "a4", &[("email", "again")], "Once more");
    amended(&house, "a5", &[("email", "a@b"), ("seats", "3"), ("news", "true")], "state-2");
    let heard = house.read("state/heard");
    let accepted = r#"["state-2", {"who": {"action": "accept", "content": {"email": "a@b", "news": true, "seats": 3}}}]"#;
    assert!(heard.contains("offered {\"elicitation\": {\"form\": {}, \"url\": {}}}"), "{heard}");
    assert!(heard.contains("[\"state-1\", {\"who\"") && heard.contains(accepted), "{heard}");
    house.until(|| house.systole(&["log"]).stdout.contains("booked for"));
    drop(organism);
}

/// A server of the framework FastMCP that asks in the middle of a call, which it can in the older revision only.
const FAST: &str = r#"
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

class Guest(BaseModel):
    name: str
    seats: int

server = MCPServer("fast")

@server.tool()
async def book(day: str, ctx: Context) -> str:
    """Books a table."""
    asked = await ctx.elicit("Who comes?", Guest)
    if asked.action != "accept":
        return "not booked: " + asked.action
    return f"{day}: {asked.data.name}, {asked.data.seats}"

server.run("stdio")
"#;

#[test]
fn g3_a_person_answers_a_server_of_fastmcp_by_the_names_of_the_fields() {
    let house = ToolHouse::new(&format!(
        "  fast:\n    mcp: [{}, fast.py]\n    env: {}\n    sandbox: {{read: [{}]}}\n    safe: [book]\n    entry: true\n",
        python(),
        python_path(),
        prepared("mcp-python").display(),
    ));
    house.write("fast.py", FAST);
    let pinned = house.pinned();
    assert!(pinned.contains("MCP 2025-11-25") && pinned.contains("Books a table."), "{pinned}");
    let organism = Running::organism(house.path());
    let asked = house.systole(&["send", "--to", "fast", "book", "day=Friday"]);
    says(&asked, 6, &["waits for a person: approval a1 (input-form, fast)"]);
    says(&house.systole(&["approve"]), 0, &["Who comes?", "systole amend a1 FIELD=VALUE"]);
    says(&house.systole(&["amend", "a1", "nam=Al"]), 4, &["there is no field nam; there are name, seats"]);
    says(&house.systole(&["amend", "a1", "name=Al", "seats=two"]), 0, &["is amended"]);
    house.until(|| house.systole(&["approve"]).stdout.contains("seats is a number, not two"));
    says(&house.systole(&["amend", "a2", "seats=2"]), 0, &["is amended"]);
    house.until(|| house.systole(&["log"]).stdout.contains("Friday: Al, 2"));
    says(&house.systole(&["send", "--to", "fast", "book", "day=Monday"]), 6, &["approval a3"]);
    says(&house.systole(&["reject", "a3", "--note", "no"]), 0, &["a3"]);
    house.until(|| house.systole(&["log"]).stdout.contains("not booked: decline"));
    drop(organism);
}

#[test]
fn g3_rejecting_a_servers_question_declines_it() {
    let house = house();
    let organism = Running::organism(house.path());
    says(&house.systole(&["send", "--to", "asker", "book"]), 6, &["approval a1"]);
    says(&house.systole(&["reject", "a1", "--note", "no"]), 0, &["a1"]);
    house.until(|| house.systole(&["log"]).stdout.contains("not booked: decline"));
    drop(organism);
}

#[test]
fn g3_a_servers_question_without_an_answer_in_time_is_cancelled() {
    let house = house();
    let yaml = house.read("organism.yaml");
    house.write(
        "organism.yaml",
        &yaml.replace("    entry: true\n", "    entry: true\n    approval: {expires: 1s}\n"),
    );
    let organism = Running::organism(house.path());
    says(&house.systole(&["send", "--to", "asker", "book"]), 6, &["approval a1"]);
    house.until(|| house.systole(&["log"]).stdout.contains("not booked: cancel"));
    drop(organism);
}

#[test]
fn g3_a_form_is_over_when_the_listener_was_started_again() {
    let house = house();
    says(&house.systole(&["send", "--to", "asker", "book"]), 6, &["approval a1"]);
    house.write("form.xml", &form(&[("email", "a@b")]));
    let organism = Running::organism(house.path());
    says(&house.systole(&["amend", "a1", "--file", "form.xml"]), 0, &["is amended"]);
    let has_heard = || house.read("state/heard").contains("accept");
    house.until(|| house.systole(&["log"]).stdout.contains("mcp.input-lost") || has_heard());
    assert!(!has_heard(), "{}", house.read("state/heard"));
    drop(organism);
}

#[test]
fn g3_no_other_sends_a_form_no_model_is_asked_and_an_image_is_named_with_its_hash() {
    let house = house();
    let organism = Running::organism(house.path());
    house.write("form.xml", &form(&[("email", "a@b")]));
    says(&house.systole(&["send", "--to", "asker", "--file", "form.xml"]), 6, &["approval a1"]);
    says(&house.systole(&["approve", "a1"]), 0, &["a1"]);
    house.until(|| house.systole(&["log"]).stdout.contains("only the listener itself sends"));
    let think = house.systole(&["send", "--to", "asker", "think"]);
    says(&think, 1, &["mcp.input-refused", "does not offer"]);
    let draw = house.systole(&["send", "--to", "asker", "draw"]);
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    says(&draw, 0, &["kind=\"image\" type=\"image/png\" bytes=\"5\"", sha256]);
    drop(organism);
}
