//! Simple types, each with valid and invalid values.

pub(super) struct Simple {
    pub(super) name: &'static str,
    /// The content of `xs:simpleType`.
    pub(super) xsd: &'static str,
    pub(super) good: &'static [&'static str],
    pub(super) bad: &'static [&'static str],
}

macro_rules! simples {
    ($($name:ident $base:literal $facets:literal $good:expr, $bad:expr;)+) => {
        $(pub(super) static $name: Simple = Simple {
            name: stringify!($name),
            xsd: concat!("<xs:restriction base=\"xs:", $base, "\">", $facets, "</xs:restriction>"),
            good: &$good,
            bad: &$bad,
        };)+
        /// Restrictions of built-in types.
        pub(super) static RESTRICTIONS: &[&Simple] = &[$(&$name),+];
    };
}

simples! {
    STRING "string" "" ["", "a", " a  b\t", "ä\u{10348}", "5", "true", "a\nb"], [];
    LENGTHS "string" "<xs:minLength value=\"2\"/><xs:maxLength value=\"4\"/>" ["ab", "abcd", "ä\u{10348}", " a "], ["a", "", "abcde"];
    EXACT "token" "<xs:length value=\"3\"/>" ["abc", "  a b ", "a\n b"], ["ab", "a  b c", ""];
    NORMAL "normalizedString" "<xs:maxLength value=\"3\"/>" ["a b", "   ", "a\tb"], ["abcd"];
    TOKEN "token" "" ["", "a", " a  b "], [];
    MODE "token" "<xs:enumeration value=\"fast\"/><xs:enumeration value=\"very deep\"/>" ["fast", " very  deep "], ["Fast", "", "deep"];
    CODE "string" "<xs:pattern value=\"[A-Z]{2}-\\d{3}\"/>" ["AB-123", "XY-000"], ["AB-12", "ab-123", "AB-123 ", ""];
    WORD "string" "<xs:pattern value=\"\\S+\"/><xs:maxLength value=\"5\"/>" ["a", "&<>\"'", "\u{a0}x"], ["", "a b", "a\nb", "abcdef"];
    LINE "string" "<xs:pattern value=\".*\"/>" ["", "a b", "^$"], ["a\nb"];
    ODD "string" "<xs:pattern value=\"[a-z-[aeiou]]+\"/><xs:pattern value=\"x\\.\\^$\"/><xs:pattern value=\"[&amp;~\\-]{2,3}\"/>" ["bcd", "x.^$", "&~", "---"], ["a", "x", "&", "x.^$$"];
    STEPS "string" "<xs:pattern value=\"a*\"/><xs:pattern value=\"(b|cd)?\"/>" ["", "aaa", "b", "cd"], ["ab", "bb", "c"];
    LETTERS "string" "<xs:pattern value=\"\\i\\c*\"/>" ["a-1", "_x", "äö"], ["1a", "-", ""];
    NAMES "NCName" "" ["a", "_b.c-1", "ä"], ["1a", "a:b", "a b", ""];
    NMTOKEN "NMTOKEN" "<xs:maxLength value=\"3\"/>" ["1a", "a:b", "-"], ["a b", "", "abcd", "a/b"];
    LANGUAGE "language" "" ["en", "de-CH-1996"], ["e n", "1x", "abcdefghi", ""];
    URI "anyURI" "" ["http://a.org/?x=1", "", "a/b"], ["%zz", "http://[::1"];
    BOOL "boolean" "" ["true", "false", "1", "0"], ["yes", "", "TRUE", "2"];
    BOOLTEXT "boolean" "<xs:pattern value=\"true|false\"/>" ["true", "false"], ["1", "0", "no"];
    LIMIT "long" "<xs:minInclusive value=\"1\"/><xs:maxInclusive value=\"100\"/>" ["1", "100", "+7", "0050"], ["0", "101", "-5", "x", "1.5", ""];
    OPEN "int" "<xs:minExclusive value=\"-1\"/><xs:maxExclusive value=\"5\"/>" ["0", "4", "-0"], ["-1", "5", "2147483648"];
    LONG "long" "" ["9223372036854775807", "-9223372036854775808", "0"], ["9223372036854775808", "a", "1e3"];
    ULONG "unsignedLong" "" ["18446744073709551615", "0", "9007199254740993"], ["-1", "18446744073709551616"];
    BYTE "byte" "" ["-128", "127"], ["128", "-129"];
    INTEGER "integer" "" ["0", "123456789012345678901234", "-99999999999999999999", "18446744073709551616", "007"], ["1.0", "1234567890123456789012345", ""];
    POSITIVE "positiveInteger" "" ["1", "99999999999999999999"], ["0", "-1", "-99999999999999999999"];
    DIGITS "integer" "<xs:totalDigits value=\"3\"/>" ["999", "-999", "0"], ["1000", "-1000"];
    WHOLES "integer" "<xs:enumeration value=\"1\"/><xs:enumeration value=\"99999999999999999999\"/>" ["1", "01", "99999999999999999999"], ["2", "99999999999999999998"];
    SPELT "integer" "<xs:pattern value=\"\\d{3}\"/>" ["007", "123"], ["7", "1234", "-12"];
    DECIMAL "decimal" "" ["0.1", "12.50", "-0.0", ".5", "1.", "123456789012345.678", "0.000000000000000000000001", "5"], ["x", "1e3", ""];
    MONEY "decimal" "<xs:minExclusive value=\"0\"/><xs:totalDigits value=\"6\"/><xs:fractionDigits value=\"2\"/>" ["12.34", "1000", "0.01"], ["0", "-1", "1.234", "1234567"];
    RANGE "decimal" "<xs:minInclusive value=\"-1.5\"/><xs:maxInclusive value=\"1.5\"/>" ["-1.5", "1.5", "0.00"], ["1.51", "-2"];
    PRICES "decimal" "<xs:enumeration value=\"1.50\"/><xs:enumeration value=\"2\"/>" ["1.5", "2.0"], ["1", "1.05"];
    DOUBLE "double" "" ["1", "-1.5e10", "INF", "-INF", "NaN", "0.1", "1E-5"], ["x", ""];
    SMALL "double" "<xs:minInclusive value=\"-1.5\"/><xs:maxExclusive value=\"1e2\"/>" ["1", "-1.5", "99.9"], ["100", "-2", "INF", "-INF"];
    FLOAT "float" "" ["1.5", "3e2"], ["a"];
    DATE "date" "<xs:minInclusive value=\"2020-01-01\"/>" ["2020-01-01", "2024-02-29"], ["2019-12-31", "2023-02-29", "2020-13-01", "x"];
    ANYDATE "date" "" ["2020-01-01", "-0001-01-01", "12345-06-30Z", "2020-01-01+14:00"], ["2020-1-1", "0000-01-01", "2020-00-01", "2020-01-01+15:00"];
    MOMENT "dateTime" "<xs:maxExclusive value=\"2026-01-01T00:00:00Z\"/>" ["2025-12-31T23:59:59Z", "2026-01-01T01:00:00.5+02:00"], ["2026-01-01T01:00:00Z", "2025-12-31", "2025-12-31T25:00:00Z"];
    FIXED "dateTime" "<xs:enumeration value=\"2026-01-01T00:00:00Z\"/>" ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"], ["2026-01-01T00:00:01Z"];
    TIME "time" "" ["12:00:00", "24:00:00", "23:59:59.25Z"], ["12:00", "24:00:01", "12:60:00"];
    DURATION "duration" "" ["P1D", "-P1Y2M3DT4H5M6.7S", "PT0S"], ["P", "PT", "1D", "P1.5D", "P1S"];
    HEX "hexBinary" "<xs:length value=\"2\"/>" ["00ff", "ABCD"], ["00", "zz00", "000"];
    BASE64 "base64Binary" "<xs:maxLength value=\"3\"/>" ["AAAA", "AA==", "", "AA A="], ["AAAAAAAA", "A", "AB=="];
}

macro_rules! built {
    ($($name:ident $xsd:literal $good:expr, $bad:expr;)+) => {
        $(pub(super) static $name: Simple =
            Simple { name: stringify!($name), xsd: $xsd, good: &$good, bad: &$bad };)+
        /// Lists and unions.
        pub(super) static BUILT: &[&Simple] = &[$(&$name),+];
    };
}

built! {
    INTS "<xs:list itemType=\"xs:int\"/>" ["", "1", "1 2  3"], ["a", "1 b", "2147483648"];
    WORDS "<xs:restriction><xs:simpleType><xs:list itemType=\"xs:string\"/></xs:simpleType><xs:minLength value=\"1\"/><xs:maxLength value=\"2\"/></xs:restriction>" ["a", "a b", " x "], ["", "a b c"];
    MODES "<xs:list><xs:simpleType><xs:restriction base=\"xs:token\"><xs:enumeration value=\"r\"/><xs:enumeration value=\"w\"/></xs:restriction></xs:simpleType></xs:list>" ["r", "r w r", ""], ["x", "r x"];
    PAIRS "<xs:restriction><xs:simpleType><xs:list itemType=\"xs:int\"/></xs:simpleType><xs:enumeration value=\"1 2\"/><xs:enumeration value=\"3\"/></xs:restriction>" ["1 2", " 01 2", "3"], ["1", "2 1"];
    ROW "<xs:restriction><xs:simpleType><xs:list itemType=\"xs:int\"/></xs:simpleType><xs:pattern value=\"\\d( \\d)*\"/></xs:restriction>" ["1", "1 2"], ["10", ""];
    EITHER "<xs:union memberTypes=\"xs:int xs:boolean\"/>" ["5", "true", "-1", "0"], ["x", "", "1.5"];
    SIZE "<xs:union><xs:simpleType><xs:restriction base=\"xs:positiveInteger\"><xs:maxInclusive value=\"10\"/></xs:restriction></xs:simpleType><xs:simpleType><xs:restriction base=\"xs:token\"><xs:enumeration value=\"auto\"/></xs:restriction></xs:simpleType></xs:union>" ["1", "10", "auto"], ["11", "0", "Auto", ""];
    LOOSE "<xs:union memberTypes=\"xs:decimal xs:string\"/>" ["1.50", "a b", "", " x"], [];
    PICK "<xs:restriction><xs:simpleType><xs:union memberTypes=\"xs:int xs:date\"/></xs:simpleType><xs:enumeration value=\"7\"/><xs:enumeration value=\"2026-01-01\"/></xs:restriction>" ["7", "07", "2026-01-01"], ["8", "2026-01-02"];
}
