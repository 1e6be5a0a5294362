"""Waits for a report, then publishes it."""

import os
import time


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.1)


def main():
    print("waiting for the report")
    report = "report.txt"
    with open(report + ".part", "w") as part:
        part.write("all is well")
    os.replace(part.name, "reports.txt")
    wait_for(report)
    print("published")


if __name__ == "__main__":
    main()
