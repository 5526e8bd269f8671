"""Comprehensions, generators, sorting with keys, unpacking: a matrix and a table."""


def main():
    size = 60
    a = [[(i * j) % 7 for j in range(size)] for i in range(size)]
    b = [[(i + j) % 5 for j in range(size)] for i in range(size)]
    columns = list(zip(*b))
    product = [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]
    rows = [{"id": n, "group": n % 13, "score": (n * 37) % 101} for n in range(4000)]
    best = {
        group: max((row for row in rows if row["group"] == group), key=lambda row: row["score"])
        for group in range(13)
    }
    ordered = sorted(rows, key=lambda row: (-row["score"], row["id"]))
    first, *_, last = ordered
    squares = {n * n for n in range(2000) if n % 3}
    return sum(map(sum, product)), best[3]["id"], first["id"], last["id"], len(squares)
