"""Works in processes of multiprocessing; the first argument is the start method."""

import multiprocessing
import sys


def square(number):
    result = number * number  # @worker
    return result


def main():
    context = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else "spawn")
    queue = context.SimpleQueue()
    worker = context.Process(target=put_square, args=(queue, 7))
    worker.start()
    got = queue.get()
    worker.join()
    print("square", got, "exit", worker.exitcode)  # @joined
    return 0 if got == 49 else 1


def put_square(queue, number):
    queue.put(square(number))


if __name__ == "__main__":
    sys.exit(main())
