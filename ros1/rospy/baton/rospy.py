# SPDX-License-Identifier: Apache-2.0
"""Faster unmodified rospy programs: `import baton.rospy; baton.rospy.accelerate(*message_classes)`.

genpy always serializes in the language layer (ATSA's HSA); its generated serialize() and deserialize() are replaced by the
extension's, which write the same bytes and make the same objects in one walk. Without arguments, every generated class that is
imported now or later is accelerated when it is first used by a publisher or subscriber made afterwards; and messages between
accelerated programs of one machine, and to and from Baton's other ends, go through shared memory. Stock nodes see no difference.

Programs that may be changed take and make messages in place, in shared memory: create_subscription() and create_publisher() here.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _core
from ._plans import Unsupported, plan_of

if TYPE_CHECKING:
    from ._rospy_views import Publisher, Subscription

_originals: dict[Any, tuple[Any, Any]] = {}


def accelerate_class(cls: Any) -> bool:
    """Replaces serialize() and deserialize() of one generated class; False if it is left alone."""
    if cls in _originals:
        return True
    try:
        plan = plan_of(cls)
    except (Unsupported, ImportError):
        return False
    _originals[cls] = (cls.serialize, cls.deserialize)

    @functools.wraps(cls.serialize)
    def serialize(self: Any, buff: Any) -> None:
        try:
            _core._to_wire(plan, self, False, buff)
        except (TypeError, ValueError, OverflowError) as error:
            import genpy

            raise genpy.SerializationError(str(error)) from error

    @functools.wraps(cls.deserialize)
    def deserialize(self: Any, str: Any) -> Any:
        try:
            return _core._from_wire(plan, self, str, False)
        except (UnicodeError, _core.MalformedMessage) as error:
            import genpy

            raise genpy.DeserializationError(*error.args) from error

    cls.serialize, cls.deserialize = serialize, deserialize
    return True


def accelerate(*classes: Any) -> None:
    """Accelerates these classes; without arguments those of every publisher and subscriber that rospy makes from now on, which then
    also use shared memory, unless BATON_ROS1=0 is in the environment."""
    for cls in classes:
        accelerate_class(cls)
    if classes:
        return
    import rospy.topics

    from ._rospy_unchanged import accelerate_ends

    accelerate_ends()
    topic_init = rospy.topics.Topic.__init__
    if hasattr(topic_init, "_baton_original"):
        return

    @functools.wraps(topic_init)
    def init(self: Any, name: Any, data_class: Any, reg_type: Any) -> None:
        if hasattr(data_class, "_slot_types"):
            accelerate_class(data_class)
        topic_init(self, name, data_class, reg_type)

    init._baton_original = topic_init  # type: ignore[attr-defined]
    rospy.topics.Topic.__init__ = init


def decelerate() -> None:
    """Gives all classes and rospy their own functions back. Ends that were made before keep their way of Baton."""
    if (unchanged := sys.modules.get("baton._rospy_unchanged")) is not None:
        unchanged.decelerate_ends()
    for cls, (serialize, deserialize) in _originals.items():
        cls.serialize, cls.deserialize = serialize, deserialize
    _originals.clear()


def create_subscription(
    topic: str, message_type: Any, callback: Callable[[Any], object], queue_size: int | None = None, *, held: int = 8
) -> Subscription:
    """A subscription of a rospy program whose callback gets views on shared memory as those of baton.Node do: arrays are NumPy
    arrays, nothing is deserialized. It hears publishers of Baton (this module's, baton::ros1's, Baton's nodes and ROS 2's over
    rmw_baton_cpp) without a copy, and stock publishers as always.
    `message_type`: a class of rospy or a name such as "sensor_msgs/Image"; `queue_size`: messages that may wait, None for 1000;
    `held`: messages of each publisher that the program may keep. Callbacks run in a thread of rospy or of the subscription, one at
    a time. Ends with unregister() or the program."""
    from . import _rospy_views

    return _rospy_views.Subscription(topic, message_type, callback, queue_size, held)


def create_publisher(
    topic: str, message_type: Any, queue_size: int = 10, latch: bool = False, **options: Any
) -> Publisher:
    """A publisher of a rospy program: loan() gives a message in shared memory, publish() hands it over without a copy, and takes
    rospy's objects too. Stock subscribers get serialized messages, and only while there are any.
    `options`: memory_limit, max_message, slots, policy, attempts and prefault of baton.Node.advertise(). Ends with unregister() or the
    program."""
    from . import _rospy_views

    return _rospy_views.Publisher(topic, message_type, queue_size, latch, options)
