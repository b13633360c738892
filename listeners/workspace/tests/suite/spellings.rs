//! Every form of a change in both vocabularies, with all attributes that models write, and absolute paths.

use super::room::Room;

const SEEN: &str = "/home/ubuntu/project";

fn room() -> Room {
    Room::new(&[
        ("src/app.tsx", "const TIMEOUT = 5000;\nclassName=\"gray\"\n"),
        ("config.json", "{}\n"),
        ("src/utils.ts", "1\n2\n"),
    ])
}

#[test]
fn g2_every_form_of_both_vocabularies_is_taken_with_absolute_paths() {
    for base in ["root", SEEN, ""] {
        let room = room();
        let root = room.path("").display().to_string();
        let root = match base {
            "root" => root.trim_end_matches('/').to_owned() + "/",
            "" => String::new(),
            seen => format!("{seen}/"),
        };
        let folder = if root.is_empty() { "." } else { root.trim_end_matches('/') };
        let done = room.done(&format!(
            "<c:shell id=\"default\" exec_dir=\"{folder}\">\ncat src/new.ts &amp;&amp; true\n</c:shell>\
             <c:str_replace path=\"{root}src/app.tsx\">\n<c:old_str>const TIMEOUT = 5000;</c:old_str>\n\
             <c:new_str>const TIMEOUT = 10000;</c:new_str>\n</c:str_replace>\
             <c:create_file path=\"{root}src/new.ts\">\nexport function total(items: Item[]): number {{}}\n</c:create_file>"
        ));
        assert!(done.results()[0].3.contains("export function total"), "{base}: {}", done.text());
        room.done(&format!(
            "<p:proposed_file_replace_substring file_path=\"{root}src/app.tsx\" change_summary=\"Blue\">\
             <p:old_str>className=\"gray\"</p:old_str><p:new_str>className=\"blue\"</p:new_str>\
             </p:proposed_file_replace_substring>\
             <p:proposed_file_replace file_path=\"{root}config.json\" change_summary=\"New\">\n{{\"a\": 1}}\n\
             </p:proposed_file_replace>\
             <p:proposed_file_insert file_path=\"{root}src/utils.ts\" change_summary=\"More\" line_number=\"2\">\n  x\n\
             </p:proposed_file_insert>\
             <p:proposed_shell_command working_directory=\"{folder}\" is_dangerous=\"false\">\n  cat config.json\n\
             </p:proposed_shell_command><p:proposed_actions summary=\"Change all\"/>"
        ));
        assert_eq!(room.read("src/app.tsx"), "const TIMEOUT = 10000;\nclassName=\"blue\"\n");
        assert_eq!(room.read("src/utils.ts"), "1\n  x\n2\n");
    }
}

#[test]
fn g2_an_absolute_path_elsewhere_is_outside_of_the_folder() {
    let room = room();
    for path in ["/home/ubuntu/projects/a", "/home/ubuntu/project/../a", "/home/ubuntu", "/etc/passwd"] {
        let create = format!("<c:create_file path=\"{path}\">x</c:create_file>");
        room.refused(&create, "workspace.outside-root");
        let shell = format!("<c:shell exec_dir=\"{path}\">true</c:shell>");
        room.refused(&shell, "workspace.outside-root");
    }
    room.refused(&format!("<c:create_file path=\"{SEEN}\">x</c:create_file>"), "workspace.bad-path");
    room.done(&format!(
        "<c:patch>*** Begin Patch\n*** Update File: {SEEN}/config.json\n*** Move to: {SEEN}/moved.json\n@@\n-{{}}\n+{{\"a\": 1}}\n*** End Patch</c:patch>"
    ));
    assert_eq!(room.read("moved.json"), "{\"a\": 1}\n");
}

#[test]
fn g2_an_installation_may_name_typescript_or_javascript() {
    for language in ["typescript", "javascript", "node"] {
        let room = room();
        let call = room.call();
        let install =
            format!("<p:proposed_package_install language=\"{language}\" package_list=\"zod,drizzle-orm\"/>");
        let order = room.ask(&call, super::room::change_set(&install));
        assert!(order.text().contains("npm install zod drizzle-orm"), "{}", order.text());
        assert!(order.is_dangerous());
    }
}
