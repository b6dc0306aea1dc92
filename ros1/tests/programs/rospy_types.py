# SPDX-License-Identifier: Apache-2.0
"""ros1_raw in Python: messages of every type, from and to objects of genpy. Arguments: "views" (baton.rospy's ends) or "plain" (rospy's
own, which BATON_ACCELERATE=rospy changes), "source" or "sink", and for each topic its type, which is its name too, and a file.
Lines of a source's input: "subscribers N" waits for so many on each topic, "publish N" publishes the next N of each."""

import socket
import struct
import sys
import threading
import time
from io import BytesIO

import numpy
import rospy
from roslib.message import get_message_class

# rospy lets five connections wait, and an end of every type has hundreds at once; TCP would try again after seconds.
listen = socket.socket.listen
socket.socket.listen = lambda self, backlog=0: listen(self, 1024)
ends, role, *words = sys.argv[1:]
pairs = list(zip(words[::2], words[1::2], strict=True))
rospy.init_node("types", anonymous=True, disable_signals=True)
if ends == "views":
    import baton.rospy
output = threading.Lock()


class Source:
    def __init__(self, name, path):
        kind = get_message_class(name)
        if ends == "views":
            self.publisher = baton.rospy.create_publisher(name, kind, queue_size=10)
        else:
            self.publisher = rospy.Publisher(name, kind, queue_size=10)
        self.kind = kind
        self.file = open(path, "rb")
        self.file.readline()
        self.file.readline()
        self.file.read(int(self.file.readline().split()[0]))

    def publish(self):
        (size,) = struct.unpack("<I", self.file.read(4))
        self.publisher.publish(self.kind().deserialize(self.file.read(size)))


class Sink:
    def __init__(self, name, path):
        self.name, self.kind, self.file = name, get_message_class(name), open(path, "wb")
        if ends == "views":
            self.end = baton.rospy.create_subscription(name, self.kind, self.take, queue_size=10)
        else:
            self.end = rospy.Subscriber(name, self.kind, self.take, queue_size=10)

    def take(self, message):
        stream = BytesIO()
        (message if isinstance(message, self.kind) else as_genpy(message, self.kind)).serialize(stream)
        self.file.write(struct.pack("<I", len(stream.getvalue())) + stream.getvalue())
        self.file.flush()
        with output:
            print(self.name, len(stream.getvalue()), flush=True)


def as_genpy(view, kind):
    """An object of genpy of what a program reads from a view, field by field."""
    out = kind()
    for field, declared in zip(kind.__slots__, kind._slot_types, strict=True):
        # Messages of one size are the elements of a structured array.
        seen = view[field] if isinstance(view, numpy.void) else getattr(view, field)
        setattr(out, field, value(seen, declared))
    return out


def value(seen, declared):
    if declared.endswith("]"):
        element = declared.split("[")[0]
        if element in ("uint8", "char"):
            return bytes(seen)
        return [value(each, element) for each in seen]
    if declared in ("time", "duration"):
        sec, nanosec = seen.item() if isinstance(seen, numpy.void) else (seen.sec, seen.nanosec)
        return rospy.Time(sec % 2**32, nanosec) if declared == "time" else rospy.Duration(sec, nanosec)
    if declared == "Header" or "/" in declared:
        return as_genpy(seen, get_message_class("std_msgs/Header" if declared == "Header" else declared))
    if declared == "string":
        return str(seen)
    number = seen.item() if hasattr(seen, "item") else seen
    return (number ^ 128) - 128 if declared == "byte" else number  # genpy's is signed


made = [(Source if role == "source" else Sink)(*pair) for pair in pairs]
for line in sys.stdin:
    word, number = line.split()
    for each in made:
        while word == "subscribers" and each.publisher.get_num_connections() < int(number):
            time.sleep(0.002)
        for _ in range(int(number) if word == "publish" else 0):
            each.publish()
    print(f"done {line.strip()}", flush=True)
