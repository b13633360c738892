//! Changes some values of a payload and keeps the others.
//!
//! A payload and `name=value` arguments come in; the payload with these values goes out. An argument replaces the value
//! that has its name, and all values of a repeated name if it names none of them by its number. A name that the payload
//! does not have yet adds a value. The builder of the command line makes the payload, so the same mistakes are found.

use std::collections::BTreeMap;

use super::fields::{NOTHING, find_name};
use super::given::ValueSlip;
use crate::SchemaModel;
use crate::form::JsonRecord;

impl SchemaModel {
    /// The values of a payload as arguments of the command line, in its order. `None` if it has no form.
    pub fn to_fields(&self, payload: &[u8]) -> Option<Vec<String>> {
        let mut fields = self.list_values(payload)?;
        // No command line says that.
        fields.retain(|field| !field.ends_with(NOTHING));
        Some(fields)
    }

    /// The same, also for parts that hold nothing.
    fn list_values(&self, payload: &[u8]) -> Option<Vec<String>> {
        let values = self.form_values(payload).ok()?;
        let mut named: Vec<(&str, &str)> = values.iter().collect();
        named.sort_by_key(|(name, _)| sort_by_numbers(name));
        let argument = |(name, value): &(&str, &str)| match name.strip_suffix("/+") {
            Some(part) if !named.iter().any(|(other, _)| is_inside(other, part)) => {
                write_argument(part, NOTHING)
            }
            _ => write_argument(name, value),
        };
        Some(named.iter().filter_map(argument).collect())
    }

    /// A payload of a global element with some of its values changed. `None` if no arguments make the payload as it is.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn change_fields(
        &self,
        element: &str,
        payload: &[u8],
        arguments: &[&str],
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        let own = self.list_values(payload)?;
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let same = self.from_fields(element, &own)?.ok()?;
        if self.to_json(&same).ok()? != self.to_json(payload).ok()? {
            return None;
        }
        let record = JsonRecord::of_root(&self.schema, self.schema.find_global(element)?.of);
        let name = |argument| find_name(&record, argument);
        let names: Vec<&str> =
            own.iter().map(|own| own.split_once('=').map_or(*own, |(name, _)| name)).collect();
        let (mut replaced, mut given) = (vec![false; own.len()], BTreeMap::<usize, Vec<&str>>::new());
        for argument in arguments {
            let places = find_places(&names, name(argument));
            given.entry(places.first().copied().unwrap_or(own.len())).or_default().push(argument);
            replaced
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| places.contains(at))
                .for_each(|(_, is)| *is = true);
        }
        let mut fields = Vec::with_capacity(own.len() + arguments.len());
        for (at, (own, is_replaced)) in own.iter().zip(replaced).enumerate() {
            fields.extend(given.remove(&at).into_iter().flatten());
            fields.extend((!is_replaced).then_some(*own));
        }
        fields.extend(given.into_values().flatten());
        self.from_fields(element, &fields)
    }
}

/// Whether a posted name is that of a part's own value, or of one inside it.
fn is_inside(name: &str, part: &str) -> bool {
    let rest = name.strip_prefix(part).filter(|rest| *rest != "/+");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The values that an argument with this name replaces.
fn find_places(names: &[&str], name: &str) -> Vec<usize> {
    let loose = write_loosely(name);
    let has = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, own)| is_it(own)).map(|(at, _)| at).collect()
    };
    let ways: [&dyn Fn(&str) -> bool; 3] = [&|own| own == name, &|own| write_loosely(own) == loose, &|own| {
        leave_out_numbers(&write_loosely(own)) == loose
    }];
    ways.into_iter().map(has).find(|places| !places.is_empty()).unwrap_or_default()
}

/// A name without what may be left out of it: the sign of an attribute, and the name of the items of a list.
fn write_loosely(name: &str) -> String {
    name.replace(".item[", "[").replace('@', "")
}

fn leave_out_numbers(name: &str) -> String {
    name.split('[')
        .enumerate()
        .map(|(at, part)| match part.split_once(']') {
            Some((_, rest)) if at > 0 => rest,
            _ => part,
        })
        .collect()
}

/// A name that sorts by the numbers in it.
fn sort_by_numbers(name: &str) -> String {
    let padded = |part: &str| match part.split_once(']') {
        Some((digits, rest)) => format!("[{digits:0>6}]{rest}"),
        None => part.to_owned(),
    };
    name.split('[').map(padded).collect()
}

/// A posted value as an argument: `/order/line[2]/sku` is `line[2].sku`.
fn write_argument(name: &str, value: &str) -> Option<String> {
    let (_, inner) = name.trim_start_matches('/').split_once('/')?;
    let is_choice = inner.rsplit('/').next().is_some_and(|last| last.starts_with('?') || last == "+");
    let inner = inner.strip_suffix("/.").unwrap_or(inner);
    (!is_choice).then(|| format!("{}={value}", inner.replace('/', ".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posted_name_is_an_argument() {
        assert_eq!(write_argument("/order/line[2]/@n", "7").as_deref(), Some("line[2].@n=7"));
        assert_eq!(write_argument("/say/.", "hi").as_deref(), Some(".=hi"));
        assert_eq!(write_argument("/order/?.0", "1"), None);
        assert!(
            is_inside("/order/tags/item[1]", "/order/tags") && !is_inside("/order/tags/+", "/order/tags")
        );
        assert!(sort_by_numbers("/order/line[2]/sku") < sort_by_numbers("/order/line[10]/sku"));
    }

    const ORDER: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:o" elementFormDefault="qualified">
<xs:element name="order"><xs:complexType><xs:sequence>
<xs:element name="city" type="xs:string"/><xs:element name="amount" type="xs:int" minOccurs="0"/>
<xs:element name="tags"><xs:complexType><xs:sequence><xs:element name="item" type="xs:string" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
<xs:element name="line" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:sequence><xs:element name="sku" type="xs:string"/></xs:sequence><xs:attribute name="n" type="xs:int"/></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element></xs:schema>"#;

    fn change(inside: &str, arguments: &[&str]) -> String {
        let model = SchemaModel::from_xsd(ORDER.as_bytes()).unwrap();
        let payload = format!("<o:order xmlns:o=\"urn:o\">{inside}</o:order>");
        let changed = model.change_fields("order", payload.as_bytes(), arguments).unwrap();
        changed.map_or_else(
            |slips| slips.first().unwrap().message.clone(),
            |made| {
                String::from_utf8(made)
                    .unwrap()
                    .replace("<order xmlns=\"urn:o\">", "")
                    .replace("</order>", "")
            },
        )
    }

    #[test]
    fn d10_values_are_changed_and_the_others_stay() {
        let own = "<o:city>Rome</o:city>\n <o:tags><o:item>a</o:item><o:item>b=c</o:item></o:tags><o:line n=\"1\"><o:sku>x</o:sku></o:line><o:line><o:sku>y</o:sku></o:line>";
        let lines = "<line n=\"1\"><sku>x</sku></line><line><sku>y</sku></line>";
        let same = format!("<city>Rome</city><tags><item>a</item><item>b=c</item></tags>{lines}");
        assert_eq!(change(own, &[]), same);
        assert_eq!(
            change(own, &["city=Bergen", "amount=3"]),
            same.replace("Rome</city>", "Bergen</city><amount>3</amount>")
        );
        assert_eq!(change(own, &["tags[2]=d"]), same.replace("b=c", "d"));
        assert_eq!(change(own, &["tags.item[2]=d"]), same.replace("b=c", "d"));
        assert_eq!(
            change(own, &["tags=d", "tags=e", "tags=f"]),
            same.replace("<item>a</item><item>b=c</item>", "<item>d</item><item>e</item><item>f</item>")
        );
        assert_eq!(
            change(own, &["line[2].sku=z", "line[1].n=7"]),
            same.replace("y<", "z<").replace("n=\"1\"", "n=\"7\"")
        );
        assert_eq!(
            change("<o:city>Rome</o:city><o:tags/>", &["city=Oslo"]),
            "<city>Oslo</city><tags></tags>"
        );
        assert!(change(own, &["cty=Oslo"]).contains("did you mean city"));
        assert!(change(own, &["amount=x"]).contains("amount"));
    }
}
