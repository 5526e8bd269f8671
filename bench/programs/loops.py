"""Nested loops over integers: primes by trial division, and a Collatz search."""


def main():
    primes = []
    for n in range(2, 6000):
        for p in primes:
            if p * p > n:
                primes.append(n)
                break
            if n % p == 0:
                break
        else:
            primes.append(n)
    longest = 0
    for start in range(1, 6000):
        n, steps = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        longest = max(longest, steps)
    return len(primes), longest
