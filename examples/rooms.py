"""Tells when a meeting room is free."""

OPENS, CLOSES = 9 * 60, 17 * 60


def joined(bookings):
    """Return the bookings in order, those that overlap made into one."""
    blocks = []
    for start, end in sorted(bookings):
        if blocks and start <= blocks[-1][1]:
            blocks[-1][1] = end
        else:
            blocks.append([start, end])
    return blocks


def free(bookings):
    """Return the gaps between bookings while the house is open, in minutes since midnight."""
    gaps, at = [], OPENS
    for start, end in joined(bookings):
        if start > at:
            gaps.append((at, start))
        at = end
    if at < CLOSES:
        gaps.append((at, CLOSES))
    return gaps


def clock(minutes):
    return f"{minutes // 60}:{minutes % 60:02}"


ROOMS = {
    "Amber": [(540, 600), (600, 690), (840, 960)],
    "Birch": [(570, 720), (600, 660), (780, 900)],
    "Cedar": [(720, 780), (555, 615)],
}

for room, bookings in ROOMS.items():
    print(room, *(f"{clock(start)}-{clock(end)}" for start, end in free(bookings)))
