//! `systole mcp add`: servers that files for other hosts describe become listeners.

use super::house::ToolHouse;
use crate::program::Ran;

const HOSTS: &str = r#"{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@a/files", "./work"], "env": {"MODE": "fast: yes", "API_KEY": "s3cret", "HOME_URL": "${HOME_URL}"}},
  "tickets": {"type": "http", "url": "https://tickets.example/mcp", "headers": {"Authorization": "Bearer ${TICKETS}", "X-Other": "1"}},
  "old": {"type": "sse", "url": "https://old.example/sse"}}}"#;

const REGISTRY: &str = r#"{"name": "io.example/words", "packages": [{"registryType": "oci", "identifier": "x"},
  {"registryType": "pypi", "identifier": "words", "version": "1.2", "transport": {"type": "stdio"},
   "packageArguments": [{"type": "positional", "valueHint": "FOLDER"}, {"type": "named", "name": "--zone", "value": "UTC"}],
   "environmentVariables": [{"name": "LEVEL", "default": "low"}, {"name": "LOGIN", "isSecret": true, "value": "x"}, {"name": "MORE"}]}]}"#;

#[test]
fn g3_a_server_that_a_file_for_other_hosts_describes_becomes_a_listener() {
    let house = ToolHouse::new("  own: {mcp: [cat]}\n");
    house.write(".mcp.json", HOSTS);
    house.write("server.json", REGISTRY);
    house.write(
        "organism.yaml",
        "organism: {name: hands}\nlisteners:\n  # mine\n  own: {mcp: [cat]}\nlog: {path: ./hello.db}\n",
    );
    let files = house.systole(&["mcp", "add", "files"]);
    assert_eq!(files.code, Some(0), "{files:?}");
    let tickets = house.systole(&["mcp", "add", "tickets"]);
    let words = house.systole(&["mcp", "add", "words", "--from", "server.json"]);
    assert_eq!(
        house.read("organism.yaml"),
        r#"organism: {name: hands}
listeners:
  # mine
  own: {mcp: [cat]}
  files:
    mcp: ["npx", "-y", "@a/files", "./work"]
    env: {"MODE": "fast: yes"}
    pass: ["API_KEY", "HOME_URL"]
  tickets:
    mcp: "https://tickets.example/mcp"
    key_env: TICKETS
  words:
    mcp: ["uvx", "words==1.2", "FOLDER", "--zone", "UTC"]
    env: {"LEVEL": "low"}
    pass: ["LOGIN"]
log: {path: ./hello.db}
"#
    );
    for (ran, wanted) in [
        (&files, "set API_KEY where the organism runs"),
        (&files, "next: systole mcp pin files"),
        (&tickets, "the header X-Other was left out"),
        (&words, "replace FOLDER by an argument"),
    ] {
        assert!(ran.stderr.contains(wanted), "wanted {wanted}: {ran:?}");
    }
    // A refusal leaves the file as it was.
    let before = house.read("organism.yaml");
    for (arguments, code, wanted) in [
        (&["file"][..], 2, "did you mean files?"),
        (&["old"], 2, "SSE"),
        (&["files"], 3, "would be refused"),
        (&["x", "--from", "none.json"], 2, "--from FILE"),
        (&["x", "--from", "organism.yaml"], 2, "it is no JSON"),
    ] {
        let ran = house.systole(&[&["mcp", "add"], arguments].concat());
        assert!(ran.code == Some(code) && ran.stderr.contains(wanted), "{arguments:?}: {ran:?}");
    }
    assert_eq!(house.read("organism.yaml"), before);
}

/// Values that no message and no file may hold.
const SECRETS: [&str; 5] = ["sk-live-123", "hunter2", "p4t", "s3cret", "abc123"];

/// Adds `name` of an `.mcp.json` with these servers. Checks that no secret was copied or printed.
fn add(house: &ToolHouse, servers: &str, name: &str) -> Ran {
    house.write(".mcp.json", &format!("{{\"mcpServers\": {{{servers}}}}}"));
    let ran = house.systole(&["mcp", "add", name]);
    let yaml = house.read("organism.yaml");
    for secret in SECRETS {
        let all = [&ran.stdout, &ran.stderr, &yaml];
        assert!(all.iter().all(|text| !text.contains(secret)), "{secret} was copied: {ran:?} {yaml}");
    }
    ran
}

#[test]
fn g9_mcp_add_copies_no_variable_that_may_be_a_secret() {
    let house = ToolHouse::new("  own: {mcp: [cat]}\n");
    let servers = r#""one": {"command": "npx", "args": ["one", "--port", 3000, true], "env": {
        "DATABASE_URL": "postgres://u:hunter2@h/d", "GITHUB_PAT": "p4t", "LOGIN": "sk-live-123",
        "OPENAPI_MCP_HEADERS": "{\"Authorization\": \"Bearer s3cret\"}", "PGPASS": "hunter2",
        "PORT": 3000, "REGION": "us-east-1", "ROOT": "./work", "SITE": "https://a.example/v1"}}"#;
    let ran = add(&house, servers, "one");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let yaml = house.read("organism.yaml");
    for line in [
        r#"    mcp: ["npx", "one", "--port", "3000", "true"]"#,
        r#"    env: {"PORT": "3000", "REGION": "us-east-1", "ROOT": "./work", "SITE": "https://a.example/v1"}"#,
        r#"    pass: ["DATABASE_URL", "GITHUB_PAT", "LOGIN", "OPENAPI_MCP_HEADERS", "PGPASS"]"#,
    ] {
        assert!(yaml.contains(line), "{line}: {yaml}");
    }
    for name in ["DATABASE_URL", "GITHUB_PAT", "LOGIN", "OPENAPI_MCP_HEADERS", "PGPASS"] {
        let note = format!("the value of {name} was not copied");
        assert!(ran.stderr.contains(&note), "{note}: {ran:?}");
    }
}

#[test]
fn g9_mcp_add_refuses_an_argument_or_an_address_that_may_be_a_secret() {
    let house = ToolHouse::new("  own: {mcp: [cat]}\n");
    let before = house.read("organism.yaml");
    for (server, wanted, fix) in [
        (r#"{"command": "x", "args": ["--api-key", "sk-live-123"]}"#, "the value of --api-key", "`pass`"),
        (r#"{"command": "x", "args": ["--token=abc123"]}"#, "the value of --token", "`pass`"),
        (
            r#"{"command": "x", "args": ["postgresql://user:hunter2@db/x"]}"#,
            "a postgresql:// address",
            "`pass`",
        ),
        (r#"{"command": "x", "args": ["-H", "X: Bearer abc123"]}"#, "a text with Bearer", "`pass`"),
        (r#"{"url": "https://a.example/mcp?api_key=abc123"}"#, "the value of api_key", "`key_env`"),
        (r#"{"url": "https://u:hunter2@a.example/mcp"}"#, "a https:// address", "`key_env`"),
        (r#"{"command": "x", "args": ["a", null]}"#, "argument 2 is neither a text nor a number", ""),
    ] {
        let ran = add(&house, &format!("\"one\": {server}"), "one");
        assert_eq!(ran.code, Some(2), "{server}: {ran:?}");
        assert!(ran.stderr.contains(wanted) && ran.stderr.contains(fix), "{server}: {ran:?}");
        assert_eq!(house.read("organism.yaml"), before, "{server}");
    }
    house.write(
        "server.json",
        r#"{"packages": [{"registryType": "npm", "identifier": "one", "packageArguments": [
            {"type": "named", "name": "--login", "isSecret": true, "value": "hunter2"}]}]}"#,
    );
    let ran = house.systole(&["mcp", "add", "one", "--from", "server.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("the value of --login"), "{ran:?}");
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
    assert_eq!(house.read("organism.yaml"), before);
}

#[test]
fn g3_the_key_that_a_file_of_vs_code_asks_for_becomes_a_variable() {
    let house = ToolHouse::new("  own: {mcp: [cat]}\n");
    for (name, reference, variable) in
        [("a", "input:tok", "TOK"), ("b", "input:my-tok", "MY_TOK"), ("c", "env:TICKETS", "TICKETS")]
    {
        let header = format!("{{\"Authorization\": \"Bearer ${{{reference}}}\"}}");
        let server = format!("\"{name}\": {{\"url\": \"https://a.example/mcp\", \"headers\": {header}}}");
        let ran = add(&house, &server, name);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(house.read("organism.yaml").contains(&format!("    key_env: {variable}\n")), "{ran:?}");
        assert!(ran.stderr.contains(&format!("is called {variable} here")), "{ran:?}");
    }
}

#[test]
fn g3_an_address_with_a_key_names_only_keys_that_a_listener_has() {
    let house = ToolHouse::new("  own: {mcp: \"https://a.example/mcp?api_key=abc123\"}\n");
    let ran = house.systole(&["mcp", "pin"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("a query without it; key_env names"), "{ran:?}");
    assert!(!ran.stderr.contains("headers_env") && !ran.stderr.contains("abc123"), "{ran:?}");
}
