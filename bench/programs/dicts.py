"""Counting, grouping and joining with dictionaries."""


def main():
    words = [f"w{(n * 7919) % 997}" for n in range(30000)]
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    groups = {}
    for word, count in counts.items():
        groups.setdefault(count, []).append(word)
    index = {word: position for position, word in enumerate(sorted(counts))}
    total = 0
    for word in words:
        total += index[word] * counts[word]
    merged = {**counts, **index}
    return len(groups), total, len(merged)
