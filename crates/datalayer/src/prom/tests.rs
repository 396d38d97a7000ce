use super::*;
use proptest::prelude::*;

fn values(page: &[u8], wanted: &[&str]) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    scan(page, wanted, &mut |sample| {
        found.push((sample.name.to_owned(), sample.value));
    });
    found
}

fn value(line: &str) -> Option<f64> {
    values(line.as_bytes(), &["x"]).first().map(|found| found.1)
}

#[test]
fn reads_wanted_families_only() {
    let page = b"# HELP a of a\n# TYPE a gauge\na 1\nab 2\na_b 3\nb{c=\"d\"} 4\n";
    assert_eq!(
        values(page, &["a", "b"]),
        [("a".to_owned(), 1.0), ("b".to_owned(), 4.0)]
    );
}

#[test]
fn reads_names_longer_and_shorter_than_eight_bytes() {
    let page = b"vllm:num_requests_waiting_by_reason 1\nvllm:num_requests_waiting 2\nup 3";
    assert_eq!(
        values(page, &["vllm:num_requests_waiting", "up"]),
        [
            ("vllm:num_requests_waiting".to_owned(), 2.0),
            ("up".to_owned(), 3.0)
        ]
    );
}

#[test]
fn a_line_that_cannot_be_read_is_skipped() {
    for line in [
        "{A}0",
        "{A} 0",
        "{\"x\"} 1",
        "{\"a.b\"} 1",
        "x{=\"x\"} 0",
        "x 1 2 3 4",
        "x{a=\"\\q\"} 1",
        "# TYPE x",
        "x 0x1",
        "x",
        "x{",
        "x{a",
        "x{a=",
        "x{a=\"",
        "x{a=\"b",
        "x{a=\"b\"",
        "x{a=\"b\"}",
        "x{a=\"b\" c=\"d\"} 1",
        "x{1=\"b\"} 1",
        "x{\"a.b\"=\"c\"} 1",
        "x one",
        "x 1 one",
        "x1",
        "x\\",
        "x{a=\"b\\",
        "x 1,5",
        "x 1 2 3",
    ] {
        assert_eq!(value(line), None, "{line}");
        let followed = format!("{line}\nx 7\n");
        assert_eq!(value(&followed), Some(7.0), "{line}");
    }
}

#[test]
fn nan_and_infinity_are_no_value() {
    for line in ["x NaN", "x +Inf", "x -Inf", "x 1e999", "x inf", "x -1e999"] {
        assert_eq!(value(line), None, "{line}");
    }
}

#[test]
fn tolerates_what_the_formats_permit() {
    for line in [
        "x 1",
        "  x 1",
        "\tx\t1",
        "x 1\r",
        "x{} 1",
        "x{a=\"b\"}1",
        "x { a = \"b\" , } 1",
        "x 1 1700000000000",
        "x 1 # {trace_id=\"a\"} 0.5",
        "x 1 1.7e9 # {trace_id=\"a\"} 0.5 1.7e9",
        "x 1e0",
        "x +1",
        "x 1.0",
        "x{a=\"}\"} 1",
        "x{a=\"\\\"} 2\"} 1",
        "x{a=\"\",b=\"c\"} 1",
        "x 1\n# EOF",
        "# EOF\n# TYPE x gauge\n# TYPE x gauge\nx 1",
    ] {
        assert_eq!(value(line), Some(1.0), "{line}");
    }
}

#[test]
fn invalid_utf8_spoils_its_own_line_only() {
    assert_eq!(values(b"x \xff\nx 2\n\xff\xfe\nx 3", &["x"]).len(), 2);
    let mut text = String::new();
    scan(b"x{a=\"\xff\"} 1", &["x"], &mut |sample| {
        text = sample.labels.get("a").unwrap().text().into_owned();
    });
    assert_eq!(text, "\u{fffd}");
}

#[test]
fn labels_are_read_in_order_and_unescaped() {
    let mut seen = Vec::new();
    scan(
        br#"x{a="1",b_2="two\\\"\n",c=""} 1"#,
        &["x"],
        &mut |sample| {
            for (name, value) in sample.labels {
                seen.push((
                    String::from_utf8_lossy(name).into_owned(),
                    value.text().into_owned(),
                ));
            }
            assert!(sample.labels.get("b_2").unwrap().is("two\\\"\n"));
            assert!(sample.labels.get("a").unwrap().is("1"));
            assert!(sample.labels.get("none").is_none());
        },
    );
    let want = [("a", "1"), ("b_2", "two\\\"\n"), ("c", "")];
    assert_eq!(
        seen,
        want.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[test]
fn plain_values_borrow_from_the_page() {
    scan(b"x{a=\"plain\"} 1", &["x"], &mut |sample| {
        assert!(matches!(
            sample.labels.get("a").unwrap().text(),
            Cow::Borrowed("plain")
        ));
    });
}

proptest! {
    #[test]
    fn any_bytes_are_survived(page in proptest::collection::vec(any::<u8>(), 0..400)) {
        scan(&page, &["x", "vllm:num_requests_waiting"], &mut |sample| {
            assert!(sample.value.is_finite());
            for (_, value) in sample.labels {
                let _ = value.text();
            }
        });
    }

    #[test]
    fn anything_that_looks_like_a_line_is_survived(page in "(x[ {}=\",a\\\\#0-9\n\u{e9}]{0,30}){0,8}") {
        scan(page.as_bytes(), &["x", "xx"], &mut |sample| {
            assert!(sample.value.is_finite());
            for (_, value) in sample.labels {
                let _ = value.text();
            }
        });
    }

    #[test]
    fn what_was_written_is_read(number in -1e9..1e9_f64, text in "[a-z\\\\\"\n ,}{]{0,20}") {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let page = format!("y 1\nx{{l=\"{escaped}\",m=\"n\"}} {number}\nz 2\n");
        let mut seen = 0;
        scan(page.as_bytes(), &["x"], &mut |sample| {
            seen += 1;
            assert_eq!(sample.value, number);
            assert_eq!(sample.labels.get("l").unwrap().text(), text);
        });
        prop_assert_eq!(seen, 1);
    }
}
