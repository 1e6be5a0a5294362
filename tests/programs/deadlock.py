"""Two threads that wait for each other's lock, and a third one that waits for both."""

import threading

left, right = threading.Lock(), threading.Lock()
both_hold_one = threading.Barrier(2)


def first():
    with left:
        both_hold_one.wait()
        right.acquire()  # @first


def second():
    with right:
        both_hold_one.wait()
        left.acquire()  # @second


threads = [threading.Thread(target=work, name=work.__name__) for work in (first, second)]
for thread in threads:
    thread.start()
threads[0].join()  # @main
