//! Other people's pickers: the client side of the protocol.
//!
//! | file | what |
//! |---|---|
//! | `settings` | who is asked, and how |
//! | `connect`, `connections` | TCP, TLS, HTTP/2; one set of connections a worker thread |
//! | `call` | one stream: messages out and in |
//! | `asking` | **the request phase**: what the picker has said so far |
//! | `echo` | which of the bytes that were sent came back |
//! | `follower` | **the response phase** |
//! | `edit` | changes to headers, as far as a picker may make them |

mod asking;
mod call;
mod connect;
mod connections;
mod echo;
mod edit;
mod error;
mod follower;
mod head;
mod settings;

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use smallvec::SmallVec;
use suimon_llm::{ApiKind, ModelField};
use suimon_picker::{
    Body, Decision, Endpoint, EndpointPicker, Follow, InFlight, ModelNames, PickError, PickRequest,
    Picking,
};

use asking::{Asked, Asking, Chosen};
use call::Call;
use connections::Connections;
use follower::Follower;

pub use error::ClientError;
pub use settings::{ClientTls, RemoteSettings};

/// A picker in another process, that is asked by the protocol of external processors.
#[derive(Debug)]
pub struct RemotePicker {
    settings: RemoteSettings,
    connections: Connections,
    /// Endpoints that requests may go to.
    ready: Arc<ArcSwap<Vec<Arc<Endpoint>>>>,
}

type Endpoints = SmallVec<[Arc<Endpoint>; 4]>;

// === impl RemotePicker ===

impl RemotePicker {
    /// A picker at `addresses` for a pool whose endpoints `ready` has.
    #[must_use]
    pub fn new(
        settings: RemoteSettings,
        addresses: Vec<SocketAddr>,
        ready: Arc<ArcSwap<Vec<Arc<Endpoint>>>>,
    ) -> Self {
        Self {
            settings,
            connections: Connections::new(addresses),
            ready,
        }
    }

    /// Asks at these addresses from now on. What is under way elsewhere goes on to its end.
    pub fn set_addresses(&self, addresses: Vec<SocketAddr>) {
        self.connections.set_addresses(addresses);
    }

    /// Asks, and waits for the answer no longer than is set. A kept connection that breaks before
    /// the picker has said anything is replaced by a new one, once.
    async fn ask(&self, request: &PickRequest<'_>) -> Result<Asked, ClientError> {
        if let Some(call) = self.connections.kept(&self.settings).await {
            match converse(call, request).await {
                Err(error) if error.is_lost() => {
                    tracing::debug!(pool = %self.settings.pool, %error, "asking again");
                }
                asked => return asked,
            }
        }
        let call = self.connections.fresh(&self.settings).await?;
        converse(call, request).await
    }

    async fn ask_in_time(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        let limit = self.settings.timeout;
        let asked = match tokio::time::timeout(limit, self.ask(request)).await {
            Ok(asked) => asked.map_err(remote)?,
            Err(_elapsed) => return Err(remote(ClientError::Timeout(limit))),
        };
        match asked {
            Asked::Answered(answer) => Err(PickError::Answered(answer)),
            Asked::Chosen(chosen) => self.decide(request, chosen).map_err(remote),
        }
    }

    fn decide(&self, request: &PickRequest<'_>, chosen: Chosen) -> Result<Decision, ClientError> {
        let endpoints = self.endpoints(&chosen.destination)?;
        let in_flight = endpoints
            .first()
            .map_or_else(InFlight::untracked, |first| InFlight::new(first, 0));
        let (remove_headers, set_headers) = edit::request(&chosen.changes, request.headers);
        let follow = chosen.call.map(|call| -> Box<dyn Follow> {
            Box::new(Follower::new(call, self.settings.timeout))
        });
        Ok(Decision {
            chosen: endpoints.len(),
            endpoints,
            api: ApiKind::from_path(request.path),
            model: model(request),
            priority: 0,
            set_headers,
            remove_headers,
            body: chosen.body,
            follow,
            in_flight,
            record: None,
        })
    }

    /// Ready endpoints that `destination` names, in its order.
    fn endpoints(&self, destination: &str) -> Result<Endpoints, ClientError> {
        let ready = self.ready.load();
        let mut endpoints = Endpoints::new();
        let mut readable = false;
        for entry in destination.split(',') {
            let Ok(address) = entry.trim().parse::<SocketAddr>() else {
                continue;
            };
            readable = true;
            let found = ready.iter().find(|known| known.address() == address);
            let is_new =
                |found: &&Arc<Endpoint>| endpoints.iter().all(|known| known.slot() != found.slot());
            endpoints.extend(found.filter(is_new).cloned());
        }
        match (endpoints.is_empty(), readable) {
            (false, _) => Ok(endpoints),
            (true, true) => Err(ClientError::outside(destination)),
            (true, false) => Err(ClientError::unreadable(destination)),
        }
    }
}

impl EndpointPicker for RemotePicker {
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a> {
        Box::pin(async move {
            let picked = self.ask_in_time(&request).await;
            if let Err(PickError::Remote(error)) = &picked {
                tracing::warn!(pool = %self.settings.pool, %error, "the endpoint picker failed");
            }
            picked
        })
    }
}

/// Says everything of the request, and listens until the picker has said what it wants.
async fn converse(mut call: Call, request: &PickRequest<'_>) -> Result<Asked, ClientError> {
    let messages = head::request(request);
    messages.iter().for_each(|message| call.push(message));
    let mut asking = Asking::new(request.bytes.clone());
    let mut heard = false;
    loop {
        let said = call.next().await.map_err(|error| error.after(heard))?;
        let ended = said.is_none();
        heard = true;
        match asking.on(said)? {
            Some(asked) if ended => return Ok(asked),
            Some(asked) => return Ok(asked.with(Box::new(call))),
            None => {}
        }
    }
}

fn remote(error: ClientError) -> PickError {
    PickError::Remote(Box::new(error))
}

/// The model as far as the gateway reads it: for logs and metrics. The picker may have changed it.
fn model(request: &PickRequest<'_>) -> ModelNames {
    let name: Arc<str> = match request.body {
        Body::Fields(fields) => match fields.model() {
            ModelField::Name { name, .. } => Arc::from(name),
            ModelField::NotAString | ModelField::Missing { .. } => Arc::default(),
        },
        Body::Absent | Body::Invalid(_) => Arc::default(),
    };
    ModelNames {
        incoming: Arc::clone(&name),
        target: name,
        replace: None,
    }
}
