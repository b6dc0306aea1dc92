// SPDX-License-Identifier: Apache-2.0
//! Zenoh as the C functions of crate.h: a session per end, payloads in its shared memory or in vectors.

use core::ffi::{c_char, c_int, c_void};
use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority, Reliability};
use zenoh::shm::{
    AllocAlignment, BlockOn, GarbageCollect, MemoryLayout, PosixShmProviderBackend, ShmProvider,
    ShmProviderBuilder, ZShmMut,
};
use zenoh::{Config, Session, Wait};

#[repr(C)]
pub struct CratePlan {
    config: *const c_char,
    topic: *const c_char,
    bytes: usize,
    chunks: usize,
    reliable: bool,
}

type Message = extern "C" fn(context: *mut c_void, data: *const u8, bytes: usize);
type Result<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn failed(error: Box<dyn Error + Send + Sync>) {
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

fn session(plan: &CratePlan) -> Result<Session> {
    zenoh::open(Config::from_json5(&text(plan.config)?)?).wait()
}

const ALIGNMENT: u8 = 6; // as a power of two

// The fields of both are dropped in their order: what was made last comes first.

enum Payload {
    None,
    Private(Vec<u8>),
    Shared(ZShmMut),
}

pub struct CratePublisher {
    next: Payload,
    publisher: Publisher<'static>,
    memory: Option<ShmProvider<PosixShmProviderBackend>>,
    session: Session,
}

impl CratePublisher {
    fn new(plan: &CratePlan) -> Result<Self> {
        let session = session(plan)?;
        let congestion = if plan.reliable { CongestionControl::Block } else { CongestionControl::Drop };
        let reliability = if plan.reliable { Reliability::Reliable } else { Reliability::BestEffort };
        let publisher = session
            .declare_publisher(text(plan.topic)?)
            .congestion_control(congestion)
            .reliability(reliability)
            .priority(Priority::RealTime)
            .express(true)
            .wait()?;
        let memory = if plan.chunks > 0 {
            // Some of it is the allocator's.
            let size = (plan.chunks * (plan.bytes + 256) + (1 << 16)).next_multiple_of(1 << ALIGNMENT);
            let layout = MemoryLayout::new(size, AllocAlignment::new(ALIGNMENT)?)?;
            Some(ShmProviderBuilder::default_backend(layout).wait()?)
        } else {
            None
        };
        Ok(Self { next: Payload::None, publisher, memory, session })
    }

    fn begin(&mut self, bytes: usize) -> Result<*mut u8> {
        match &self.memory {
            Some(memory) => {
                let layout = MemoryLayout::new(bytes, AllocAlignment::new(ALIGNMENT)?)?;
                let chunk = memory
                    .alloc(layout)
                    .with_policy::<BlockOn<GarbageCollect>>()
                    .wait()
                    .map_err(|e| format!("{e:?}"))?;
                self.next = Payload::Shared(chunk);
            }
            None => {
                let mut buffer = Vec::<u8>::with_capacity(bytes);
                // The runner writes all of it before it is read.
                #[allow(clippy::uninit_vec)]
                unsafe {
                    buffer.set_len(bytes)
                };
                self.next = Payload::Private(buffer);
            }
        }
        Ok(match &mut self.next {
            Payload::Shared(chunk) => chunk.as_mut_ptr(),
            Payload::Private(buffer) => buffer.as_mut_ptr(),
            Payload::None => core::ptr::null_mut(),
        })
    }

    fn send(&mut self) -> Result<()> {
        let payload: ZBytes = match core::mem::replace(&mut self.next, Payload::None) {
            Payload::Shared(chunk) => chunk.into(),
            Payload::Private(buffer) => buffer.into(),
            Payload::None => return Err("nothing was begun".into()),
        };
        self.publisher.put(payload).wait()
    }
}

impl Drop for CratePublisher {
    fn drop(&mut self) {
        let _ = self.session.close().wait();
    }
}

pub struct CrateSubscriber {
    subscriber: Option<Subscriber<()>>,
    session: Session,
}

/// The context goes to the session's thread and back to nobody.
struct Context(*mut c_void);
unsafe impl Send for Context {}
unsafe impl Sync for Context {}
impl Context {
    fn deliver(&self, message: Message, payload: &ZBytes) {
        let bytes = payload.to_bytes(); // borrowed if it is in one piece
        message(self.0, bytes.as_ptr(), bytes.len());
    }
}

impl CrateSubscriber {
    fn new(plan: &CratePlan, message: Message, context: *mut c_void) -> Result<Self> {
        let session = session(plan)?;
        let context = Context(context);
        let subscriber = session
            .declare_subscriber(text(plan.topic)?)
            .callback(move |sample| context.deliver(message, sample.payload()))
            .wait()?;
        Ok(Self { subscriber: Some(subscriber), session })
    }
}

impl Drop for CrateSubscriber {
    fn drop(&mut self) {
        if let Some(subscriber) = self.subscriber.take() {
            let _ = subscriber.undeclare().wait();
        }
        let _ = self.session.close().wait();
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
pub unsafe extern "C" fn crate_publisher_begin(publisher: *mut CratePublisher, bytes: usize) -> *mut u8 {
    match (*publisher).begin(bytes) {
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
    match (*publisher).send() {
        Ok(()) => 0,
        Err(error) => {
            failed(error);
            -1
        }
    }
}

/// # Safety
/// See crate_publisher_new. `context` is valid until the subscriber is deleted.
#[no_mangle]
pub unsafe extern "C" fn crate_subscriber_new(
    plan: *const CratePlan,
    message: Message,
    context: *mut c_void,
) -> *mut CrateSubscriber {
    made(CrateSubscriber::new(&*plan, message, context))
}

/// # Safety
/// See crate_publisher_new.
#[no_mangle]
pub unsafe extern "C" fn crate_subscriber_delete(subscriber: *mut CrateSubscriber) {
    drop(Box::from_raw(subscriber));
}
