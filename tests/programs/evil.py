"""Values that fight back: a repr that raises, one that never ends, properties that do either."""


class Raises:
    def __repr__(self):
        raise ValueError("no repr today")


class Endless:
    def __repr__(self):
        while True:
            pass


class Touchy:
    touched = 0

    @property
    def boom(self):
        type(self).touched += 1
        raise RuntimeError("do not touch")


class Liar:
    def __len__(self):
        return -1

    def __bool__(self):
        raise TypeError("neither true nor false")

    def __eq__(self, other):
        raise TypeError("incomparable")

    __hash__ = None


def look():
    before = 1
    raises = Raises()
    endless = Endless()
    touchy = Touchy()
    liar = Liar()
    after = 2  # @made
    print("still here", before + after)  # @here


look()
print("touched", Touchy.touched)  # @end
