# SPDX-License-Identifier: Apache-2.0
"""A publisher of a ROS 1 topic whose connection headers have the name of another node, with no library of ROS between."""

from __future__ import annotations

import socket
import struct
import threading
import xmlrpc.client
import xmlrpc.server


def frame(data):
    return struct.pack("<I", len(data)) + data


def header(**fields):
    return frame(b"".join(frame(f"{key}={value}".encode()) for key, value in fields.items()))


def receive(connection):
    def exactly(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise ConnectionError("the subscriber has closed the connection")
            data += more
        return data

    return exactly(struct.unpack("<I", exactly(4))[0])


class Liar:
    """Registers as `/liar` and says in its headers that it is `name`. The messages are frames without their length."""

    def __init__(self, ros, name, topic, datatype, md5):
        self.topic, self.master = topic, xmlrpc.client.ServerProxy(ros.environment["ROS_MASTER_URI"])
        self.header = header(
            callerid=name, topic=topic, type=datatype, md5sum=md5, latching="0", message_definition="x"
        )
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.rpc = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)
        self.rpc.register_function(self.request_topic, "requestTopic")
        self.thread = threading.Thread(target=self.rpc.serve_forever)
        self.thread.start()
        self.uri = f"http://127.0.0.1:{self.rpc.server_address[1]}"
        assert self.master.registerPublisher("/liar", topic, datatype, self.uri)[0] == 1

    def request_topic(self, _caller, _topic, _protocols):
        return 1, "ready", ["TCPROS", "127.0.0.1", self.listening.getsockname()[1]]

    def meet(self):
        """Answers the next subscriber."""
        connection, _ = self.listening.accept()
        receive(connection)
        connection.sendall(self.header)
        return connection

    def close(self):
        self.master.unregisterPublisher("/liar", self.topic, self.uri)
        self.rpc.shutdown()
        self.thread.join()
        self.rpc.server_close()
        self.listening.close()
