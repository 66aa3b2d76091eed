package queue

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// Results come out of a bundle as they went in, and a part of one is refused or has only whole results.
func TestBundle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []*Result
		var plain []Result
		for range rapid.IntRange(1, 5).Draw(t, "results") {
			r := Result{Key: rapid.StringMatching(`[0-9a-f]{1,20}`).Draw(t, "key"), Failed: rapid.SampledFrom([]string{"", "", "it broke"}).Draw(t, "failed")}
			if r.Failed == "" {
				r.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "data")
			}
			in, plain = append(in, &r), append(plain, r)
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := decodeBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(plain, out, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		cut := rapid.IntRange(0, len(b)).Draw(t, "cut")
		out, err = decodeBundle(b[:cut])
		if err == nil && !cmp.Equal(plain[:len(out)], out, cmpopts.EquateEmpty()) {
			t.Fatalf("a bundle of %d bytes cut to %d gave %v", len(b), cut, out)
		}
	})
}

// Names become tokens that NATS takes, and different names different ones.
func TestNames(t *testing.T) {
	fit := regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)
	rapid.Check(t, func(t *rapid.T) {
		v1, n1 := rapid.String().Draw(t, "version"), rapid.String().Draw(t, "name")
		v2, n2 := rapid.SampledFrom([]string{v1, v1 + ".", n1}).Draw(t, "other version"), rapid.SampledFrom([]string{n1, n1 + "_", v1}).Draw(t, "other name")
		p, q := placeOf(v1, n1), placeOf(v2, n2)
		if !fit.MatchString(p.version) || !fit.MatchString(p.batch) {
			t.Fatalf("%q and %q gave %+v", v1, n1, p)
		}
		if (v1 == v2 && n1 == n2) != (p == q) || (v1 == v2 && n1 == n2) != (p.bucket() == q.bucket()) {
			t.Fatalf("%q, %q gave %+v; %q, %q gave %+v", v1, n1, p, v2, n2, q)
		}
		if got, k, ok := parseSubject(p.subject("00ff")); got != p || k != "00ff" || !ok {
			t.Fatalf("%s was read as %+v, %q, %v", p.subject("00ff"), got, k, ok)
		}
	})
}
