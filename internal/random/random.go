// Package random provides random number generators that depend only on a seed and a name.
// Different consumers with the same seed therefore get independent numbers.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns the random number generator of the named consumer for a seed.
func Stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Mix spreads the bits of x: each bit changes about half of the bits of the result. Different numbers
// have different results. It is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators", OOPSLA 2014).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
