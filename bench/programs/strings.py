"""Text: splitting, joining, formatting, replacing, a Caesar cipher."""


def main():
    text = " ".join(f"word{n:04d}" for n in range(3000))
    lines = []
    for n, word in enumerate(text.split()):
        lines.append("{:>6} | {}".format(n, word.upper().replace("O", "0")))
    joined = "\n".join(lines)
    shifted = []
    for letter in joined[:40000]:
        if "A" <= letter <= "Z":
            shifted.append(chr((ord(letter) - 65 + 3) % 26 + 65))
        else:
            shifted.append(letter)
    report = [f"{line.strip()[:20]!r:>30}" for line in joined.splitlines()]
    return len(joined), len("".join(shifted)), sum(map(len, report))
