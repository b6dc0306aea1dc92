# SPDX-License-Identifier: Apache-2.0
"""Faster unmodified rospy programs: `import baton.rospy; baton.rospy.accelerate(*message_classes)`.

genpy always serializes in the language layer (ATSA's HSA); its generated serialize() and deserialize() are replaced by the
extension's, which write the same bytes and make the same objects in one walk. Without arguments, every generated class that is
imported now or later is accelerated when it is first used by a publisher or subscriber made afterwards.
"""

from __future__ import annotations

import functools
from typing import Any

from . import _core
from ._plans import Unsupported, plan_of

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
    """Accelerates these classes; without arguments those of every publisher and subscriber that rospy makes from now on."""
    for cls in classes:
        accelerate_class(cls)
    if classes:
        return
    import rospy.topics

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
    """Gives all classes their own functions back."""
    for cls, (serialize, deserialize) in _originals.items():
        cls.serialize, cls.deserialize = serialize, deserialize
    _originals.clear()
