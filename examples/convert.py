"""Temperatures of three stations, each converted by a process of its own."""

import subprocess
import sys

READINGS = {"Oslo": "-4.5", "Rome": "18.0", "Cairo": "31,5"}


def fahrenheit(celsius):
    return float(celsius) * 9 / 5 + 32


def main(arguments):
    if arguments:
        station, celsius = arguments
        print(f"{station} {fahrenheit(celsius):.1f}")
        return 0
    workers = [
        subprocess.run([sys.executable, __file__, station, celsius], stderr=subprocess.DEVNULL)
        for station, celsius in READINGS.items()
    ]
    return sum(worker.returncode != 0 for worker in workers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
