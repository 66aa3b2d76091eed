// Package random draws numbers that depend on a seed and a name alone, so that searches with one seed share none.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream returns the generator of the consumer of a name under a seed.
func Stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
