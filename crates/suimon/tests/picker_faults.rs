//! Every way in which somebody else's picker can fail, for pools that fail open and closed: what the
//! client gets, and which endpoint saw what.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by it, in its helpers too"
)]

use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use suimon_extproc::message::{HeaderMutation, ImmediateResponse, Part, ProcessingResponse, Reply};
use suimon_testkit::fake_picker::{chunk, picked, well_behaved};
use suimon_testkit::ports::free_port;
use suimon_testkit::{
    Act, Answer, FakePicker, FakeServer, Gateway, Wire, assert_eventually, chat_body, documents,
    get, post,
};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

/// What the endpoint answers: in two chunks, so that a picker can fail between them.
const ANSWER: [&str; 2] = ["data: {\"choices\":[]}\n\n", "data: [DONE]\n\n"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    FailOpen,
    FailClose,
}

/// A pool of two endpoints, and a Pod that is not ready; picks should go to the second one.
struct Scene {
    first: FakeServer,
    second: FakeServer,
    unready: SocketAddr,
    /// A member at which nobody listens.
    dead: SocketAddr,
}

/// Who asks the client's question of whom.
enum Picker {
    Fake(FakePicker),
    At(SocketAddr),
}

/// What the client saw.
#[derive(Debug, PartialEq, Eq)]
enum Saw {
    /// The endpoint's whole answer.
    Answer,
    /// This status.
    Status(u16),
    /// The endpoint's status, and a body that broke off.
    Broken,
}

/// Which endpoint got the request.
#[derive(Debug, PartialEq, Eq)]
enum Served {
    /// The one that the picker chose.
    Chosen,
    /// Some ready one of the gateway's choice.
    Any,
    Nobody,
}

// === impl Scene ===

impl Scene {
    fn new() -> Self {
        let server = || {
            FakeServer::start(|_| {
                let answer = Answer::event_stream().chunk(ANSWER[0]);
                let pause = Duration::from_millis(50);
                answer.wait(pause).chunk(ANSWER[1]).chunk("")
            })
        };
        Self {
            first: server(),
            second: server(),
            unready: ([127, 0, 0, 1], free_port()).into(),
            dead: ([127, 0, 0, 1], free_port()).into(),
        }
    }

    fn documents(&self, picker: SocketAddr, mode: Mode, tls: &str) -> String {
        let spec = format!(
            "endpointPickerRef: {{name: epp, port: {{number: 80}}, failureMode: {mode:?}}}"
        );
        let members = [self.first.address, self.second.address, self.dead];
        let pool = documents::pool("models", &members, &spec);
        let annotations = format!(
            "metadata: {{name: models, annotations: {{suimon.dev/picker-tls: {tls}, \
             suimon.dev/picker-timeout: 700ms}}}}"
        );
        let pool = pool.replacen("metadata: {name: models}", &annotations, 1);
        let unready = format!(
            "\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: unready\n  labels: {{pool: models}}\n\
             \x20 annotations: {{inference.networking.k8s.io/active-ports: '{}'}}\nstatus:\n\
             \x20 podIP: 127.0.0.1\n  conditions: [{{type: Ready, status: 'False'}}]\n",
            self.unready.port()
        );
        let pool = pool.replace(
            "targetPorts: [",
            &format!("targetPorts: [{{number: {}}}, ", self.unready.port()),
        );
        let (route, service) = (
            documents::route_to_pool("models"),
            documents::service("epp", &[picker]),
        );
        [documents::GATEWAY, &route, &pool, &unready, &service].concat()
    }

    /// Asks once through the gateway. Gives what the client saw and who served it.
    fn ask(&self, picker: SocketAddr, mode: Mode, tls: &str) -> (Saw, Served) {
        let gateway = Gateway::start(BINARY, &self.documents(picker, mode, tls));
        let body = chat_body("llama", &["hello", &"long ".repeat(40_000)]);
        let mut client = gateway.client();
        client.send(post("/v1/chat/completions", &body, ""));
        let head = client.head().expect("a head");
        let saw = match head.status() {
            200 => streamed(&mut client),
            status => Saw::Status(status),
        };
        let of = |server: &FakeServer| {
            let got = server.requests();
            for request in &got {
                assert_eq!(request.body, body.as_bytes(), "the body arrives intact");
            }
            got.len()
        };
        let served = match (of(&self.first), of(&self.second)) {
            (0, 0) => Served::Nobody,
            (0, 1) => Served::Chosen,
            (1, 0) => Served::Any,
            other => panic!("served {other:?}"),
        };
        (saw, served)
    }
}

/// Reads a chunked body to its end.
fn streamed(client: &mut Wire) -> Saw {
    let mut body = Vec::new();
    loop {
        match client.chunk() {
            None => return Saw::Broken,
            Some(chunk) if chunk.is_empty() => break,
            Some(chunk) => body.extend(chunk),
        }
    }
    assert_eq!(String::from_utf8_lossy(&body), ANSWER.concat());
    Saw::Answer
}

/// A picker that behaves well but for what `fault` says to a part; `None`: nothing special.
fn faulty(
    scene: &Scene,
    fault: impl Fn(&str, &Part) -> Option<Vec<Act>> + Send + Sync + 'static,
) -> Picker {
    let destination = scene.second.address.to_string();
    let held = Mutex::default();
    Picker::Fake(FakePicker::start(move |part| {
        fault(&destination, part).unwrap_or_else(|| well_behaved(&destination, &held, part))
    }))
}

fn on_head(acts: Vec<Act>) -> impl Fn(&str, &Part) -> Option<Vec<Act>> {
    move |_, part| matches!(part, Part::RequestHeaders(_)).then(|| acts.clone())
}

/// At the end of the request's body, after the pick.
fn after_pick(acts: Vec<Act>) -> impl Fn(&str, &Part) -> Option<Vec<Act>> {
    move |destination, part| {
        let Part::RequestBody(body) = part else {
            return None;
        };
        let pick = std::iter::once(picked(destination)).chain(acts.clone());
        Some(if body.end_of_stream {
            pick.collect()
        } else {
            Vec::new()
        })
    }
}

/// At the first chunk of the request's body: the pick, and a half of the chunk.
fn amid_body(acts: Vec<Act>) -> impl Fn(&str, &Part) -> Option<Vec<Act>> {
    move |destination, part| {
        let Part::RequestBody(body) = part else {
            return None;
        };
        let half = chunk(body.body.slice(..body.body.len() / 2), false);
        let half = Act::Say(ProcessingResponse::of(Reply::RequestBody(half)));
        Some([vec![picked(destination), half], acts.clone()].concat())
    }
}

/// The pick is this, whatever it is; the body comes back as it is.
fn picking(scene: &Scene, pick: String) -> Picker {
    let held = Mutex::default();
    let _ = scene;
    Picker::Fake(FakePicker::start(move |part| {
        well_behaved(&pick, &held, part)
    }))
}

fn on_response(acts: Vec<Act>) -> impl Fn(&str, &Part) -> Option<Vec<Act>> {
    move |_, part| matches!(part, Part::ResponseHeaders(_)).then(|| acts.clone())
}

/// At the second chunk of the response's body.
fn amid_response(acts: Vec<Act>) -> impl Fn(&str, &Part) -> Option<Vec<Act>> {
    move |_, part| {
        let Part::ResponseBody(body) = part else {
            return None;
        };
        body.body
            .ends_with(ANSWER[1].as_bytes())
            .then(|| acts.clone())
    }
}

fn answer(status: u32) -> Act {
    let mut headers = HeaderMutation::default();
    headers.set("x-llm-d-request-dropped-reason", "rejected-saturated");
    Act::Say(ProcessingResponse::of(Reply::Immediate(
        ImmediateResponse {
            status,
            headers,
            body: Bytes::from_static(b"busy"),
            ..ImmediateResponse::default()
        },
    )))
}

/// Accepts and then does `what` with each connection.
fn listener(what: impl Fn(std::net::TcpStream) + Send + 'static) -> Picker {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().flatten().for_each(what));
    Picker::At(address)
}

fn reset(stream: std::net::TcpStream) {
    socket2::SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
}

/// One row: a fault, and what comes of it when the pool fails open and closed.
macro_rules! faults {
    ($($name:ident($tls:literal): $picker:expr, open: $open:expr, closed: $closed:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn fail_open() {
                check(Mode::FailOpen, $tls, $picker, $open);
            }

            #[test]
            fn fail_close() {
                check(Mode::FailClose, $tls, $picker, $closed);
            }
        })*
    };
}

fn check(mode: Mode, tls: &str, picker: impl Fn(&Scene) -> Picker, want: (Saw, Served)) {
    let scene = Scene::new();
    let picker = picker(&scene);
    let address = match &picker {
        Picker::Fake(fake) => fake.address,
        Picker::At(address) => *address,
    };
    let (saw, served) = scene.ask(address, mode, tls);
    let want_any = want.1 == Served::Any && served == Served::Chosen;
    assert_eq!(saw, want.0);
    assert!(
        served == want.1 || want_any,
        "served: {served:?}, not {:?}",
        want.1
    );
    if let Picker::Fake(fake) = &picker {
        assert_eventually("no stream is left open", || fake.open() == 0);
    }
}

/// The gateway chose itself.
const OWN_CHOICE: (Saw, Served) = (Saw::Answer, Served::Any);
/// The picker's choice holds.
const ITS_CHOICE: (Saw, Served) = (Saw::Answer, Served::Chosen);
/// Refused, and no endpoint bothered.
const REFUSED: (Saw, Served) = (Saw::Status(503), Served::Nobody);
/// The picker's own answer.
const ITS_ANSWER: (Saw, Served) = (Saw::Status(429), Served::Nobody);

faults! {
    connection_refused("plaintext"): |_: &Scene| Picker::At(([127, 0, 0, 1], free_port()).into()),
        open: OWN_CHOICE, closed: REFUSED;
    connection_reset("plaintext"): |_: &Scene| listener(reset), open: OWN_CHOICE, closed: REFUSED;
    no_tls("skip-verify"): |scene: &Scene| faulty(scene, |_, _| None),
        open: OWN_CHOICE, closed: REFUSED;
    certificate_not_trusted("verify"): |scene: &Scene| {
        let (destination, held) = (scene.second.address.to_string(), Mutex::default());
        Picker::Fake(FakePicker::start_tls(move |part| well_behaved(&destination, &held, part)))
    }, open: OWN_CHOICE, closed: REFUSED;
    silent_connection("plaintext"): |_: &Scene| listener(std::mem::forget),
        open: OWN_CHOICE, closed: REFUSED;
    hung_before_the_head("plaintext"): |scene: &Scene| faulty(scene, on_head(vec![Act::Hang])),
        open: OWN_CHOICE, closed: REFUSED;
    hung_before_the_body("plaintext"): |scene: &Scene| faulty(scene, after_pick(vec![Act::Hang])),
        open: OWN_CHOICE, closed: REFUSED;
    hung_amid_the_body("plaintext"): |scene: &Scene| faulty(scene, amid_body(vec![Act::Hang])),
        open: OWN_CHOICE, closed: REFUSED;
    ended_before_the_head("plaintext"): |scene: &Scene| faulty(scene, on_head(vec![Act::End])),
        open: OWN_CHOICE, closed: REFUSED;
    ended_after_the_pick("plaintext"): |scene: &Scene| faulty(scene, after_pick(vec![Act::End])),
        open: ITS_CHOICE, closed: ITS_CHOICE;
    ended_amid_the_body("plaintext"): |scene: &Scene| faulty(scene, amid_body(vec![Act::End])),
        open: ITS_CHOICE, closed: ITS_CHOICE;
    error_before_the_head("plaintext"): |scene: &Scene| faulty(scene, on_head(vec![Act::Error(13)])),
        open: OWN_CHOICE, closed: REFUSED;
    error_after_the_pick("plaintext"):
        |scene: &Scene| faulty(scene, after_pick(vec![Act::Error(14)])),
        open: OWN_CHOICE, closed: REFUSED;
    error_amid_the_body("plaintext"):
        |scene: &Scene| faulty(scene, amid_body(vec![Act::Reset])),
        open: OWN_CHOICE, closed: REFUSED;
    answer_at_the_head("plaintext"): |scene: &Scene| faulty(scene, on_head(vec![answer(429)])),
        open: ITS_ANSWER, closed: ITS_ANSWER;
    answer_at_the_body("plaintext"): |scene: &Scene| faulty(scene, after_pick(vec![answer(429)])),
        open: ITS_ANSWER, closed: ITS_ANSWER;
    empty_pick("plaintext"): |scene: &Scene| picking(scene, String::new()),
        open: OWN_CHOICE, closed: REFUSED;
    unreadable_pick("plaintext"): |scene: &Scene| picking(scene, "the-second-one:80".to_owned()),
        open: OWN_CHOICE, closed: REFUSED;
    pick_outside_the_pool("plaintext"): |scene: &Scene| picking(scene, "127.0.0.1:1".to_owned()),
        open: OWN_CHOICE, closed: REFUSED;
    pick_that_is_not_ready("plaintext"): |scene: &Scene| picking(scene, scene.unready.to_string()),
        open: OWN_CHOICE, closed: REFUSED;
    dead_endpoints("plaintext"):
        |scene: &Scene| picking(scene, format!("{},{}", scene.dead, scene.dead)),
        open: OWN_CHOICE, closed: REFUSED;
    too_slow_a_pick("plaintext"):
        |scene: &Scene| faulty(scene, on_head(vec![Act::Wait(Duration::from_secs(3))])),
        open: OWN_CHOICE, closed: REFUSED;
    error_at_the_response("plaintext"):
        |scene: &Scene| faulty(scene, on_response(vec![Act::Error(13)])),
        open: ITS_CHOICE, closed: (Saw::Status(503), Served::Chosen);
    error_amid_the_response("plaintext"):
        |scene: &Scene| faulty(scene, amid_response(vec![Act::Error(13)])),
        open: ITS_CHOICE, closed: (Saw::Broken, Served::Chosen);
    hung_at_the_response("plaintext"): |scene: &Scene| faulty(scene, on_response(vec![Act::Hang])),
        open: ITS_CHOICE, closed: (Saw::Status(503), Served::Chosen);
    hung_amid_the_response("plaintext"):
        |scene: &Scene| faulty(scene, amid_response(vec![Act::Hang])),
        open: ITS_CHOICE, closed: (Saw::Broken, Served::Chosen);
    ended_at_the_response("plaintext"): |scene: &Scene| faulty(scene, on_response(vec![Act::End])),
        open: ITS_CHOICE, closed: ITS_CHOICE;
    ended_amid_the_response("plaintext"):
        |scene: &Scene| faulty(scene, amid_response(vec![Act::End])),
        open: ITS_CHOICE, closed: ITS_CHOICE;
    no_fault("plaintext"): |scene: &Scene| faulty(scene, |_, _| None),
        open: ITS_CHOICE, closed: ITS_CHOICE;
    no_fault_behind_tls("skip-verify"): |scene: &Scene| {
        let (destination, held) = (scene.second.address.to_string(), Mutex::default());
        Picker::Fake(FakePicker::start_tls(move |part| well_behaved(&destination, &held, part)))
    }, open: ITS_CHOICE, closed: ITS_CHOICE;
}

/// Whatever the request is: without a body, small, or larger than every window on the way.
#[test]
fn each_kind_of_request_survives() {
    let error = |scene: &Scene| faulty(scene, on_head(vec![Act::Error(14)]));
    let empty = |scene: &Scene| picking(scene, String::new());
    let refused = |_: &Scene| Picker::At(([127, 0, 0, 1], free_port()).into());
    let pickers: [&dyn Fn(&Scene) -> Picker; 3] = [&error, &empty, &refused];
    let bodies = [None, Some(100), Some(1 << 20)];
    for make in pickers {
        for (mode, status) in [(Mode::FailOpen, 200), (Mode::FailClose, 503)] {
            let scene = Scene::new();
            let picker = make(&scene);
            let address = match &picker {
                Picker::Fake(fake) => fake.address,
                Picker::At(address) => *address,
            };
            let gateway = Gateway::start(BINARY, &scene.documents(address, mode, "plaintext"));
            for size in bodies {
                let body = size.map(|size| "y".repeat(size));
                let answer = gateway.ask(match &body {
                    Some(body) => post("/v1/chat/completions", body, ""),
                    None => get("/v1/models", ""),
                });
                assert_eq!(
                    answer.status(),
                    status,
                    "{mode:?}, {size:?}: {}",
                    answer.text()
                );
                let got = [scene.first.requests(), scene.second.requests()].concat();
                let newest = |body: &str| got.iter().any(|got| got.body == body.as_bytes());
                let arrived = newest(body.as_deref().unwrap_or_default());
                assert_eq!(arrived, status == 200, "{mode:?}, {size:?}");
            }
        }
    }
}
