"""The order in which Go's ``sort.Sort`` leaves elements whose keys are equal.

Go's strategicpatch pairs the elements of two lists by sorting both by merge key. Its
comparison calls equal keys smaller (SortableSliceOfMaps.Less: StringsAreSorted), so the
places of elements with equal keys depend on the algorithm. Go documents none, but has
had this one since Go 1.19: an insertion sort for up to twelve elements, which reverses
equal ones, and a pattern-defeating quicksort above that. It has no random part.

This is a port of ``sort/zsortinterface.go`` with the names of its functions. Only lists
that repeat a merge key are sorted by it.
"""

from __future__ import annotations

from typing import Final

_MAX_INSERTION: Final = 12
_SHORTEST_NINTHER: Final = 50
_SHORTEST_SHIFTING: Final = 50
_MAX_STEPS: Final = 5
_MAX_SWAPS: Final = 12
_64_BITS: Final = (1 << 64) - 1


def sort_as_by_go(texts: list[str]) -> list[int]:
    """Return the indices of texts in the order in which Go leaves them."""
    sort = _Sort(texts)
    sort.pdqsort(0, len(texts), len(texts).bit_length())
    return sort.indices


class _Sort:
    """A list while it is sorted: a rank for each text, and where it was at first."""

    __slots__ = ("indices", "ranks", "swaps")

    def __init__(self, texts: list[str]) -> None:
        rank_of = {text: rank for rank, text in enumerate(sorted(set(texts)))}
        self.ranks = [rank_of[text] for text in texts]
        self.indices = list(range(len(texts)))
        self.swaps = 0  # those of choose_pivot

    def less(self, i: int, j: int) -> bool:
        """Tell whether an element goes before another; equal ones do."""
        return self.ranks[i] <= self.ranks[j]

    def swap(self, i: int, j: int) -> None:
        """Exchange two elements."""
        ranks, indices = self.ranks, self.indices
        ranks[i], ranks[j] = ranks[j], ranks[i]
        indices[i], indices[j] = indices[j], indices[i]

    def pdqsort(self, a: int, b: int, limit: int) -> None:
        """Sort ``[a:b]``, with at most ``limit`` unbalanced pivots."""
        was_balanced = True
        was_partitioned = True
        while True:
            length = b - a
            if length <= _MAX_INSERTION:
                self.insertion_sort(a, b)
                return
            if limit == 0:
                self.heap_sort(a, b)
                return
            if not was_balanced:
                self.break_patterns(a, b)
                limit -= 1
            pivot = self.choose_pivot(a, b)
            increasing = self.swaps == 0
            if self.swaps == _MAX_SWAPS:
                self.ranks[a:b] = self.ranks[a:b][::-1]
                self.indices[a:b] = self.indices[a:b][::-1]
                pivot = (b - 1) - (pivot - a)
                increasing = True
            in_order = was_balanced and was_partitioned and increasing
            if in_order and self.partial_insertion_sort(a, b):
                return
            if a > 0 and not self.less(a - 1, pivot):
                a = self.partition_equal(a, b, pivot)
                continue
            middle, was_partitioned = self.partition(a, b, pivot)
            left, right = middle - a, b - middle
            if left < right:
                was_balanced = left >= length // 8
                self.pdqsort(a, middle, limit)
                a = middle + 1
            else:
                was_balanced = right >= length // 8
                self.pdqsort(middle + 1, b, limit)
                b = middle

    def insertion_sort(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def heap_sort(self, a: int, b: int) -> None:
        """Sort a range in which too many pivots were unbalanced."""
        length = b - a
        for i in range((length - 1) // 2, -1, -1):
            self.sift_down(i, length, a)
        for i in range(length - 1, -1, -1):
            self.swap(a, a + i)
            self.sift_down(0, i, a)

    def sift_down(self, root: int, end: int, first: int) -> None:
        """Restore the heap below a root."""
        while True:
            child = 2 * root + 1
            if child >= end:
                return
            if child + 1 < end and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Put smaller elements left of the pivot; tell whether they already were."""
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        was_partitioned = True
        while True:
            while i <= j and self.less(i, a):
                i += 1
            while i <= j and not self.less(j, a):
                j -= 1
            if i > j:
                self.swap(j, a)
                return j, was_partitioned
            was_partitioned = False
            self.swap(i, j)
            i += 1
            j -= 1

    def partition_equal(self, a: int, b: int, pivot: int) -> int:
        """Put elements that equal the pivot before greater ones."""
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self.less(a, i):
                i += 1
            while i <= j and self.less(a, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i += 1
            j -= 1

    def partial_insertion_sort(self, a: int, b: int) -> bool:
        """Sort a range that is almost sorted; tell whether it is sorted now."""
        i = a + 1
        for _ in range(_MAX_STEPS):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _SHORTEST_SHIFTING:
                return False
            self.swap(i, i - 1)
            # The smaller one goes further left, the greater one further right.
            if i - a > 1:
                j = i - 1
                while j >= 1 and self.less(j, j - 1):
                    self.swap(j, j - 1)
                    j -= 1
            if b - i > 1:
                j = i + 1
                while j < b and self.less(j, j - 1):
                    self.swap(j, j - 1)
                    j += 1
        return False

    def break_patterns(self, a: int, b: int) -> None:
        """Exchange three elements for pseudo-random ones; the seed is the length."""
        length = b - a
        random = length
        modulus = 1 << length.bit_length()
        middle = a + length // 4 * 2
        for index in range(middle - 1, middle + 2):
            random ^= (random << 13) & _64_BITS
            random ^= random >> 7
            random ^= (random << 17) & _64_BITS
            other = random & (modulus - 1)
            if other >= length:
                other -= length
            self.swap(index, a + other)

    def choose_pivot(self, a: int, b: int) -> int:
        """Return the index of a pivot; ``swaps`` tells how sorted the samples are."""
        self.swaps = 0
        length = b - a
        i = a + length // 4
        j = a + length // 4 * 2
        k = a + length // 4 * 3
        if length >= _SHORTEST_NINTHER:
            i = self.median(i - 1, i, i + 1)
            j = self.median(j - 1, j, j + 1)
            k = self.median(k - 1, k, k + 1)
        return self.median(i, j, k)

    def median(self, a: int, b: int, c: int) -> int:
        """Return the index of the median of three elements."""
        a, b = self.in_order(a, b)
        b, c = self.in_order(b, c)
        a, b = self.in_order(a, b)
        return b

    def in_order(self, a: int, b: int) -> tuple[int, int]:
        """Return two indices, that of the smaller element first."""
        if self.less(b, a):
            self.swaps += 1
            return b, a
        return a, b
