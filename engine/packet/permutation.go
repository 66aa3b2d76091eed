package packet

import (
	"math/bits"

	"sim/internal/random"
)

// permute returns element k of a pseudo-random permutation of 0..n-1 selected by key. It
// needs no memory.
//
// It applies a Feistel network of four rounds to the smallest even number of bits that
// can represent n-1, until the result is less than n. This is called cycle walking (Black
// and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
func permute(k, n, key uint64) uint64 {
	half := (uint(bits.Len64(n-1)) + 1) / 2
	if half == 0 {
		return 0
	}
	mask := uint64(1)<<half - 1
	for {
		high, low := k>>half, k&mask
		for round := range uint64(4) {
			high, low = low, high^random.Mix(low+key+round<<56)&mask
		}
		if k = high<<half | low; k < n {
			return k
		}
	}
}
