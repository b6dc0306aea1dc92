# SPDX-License-Identifier: Apache-2.0
"""Ends of a ROS 1 topic whose connection headers are not true, with no library of ROS between; and what every process of a Baton
domain can see of the others."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import xmlrpc.client
import xmlrpc.server

from ros1_network import BUILD


def frame(data):
    return struct.pack("<I", len(data)) + data


def header(**fields):
    return frame(b"".join(frame(f"{key}={value}".encode()) for key, value in fields.items()))


def fields(data):
    """Of a connection header without its length."""
    found, at = {}, 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        key, _, value = data[at + 4 : at + 4 + size].partition(b"=")
        found[key.decode()] = value.decode()
        at += 4 + size
    return found


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

    def meet(self, **keys):
        """Answers the next subscriber, with these fields beside the usual ones. What the subscriber said is in `asked`."""
        connection, _ = self.listening.accept()
        self.asked = fields(receive(connection))
        more = b"".join(frame(f"{key}={value}".encode()) for key, value in keys.items())
        connection.sendall(frame(self.header[4:] + more))
        return connection

    def close(self):
        self.master.unregisterPublisher("/liar", self.topic, self.uri)
        self.rpc.shutdown()
        self.thread.join()
        self.rpc.server_close()
        self.listening.close()


def subscribe(environment, topic, datatype="*", md5="*", **fields):
    """A subscriber's connection to the topic's only publisher, with these fields in its header, and the publisher's answer."""
    master = xmlrpc.client.ServerProxy(environment["ROS_MASTER_URI"])
    (publisher,) = dict(master.getSystemState("/liar")[2][0])[topic]
    node = xmlrpc.client.ServerProxy(master.lookupNode("/liar", publisher)[2])
    _, host, port = node.requestTopic("/liar", topic, [["TCPROS"]])[2]
    connection = socket.create_connection((host, port))
    connection.sendall(header(callerid="/liar", topic=topic, type=datatype, md5sum=md5, tcp_nodelay="0", **fields))
    return connection, receive(connection)


def subscriptions(ros, topic):
    """The ids of the subscriptions whose topic in Baton begins so; waits until there is one."""
    program = f"""
import os, socket, time, baton
from baton._ros1_domain import domain_of_master
domain = domain_of_master(os.environ["ROS_MASTER_URI"], socket.gethostname())
node = baton.Node("onlooker", domain=domain)
found = []
while not found:
    time.sleep(0.02)
    found = [end.gid for end in node.endpoints() if not end.is_publisher and end.topic.startswith({topic!r})]
print(*(gid.hex() for gid in found))
"""
    environment = {**ros.environment, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return [bytes.fromhex(digits) for digits in done.stdout.split()]
