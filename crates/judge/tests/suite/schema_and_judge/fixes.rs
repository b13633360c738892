//! A program follows the fix of each refusal and reads only the path and the fix: every order of the elements of
//! one content, paths under several prefixes, types that a document chooses, short bytes.

use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::{PayloadFinding, SchemaModel};

use super::repairing;

struct FixBench {
    model: SchemaModel,
    judge: LibxmlJudge,
    id: CompiledSchemaId,
}

impl FixBench {
    /// A schema of these declarations in `urn:t`.
    fn of(declarations: &str) -> FixBench {
        let xsd = format!(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\" \
             elementFormDefault=\"qualified\">{declarations}</xs:schema>"
        );
        let source = SchemaSource { name: "t".to_owned(), xsd: xsd.into_bytes() };
        let judge = LibxmlJudge::compile_sources(&[source]).unwrap_or_else(|refused| panic!("{refused}"));
        let id = judge.find_schema("t").expect("it was compiled under this name");
        FixBench { model: judge.find_model(id).expect("each has its model").clone(), judge, id }
    }

    fn is_valid(&mut self, payload: &str) -> bool {
        self.judge.judge_payload(self.id, payload.as_bytes()) == SchemaVerdict::Valid
    }

    fn finding(&self, payload: &str) -> PayloadFinding {
        self.model.explain_refused(payload.as_bytes()).unwrap_or_else(|| panic!("no words for {payload}"))
    }

    /// Follows the refusals until the payload is admitted, and returns the payload and the number of steps.
    fn followed(&mut self, payload: &str, most: usize) -> (String, usize) {
        let mut text = payload.to_owned();
        for step in 0..=most {
            if self.is_valid(&text) {
                return (text, step);
            }
            let finding = self.finding(&text);
            text = repairing::apply(&text, &finding.path, &finding.fix)
                .unwrap_or_else(|| panic!("not to be done: {} in {text}", finding.fix));
        }
        panic!("not admitted after {most} steps: {payload}\nit is now {text}");
    }
}

/// Every order of these, each once.
fn orders<'t>(of: &[&'t str]) -> Vec<Vec<&'t str>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..of.len() {
        if of[..at].contains(&of[at]) {
            continue;
        }
        let rest = [&of[..at], &of[at + 1..]].concat();
        all.extend(orders(&rest).into_iter().map(|rest| [&[of[at]], &rest[..]].concat()));
    }
    all
}

#[test]
fn a9_every_wrong_order_of_an_order_is_put_right_by_the_words_and_loses_nothing() {
    let mut bench = FixBench::of(
        r#"<xs:element name="order"><xs:complexType><xs:sequence>
             <xs:element name="title" type="xs:string" minOccurs="0"/>
             <xs:element name="line" type="xs:string" maxOccurs="unbounded"/>
             <xs:element name="total" type="xs:int"/>
             <xs:element name="note" type="xs:string" minOccurs="0"/>
           </xs:sequence></xs:complexType></xs:element>"#,
    );
    let (title, line, total, note) =
        ("<title>a</title>", "<line>b</line>", "<total>1</total>", "<note>c</note>");
    let mut wrong = 0;
    for lines in 1..=3 {
        for (with_title, with_note) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut right = vec![line; lines];
            right.push(total);
            if with_title {
                right.insert(0, title);
            }
            if with_note {
                right.push(note);
            }
            for order in orders(&right) {
                let payload = format!("<order xmlns=\"urn:t\">{}</order>", order.concat());
                if order == right {
                    assert!(bench.is_valid(&payload), "{payload}");
                    continue;
                }
                wrong += 1;
                // Each step is one move, and four kinds of elements need no more than three.
                let (done, _) = bench.followed(&payload, lines + 2);
                assert_eq!(done, format!("<order xmlns=\"urn:t\">{}</order>", right.concat()), "{payload}");
            }
        }
    }
    // All orders of twelve contents, without the correct ones.
    assert_eq!(wrong, 277);
}

#[test]
fn a_path_counts_what_has_one_local_name_under_several_prefixes() {
    let mut bench = FixBench::of(
        r#"<xs:element name="order"><xs:complexType><xs:sequence>
             <xs:element name="line" type="xs:int" maxOccurs="unbounded"/>
           </xs:sequence></xs:complexType></xs:element>"#,
    );
    let payload = "<m:order xmlns:m=\"urn:t\"><m:line>1</m:line><line>2</line></m:order>";
    let finding = bench.finding(payload);
    assert_eq!(finding.path, "/order/line[2]");
    assert_eq!(finding.message, "line: it has no namespace, expected urn:t");
    let (_, steps) = bench.followed(payload, 1);
    assert_eq!(steps, 1);
}

#[test]
fn a_type_that_a_document_chooses_wrongly_is_to_be_left_out() {
    let mut bench = FixBench::of(
        r#"<xs:element name="order"><xs:complexType><xs:sequence>
             <xs:element name="line" type="xs:int" maxOccurs="unbounded"/>
           </xs:sequence></xs:complexType></xs:element>"#,
    );
    let of = |chosen: &str| {
        format!(
            "<order xmlns=\"urn:t\" xmlns:x=\"http://www.w3.org/2001/XMLSchema-instance\">\
             <line>1</line><line x:type=\"{chosen}\">2</line></order>"
        )
    };
    let finding = bench.finding(&of("stray"));
    assert_eq!(finding.path, "/order/line[2]/@x:type");
    assert_eq!(finding.message, "line: x:type=stray does not fit: the schema says which type line has");
    assert_eq!(bench.followed(&of("stray"), 1).1, 1);
    // Without the verdict of the judge it has no fault.
    assert_eq!(bench.model.explain_payload(of("stray").as_bytes()), None);
}

#[test]
fn an_attribute_of_another_namespace_is_named_as_it_is_written() {
    let mut bench = FixBench::of(
        r#"<xs:element name="order"><xs:complexType><xs:attribute name="lang" type="xs:token"/></xs:complexType></xs:element>"#,
    );
    let payload = "<order xmlns=\"urn:t\" lang=\"en\" xml:lang=\"en\"/>";
    assert_eq!(bench.finding(payload).path, "/order/@xml:lang");
    let (done, steps) = bench.followed(payload, 1);
    assert!(steps == 1 && done.contains(" lang=\"en\""), "{done}");
}

#[test]
fn bytes_of_every_short_length_have_a_fix() {
    for base in ["base64Binary", "hexBinary"] {
        for length in 1..=5 {
            for facet in ["length", "minLength", "maxLength"] {
                let mut bench = FixBench::of(&format!(
                    r#"<xs:element name="blob"><xs:simpleType><xs:restriction base="xs:{base}">
                         <xs:{facet} value="{length}"/></xs:restriction></xs:simpleType></xs:element>"#
                ));
                let wrong = if facet == "maxLength" { "AAAAAAAAAAAAAAAA" } else { "" };
                let payload = format!("<blob xmlns=\"urn:t\">{wrong}</blob>");
                assert_eq!(bench.followed(&payload, 1).1, 1, "{base} {facet} {length}");
            }
        }
    }
}

#[test]
fn more_disorder_than_the_search_takes_in_offers_nothing_to_do() {
    let declared: String = (0..60).map(|n| format!("<xs:element name=\"e{n}\" type=\"xs:int\"/>")).collect();
    let bench = FixBench::of(&format!(
        r#"<xs:element name="order"><xs:complexType><xs:sequence>{declared}</xs:sequence></xs:complexType></xs:element>"#
    ));
    let backwards: String = (0..60).rev().map(|n| format!("<e{n}>1</e{n}>")).collect();
    let finding = bench.finding(&format!("<order xmlns=\"urn:t\">{backwards}</order>"));
    assert_eq!(finding.fix, "bring the elements of <order> into the form that is expected");
    assert_eq!(repairing::apply("<order/>", "/order", &finding.fix), None);
}
