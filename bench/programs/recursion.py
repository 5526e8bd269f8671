"""Recursion, closures and generators: queens, permutations, a tree."""


def queens(n):
    def place(row, columns, diagonals, others):
        if row == n:
            return 1
        return sum(
            place(row + 1, columns | {c}, diagonals | {row + c}, others | {row - c})
            for c in range(n)
            if c not in columns and row + c not in diagonals and row - c not in others
        )

    return place(0, frozenset(), frozenset(), frozenset())


def walk(tree):
    if tree is not None:
        left, value, right = tree
        yield from walk(left)
        yield value
        yield from walk(right)


def insert(tree, value):
    if tree is None:
        return (None, value, None)
    left, here, right = tree
    return (
        (insert(left, value), here, right) if value < here else (left, here, insert(right, value))
    )


def main():
    tree = None
    for n in range(1200):
        tree = insert(tree, (n * 7919) % 1201)
    return queens(6), sum(walk(tree))
