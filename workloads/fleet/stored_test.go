package fleet

import (
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"strings"
	"testing"

	"sim/fabric/torus"
)

// TestStoredDraws: the jobs that demands draw are as stored, all of each job, by days and as a Poisson process, with
// every form of durations.
func TestStoredDraws(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	base := Demand{
		Pod: *torus.TPUv4Pod(), Seed: 3, Mix: Mixes()["tpuv4-2022"], PerDay: 90, Until: 9 * Day, Chips: 4096, Load: 0.8, Durations: Exponential,
		Bands: [NumBands]float64{2, 5, 3}, FaultRoutingShare: 0.4, EstimateFactor: 3, SizeExponent: 0.3, Traffic: Traffic{0.2, 0.1},
	}
	for _, c := range []struct {
		name string
		set  func(d *Demand)
		want uint64
	}{
		{"poisson", func(*Demand) {}, 0x4cbcf30531c2eae1},
		{"by days", func(d *Demand) { d.ByDay, d.Until = Fig13(), 62*Day }, 0xaad982cef5e69ed4},
		{"few days", func(d *Demand) { d.ByDay = []int{2, 0, 1} }, 0xb22babdb92e3402b},
		{"lognormal", func(d *Demand) { d.Durations, d.Sigma = Lognormal, 1.2 }, 0xb8622b4bfddda25c},
		{"constant", func(d *Demand) { d.Durations, d.EstimateFactor, d.SizeExponent = Constant, 1, 0 }, 0xd13ae91e46eded0e},
	} {
		d := base
		c.set(&d)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		digest := fnv.New64a()
		type shape struct {
			Dims    [3]int
			Twisted bool
		}
		source := d.Jobs()
		for j, ok := source.Next(); ok; j, ok = source.Next() {
			fmt.Fprintf(digest, "%.9g\n", []any{j.Number, j.Submit, shape{j.Shape.Dims, j.Shape.Twisted}, j.Work, j.Estimate, j.Band, j.AcceptsFaultRouting, j.Traffic})
		}
		for _, s := range d.Mix {
			fmt.Fprintf(digest, "%v %.9g %d\n", s.Shape, d.MeanPerDay(), d.MeanWork(s.Shape))
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestDemandBorders: a demand at each limit is taken, and one just beyond is refused with its value.
func TestDemandBorders(t *testing.T) {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	for _, c := range []struct {
		name string
		set  func(d *Demand, beyond bool)
		want string
	}{
		{"least jobs", func(d *Demand, beyond bool) {
			if d.PerDay = math.SmallestNonzeroFloat64; beyond {
				d.PerDay = 0
			}
		}, "0 jobs a day"},
		{"most jobs", func(d *Demand, beyond bool) {
			if d.PerDay = 1e7; beyond {
				d.PerDay = above(1e7)
			}
		}, "jobs a day; want more than 0, at most 1e7"},
		{"a job on some day", func(d *Demand, beyond bool) {
			if d.ByDay = []int{0, 1}; beyond {
				d.ByDay = []int{0, 0}
			}
		}, "no job on any of 2 days"},
		{"chips", func(d *Demand, beyond bool) {
			if d.Chips = 1; beyond {
				d.Chips = 0
			}
		}, "a fleet of 0 chips"},
		{"least load", func(d *Demand, beyond bool) {
			if d.Load = math.SmallestNonzeroFloat64; beyond {
				d.Load = 0
			}
		}, "a load of 0"},
		{"most load", func(d *Demand, beyond bool) {
			if d.Load = 100; beyond {
				d.Load = above(100)
			}
		}, "a load of 100"},
		{"bands", func(d *Demand, beyond bool) {
			if d.Bands = [NumBands]float64{Free: math.SmallestNonzeroFloat64}; beyond {
				d.Bands = [NumBands]float64{}
			}
		}, "no priority band has a weight above 0"},
		{"least routes", func(d *Demand, beyond bool) {
			if d.FaultRoutingShare = 0; beyond {
				d.FaultRoutingShare = -math.SmallestNonzeroFloat64
			}
		}, "accepts fault routing"},
		{"most routes", func(d *Demand, beyond bool) {
			if d.FaultRoutingShare = 1; beyond {
				d.FaultRoutingShare = above(1)
			}
		}, "accepts fault routing"},
		{"factor", func(d *Demand, beyond bool) {
			if d.EstimateFactor = 1; beyond {
				d.EstimateFactor = math.Nextafter(1, 0)
			}
		}, "estimates within a factor"},
		{"least traffic", func(d *Demand, beyond bool) {
			if d.Traffic = (Traffic{}); beyond {
				d.Traffic.Neighbours = -math.SmallestNonzeroFloat64
			}
		}, "wait for traffic"},
		{"most traffic", func(d *Demand, beyond bool) {
			if d.Traffic = (Traffic{0.5, 0}); beyond {
				d.Traffic.AllToAll = above(0.5)
			}
		}, "wait for traffic"},
	} {
		for _, beyond := range []bool{false, true} {
			d := Demand{Pod: *torus.TPUv4Pod(), Mix: Mixes()["tpuv4-2022"], PerDay: 1, Chips: 64, Load: 1, Bands: [NumBands]float64{1, 1, 1}, EstimateFactor: 1}
			c.set(&d, beyond)
			if err := d.Check(); !beyond && err != nil || beyond && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, beyond its limit %v: %v, want %q", c.name, beyond, err, c.want)
			}
		}
	}
}
