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
