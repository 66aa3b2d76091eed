package random

import "testing"

// TestStream: the numbers of a stream depend on the seed and the name, and on nothing else.
func TestStream(t *testing.T) {
	first := func(seed uint64, name string) uint64 { return Stream(seed, name).Uint64() }
	if got, again := first(1, "a"), first(1, "a"); got != again {
		t.Error("streams of one seed and name begin differently")
	}
	if first(1, "a") == first(2, "a") || first(1, "a") == first(1, "b") {
		t.Error("streams of another seed or name begin with the same number")
	}
}
