//! Payloads as a context shows them: text as text, everything else in one canonical form.

use systole_kit::{DocumentLimits, Payload, namespaces};
use systole_workflow::goal_request::{read_back, show_text};

fn shown(xml: &str) -> String {
    show_text(&Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap())
}

#[test]
fn f1_a_payload_of_text_is_its_text() {
    assert_eq!(shown("<ask xmlns='urn:x'>a &lt; b<![CDATA[ & c]]>&#13;\n</ask>"), "a < b & c\r\n");
    assert_eq!(shown("<ask xmlns='urn:x'/>"), "");
}

#[test]
fn f1_the_output_of_a_goal_is_its_text_whatever_it_says_of_itself() {
    let output = |inside: &str| {
        let ns = namespaces::WORKFLOW;
        shown(&format!("<goal-output xmlns='{ns}' id='polish' converged='true'>{inside}</goal-output>"))
    };
    assert_eq!(output("Done."), "Done.");
    assert_eq!(output("\nDone.\n\n"), "Done.\n");
}

#[test]
fn f1_any_other_payload_is_markup_that_does_not_depend_on_how_it_was_written() {
    let one = "<p:review xmlns:p='urn:x' b='1' a=\"'2'\"><p:score>9</p:score><p:note/>a &amp; b</p:review>";
    let other = "<review a=\"'2'\"\n b='1' xmlns='urn:x'><score><![CDATA[9]]></score><note></note><!-- x -->a &#38; b</review>";
    let expected = "<review a=\"'2'\" b=\"1\"><score>9</score><note></note>a &amp; b</review>";
    assert_eq!(shown(one), expected);
    assert_eq!(shown(other), expected);
    // Whitespace between elements is content as the sender wrote it.
    assert_eq!(shown("<l xmlns='urn:x'>\n <i>\r\nx&#13;</i></l>"), "<l>\n <i>\nx&#13;</i></l>");
    // An attribute alone counts as markup.
    assert_eq!(shown("<l xmlns='urn:x' n='1'>x</l>"), "<l n=\"1\">x</l>");
}

#[test]
fn f1_reading_back_drops_one_line_break_at_either_end() {
    for (text, back) in [
        ("\nIt scales.\n  ", "It scales."),
        ("\n\n It scales.\n\n", "\n It scales.\n"),
        ("\n\n  ", ""),
        ("It scales.", "It scales."),
        ("It scales. ", "It scales. "),
        ("\nx\r\n", "x\r"),
        ("\n", ""),
        ("", ""),
    ] {
        assert_eq!(read_back(text), back, "{text:?}");
    }
}
