use super::*;

fn read(body: &'static str) -> Result<String, Nameless> {
    Model::read(Bytes::from_static(body.as_bytes())).map(|model| model.0)
}

#[test]
fn the_last_model_of_the_top_level_counts() {
    let name = read(r#"{"a":{"model":"no"},"model":"x","b":[],"model":"org\/caf\u00e9"}"#);
    assert_eq!(name.unwrap(), "org/café");
}

#[test]
fn what_is_no_name_says_why() {
    for (body, why) in [
        ("", Nameless::NoBody),
        ("{}", Nameless::NotFound),
        (r#"{"model":""}"#, Nameless::Empty),
        (r#"{"model":null}"#, Nameless::Empty),
        (r#"{"model":7}"#, Nameless::NotAString),
        (r#"{"model":["a"]}"#, Nameless::NotAString),
        (r#"{"model":"a\nx-other: b"}"#, Nameless::NotAValue),
    ] {
        assert_eq!(read(body), Err(why), "{body}");
    }
    assert!(matches!(read("[1]"), Err(Nameless::Unreadable(_))));
    let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(LONGEST + 1));
    assert_eq!(Model::read(long.into()), Err(Nameless::NotAValue));
}

#[test]
fn an_unknown_model_has_an_empty_base() {
    let mut models = BaseModels::default();
    models.insert("sql", &"llama".into()).unwrap();
    for (name, base) in [("sql", "llama"), (" sql", "llama"), ("SQL", "")] {
        let mut headers = HeaderMutation::default();
        Model(name.to_owned()).set(&models, &mut headers);
        let set: Vec<_> = headers.set.iter().map(|set| &set.header).collect();
        assert_eq!(
            (&*set[0].name, &set[0].value[..]),
            (BASE_MODEL, base.as_bytes())
        );
        assert_eq!((&*set[1].name, &set[1].value[..]), (MODEL, name.as_bytes()));
        assert!(headers.set.iter().all(|set| set.overwrites()));
    }
}
