# SPDX-License-Identifier: Apache-2.0
"""C++ nodes with and without libbaton_heap.so: what is copied, what is lent, what comes back."""

IMAGE = 6220800


def start(processes, *arguments, heap):
    return processes.start_cpp("baton", *arguments, program="ros2_heap_images", heap=heap)


def result(processes, process):
    said = processes.result(process)
    del said["log"]
    return said


def exchange(processes, bytes_, way, heap_pub, heap_sub):
    subscriber = start(processes, "sub", 20, bytes_, heap=heap_sub)
    publisher = start(processes, "pub", 20, bytes_, way, heap=heap_pub)
    return result(processes, publisher), result(processes, subscriber)


RIGHT = {"got": 20, "wrong": 0, "live": 0, "unknown": 0}


def test_with_loans_and_the_heap_library_nothing_is_copied(processes):
    published, taken = exchange(processes, IMAGE, "loan", True, True)
    assert published == {"lent": 19, "live": 0}  # the first one taught the capacity
    assert taken == RIGHT | {"aliased": 20}


def test_an_unmodified_publisher_copies_in_and_its_subscriber_does_not_copy_out(processes):
    published, taken = exchange(processes, IMAGE, "plain", True, True)
    assert published == {"lent": 0, "live": 0}
    assert taken == RIGHT | {"aliased": 20}


def test_either_end_may_do_without_the_library(processes):
    published, taken = exchange(processes, IMAGE, "loan", True, False)
    assert published == {"lent": 19, "live": 0} and taken == RIGHT | {"aliased": 0}
    published, taken = exchange(processes, IMAGE, "loan", False, True)
    assert published == {"lent": 0, "live": 0} and taken == RIGHT | {"aliased": 20}


def test_a_program_that_keeps_every_message_receives_every_message(processes):
    subscriber = start(processes, "sub", 40, 100000, 40, heap=True)
    publisher = start(processes, "pub", 40, 100000, "loan", heap=True)
    assert result(processes, publisher) == {"lent": 39, "live": 0}
    taken = result(processes, subscriber)
    assert taken == RIGHT | {"got": 40, "aliased": 4}  # as many as a subscription may keep, then copies


def test_kept_vectors_outlive_a_publisher_that_is_killed(processes):
    subscriber = start(processes, "sub", 12, IMAGE, heap=True)
    first = start(processes, "pub", 10, IMAGE, "hold", heap=True)
    first.says("holding")
    first.kill()
    start(processes, "pub", 2, IMAGE, "hold", heap=True)  # the subscriber keeps two of the first one's, too
    assert result(processes, subscriber) == RIGHT | {"got": 12, "aliased": 12}


def test_kept_vectors_stay_as_they_are_when_the_process_lives_on_without_ros(processes):
    reader = start(processes, "outlive", 4, 100000, heap=True)
    publisher = start(processes, "first", 4, 100000, 200, heap=False)
    publisher.says("published")
    reader.says("kept")
    publisher.tell()  # 200 more, into memory that nobody holds
    assert result(processes, publisher)["live"] == 0
    reader.tell()
    assert result(processes, reader) == {"wrong": 0, "aliased": 4, "live": 0}
