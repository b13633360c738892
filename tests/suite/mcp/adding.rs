//! `systole mcp add`: servers that files for other hosts describe become listeners.

use super::house::ToolHouse;

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
