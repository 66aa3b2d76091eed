package queue

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// TestNames: names become valid NATS tokens, and different names become different ones.
func TestNames(t *testing.T) {
	fit := regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)
	rapid.Check(t, func(t *rapid.T) {
		v1, n1 := rapid.String().Draw(t, "version"), rapid.String().Draw(t, "name")
		v2, n2 := rapid.SampledFrom([]string{v1, v1 + ".", n1}).Draw(t, "other version"), rapid.SampledFrom([]string{n1, n1 + "_", v1}).Draw(t, "other name")
		p, q := batchAddressOf(v1, n1), batchAddressOf(v2, n2)
		if !fit.MatchString(p.version) || !fit.MatchString(p.batch) {
			t.Fatalf("%q and %q gave %+v", v1, n1, p)
		}
		if (v1 == v2 && n1 == n2) != (p == q) || (v1 == v2 && n1 == n2) != (p.streamName() == q.streamName()) {
			t.Fatalf("%q, %q gave %+v; %q, %q gave %+v", v1, n1, p, v2, n2, q)
		}
		if got, k, ok := parseSubject(p.itemSubject("00ff")); got != p || k != "00ff" || !ok {
			t.Fatalf("%s was read as %+v, %q, %v", p.itemSubject("00ff"), got, k, ok)
		}
	})
}
