// SPDX-License-Identifier: Apache-2.0
//! iceoryx2 as the C functions of crate.h: a publish-subscribe service of byte slices, and an event service to sleep on.
//! A publisher or subscriber stays on the thread that made it.

use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::time::Duration;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service::port_factory::{event, publish_subscribe};
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString};

#[repr(C)]
pub struct CratePlan {
    prefix: *const c_char,
    directory: *const c_char,
    topic: *const c_char,
    bytes: usize,
    publishers: usize,
    subscribers: usize,
    depth: usize,
    events: bool,
}

type Message = extern "C" fn(context: *mut c_void, data: *const u8, bytes: usize);
type Service = ipc::Service;
type Result<T> = core::result::Result<T, Box<dyn Error>>;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn failed(error: Box<dyn Error>) {
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    ERROR.with(|e| *e.borrow_mut() = text);
}

fn text(from: *const c_char) -> Result<String> {
    Ok(unsafe { CStr::from_ptr(from) }.to_str()?.to_owned())
}

#[no_mangle]
pub extern "C" fn crate_error() -> *const c_char {
    ERROR.with(|e| e.borrow().as_ptr())
}

type Services = (
    Node<Service>,
    publish_subscribe::PortFactory<Service, [u8], ()>,
    Option<event::PortFactory<Service>>,
);

fn services(plan: &CratePlan) -> Result<Services> {
    set_log_level(LogLevel::Error);
    let mut config = Config::global_config().clone();
    config.global.prefix = FileName::new(text(plan.prefix)?.as_bytes()).map_err(|e| format!("{e:?}"))?;
    let root = Path::new(text(plan.directory)?.as_bytes()).map_err(|e| format!("{e:?}"))?;
    config.global.set_root_path(&root);
    let node = NodeBuilder::new()
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .config(&config)
        .create::<Service>()?;
    let topic: ServiceName = text(plan.topic)?.as_str().try_into()?;
    let nodes = plan.publishers + plan.subscribers + 2;
    let messages = node
        .service_builder(&topic)
        .publish_subscribe::<[u8]>()
        .payload_alignment(Alignment::new(64).ok_or("no such alignment")?)
        .max_publishers(plan.publishers)
        .max_subscribers(plan.subscribers)
        .max_nodes(nodes)
        .history_size(0)
        .subscriber_max_buffer_size(plan.depth)
        .subscriber_max_borrowed_samples(2)
        .enable_safe_overflow(true)
        .open_or_create()?;
    let events = if plan.events {
        let service = node
            .service_builder(&topic)
            .event()
            .max_notifiers(plan.publishers)
            .max_listeners(plan.subscribers)
            .max_nodes(nodes)
            .open_or_create()?;
        Some(service)
    } else {
        None
    };
    Ok((node, messages, events))
}

// The fields of both are dropped in their order: what was made last comes first.

pub struct CratePublisher {
    loan: Option<SampleMutUninit<Service, [MaybeUninit<u8>], ()>>,
    notifier: Option<Notifier<Service>>,
    publisher: Publisher<Service, [u8], ()>,
    _services: Services,
}

impl CratePublisher {
    fn new(plan: &CratePlan) -> Result<Self> {
        let services = services(plan)?;
        let publisher = services
            .1
            .publisher_builder()
            .initial_max_slice_len(plan.bytes)
            .max_loaned_samples(2)
            .backpressure_strategy(BackpressureStrategy::DiscardData)
            .create()?;
        let notifier = match &services.2 {
            Some(service) => Some(service.notifier_builder().create()?),
            None => None,
        };
        Ok(Self { loan: None, notifier, publisher, _services: services })
    }

    fn loan(&mut self, bytes: usize) -> Result<*mut u8> {
        self.loan = None;
        let loan = self.loan.insert(self.publisher.loan_slice_uninit(bytes)?);
        Ok(loan.payload_mut().as_mut_ptr().cast())
    }

    fn send(&mut self) -> Result<()> {
        let loan = self.loan.take().ok_or("nothing is loaned")?;
        // The runner has written all of it.
        unsafe { loan.assume_init() }.send()?;
        if let Some(notifier) = &self.notifier {
            notifier.notify()?;
        }
        Ok(())
    }
}

pub struct CrateSubscriber {
    listener: Option<Listener<Service>>,
    subscriber: Subscriber<Service, [u8], ()>,
    _services: Services,
}

impl CrateSubscriber {
    fn new(plan: &CratePlan) -> Result<Self> {
        let services = services(plan)?;
        let subscriber = services.1.subscriber_builder().create()?;
        let listener = match &services.2 {
            Some(service) => Some(service.listener_builder().create()?),
            None => None,
        };
        Ok(Self { listener, subscriber, _services: services })
    }

    fn deliver_all(&self, message: Message, context: *mut c_void) -> Result<bool> {
        let mut any = false;
        while let Some(sample) = self.subscriber.receive()? {
            any = true;
            let payload = sample.payload();
            message(context, payload.as_ptr(), payload.len());
        }
        Ok(any)
    }

    fn receive(&self, timeout: Duration, message: Message, context: *mut c_void) -> Result<()> {
        if self.deliver_all(message, context)? || timeout.is_zero() {
            return Ok(());
        }
        if let Some(listener) = &self.listener {
            listener.timed_wait(|_| {}, timeout)?;
            self.deliver_all(message, context)?;
        }
        Ok(())
    }
}

fn made<T>(result: Result<T>) -> *mut T {
    match result {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(error) => {
            failed(error);
            core::ptr::null_mut()
        }
    }
}

fn done(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            failed(error);
            -1
        }
    }
}

/// # Safety
/// `plan` and what it points to is valid for the call. So for all functions that follow; ends come from their `new`.
#[no_mangle]
pub unsafe extern "C" fn crate_publisher_new(plan: *const CratePlan) -> *mut CratePublisher {
    made(CratePublisher::new(&*plan))
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_publisher_delete(publisher: *mut CratePublisher) {
    drop(Box::from_raw(publisher));
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_publisher_loan(publisher: *mut CratePublisher, bytes: usize) -> *mut u8 {
    match (*publisher).loan(bytes) {
        Ok(payload) => payload,
        Err(error) => {
            failed(error);
            core::ptr::null_mut()
        }
    }
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_publisher_send(publisher: *mut CratePublisher) -> c_int {
    done((*publisher).send())
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_subscriber_new(plan: *const CratePlan) -> *mut CrateSubscriber {
    made(CrateSubscriber::new(&*plan))
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_subscriber_delete(subscriber: *mut CrateSubscriber) {
    drop(Box::from_raw(subscriber));
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_subscriber_receive(
    subscriber: *mut CrateSubscriber,
    timeout_ns: u64,
    message: Message,
    context: *mut c_void,
) -> c_int {
    done((*subscriber).receive(Duration::from_nanos(timeout_ns), message, context))
}
