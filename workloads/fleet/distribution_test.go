package fleet

import (
	"math"
	"testing"

	"sim/fabric/torus"
)

// TestDrawnMoments checks that distributions have the requested means, within four
// standard errors.
func TestDrawnMoments(t *testing.T) {
	const n = 40000
	half, err := WithMedian(2*Day, 7*Day/10)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Spread{half, {Exponential, Hour, 0}, {Constant, Minute, 0}, {Lognormal, Hour, 1}} {
		r, sum, squares, below := RandomStream(1, FirstFreeStream, 0), 0.0, 0.0, 0
		for range n {
			x := s.Draw(r).Seconds()
			sum += x
			squares += x * x
			if x < (7 * Day / 10).Seconds() {
				below++
			}
		}
		mean := sum / n
		checkNear(t, string(s.Form), mean, s.Mean.Seconds(), 4*math.Sqrt(max(0, squares/n-mean*mean)/n)+1e-3)
		if s == half {
			checkNear(t, "below the median", float64(below)/n, 0.5, 0.01)
		}
	}
	for _, shape := range []float64{0.7, 1, 2} {
		r, sum := RandomStream(1, FirstFreeStream, 1), 0.0
		for range n {
			sum += drawGap(r, 3, shape).Days()
		}
		checkNear(t, "gap", sum/n, 1.0/3, 0.02/3*4)
	}
}

// TestDemand checks that jobs are sorted, that their number and durations have the
// requested means, and that the random streams are independent.
func TestDemand(t *testing.T) {
	d := Demand{
		Pod: *torus.TPUv4Pod(), Seed: 7, Mix: Mixes()["tpuv4-2022"], ByDay: Fig13(), Until: 600 * Day, Chips: 4096, Load: 0.8,
		Durations: Exponential, Bands: [NumBands]float64{2, 5, 3}, FaultRoutingShare: 0.95, EstimateFactor: 1,
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	other := d
	other.Durations, other.Sigma, other.Bands = Lognormal, 1.5, [NumBands]float64{1, 0, 0}
	a, b := d.Jobs(), other.Jobs()
	n, last, chips, prod, routes := 0, Time(0), 0.0, 0, 0
	for {
		j, ok := a.Next()
		k, also := b.Next()
		if ok != also {
			t.Fatal("other durations change the number of jobs")
		}
		if !ok {
			break
		}
		if j.Submit < last || j.Number != n {
			t.Fatalf("job %d is submitted at %v, after one at %v", j.Number, j.Submit, last)
		}
		if j.Shape != k.Shape || j.Submit != k.Submit {
			t.Fatal("other durations change shapes or arrivals")
		}
		last = j.Submit
		n++
		chips += float64(j.Shape.Chips()) * j.Work.Days()
		if j.Band == Prod {
			prod++
		}
		if j.AcceptsFaultRouting {
			routes++
		}
	}
	checkNear(t, "jobs a day", float64(n)/600, 139.2, 0.05)
	checkNear(t, "load", chips/4096/600, 0.8, 0.03)
	checkNear(t, "prod", float64(prod)/float64(n), 0.2, 0.01)
	checkNear(t, "opted in", float64(routes)/float64(n), 0.95, 0.005)
}

// TestFailures checks the rate of failures and the unavailability of a part, and that
// parts differ.
func TestFailures(t *testing.T) {
	rates := tpuv4Rates()
	p := rates[Cable]
	up, down, quick := Time(0), Time(0), 0
	const n = 20000
	for i := range n / 10 {
		f := NewFailures(&p, 3, PartID{Cable, 0, i}, 2, 1024)
		for range 10 {
			after, repair, _ := f.Next(0)
			up += after
			down += repair
			if repair == Hour {
				quick++
			}
		}
	}
	checkNear(t, "quick", float64(quick)/n, 0.7, 0.015)
	checkNear(t, "unavailability", down.Seconds()/(up+down).Seconds()/p.Unavailability(), 1, 0.05)
	x, _, _ := NewFailures(&p, 3, PartID{Cable, 0, 1}, 2, 1024).Next(0)
	y, _, _ := NewFailures(&p, 3, PartID{Cable, 1, 1}, 2, 1024).Next(0)
	z, _, _ := NewFailures(&p, 3, PartID{Machine, 0, 1}, 2, 1024).Next(0)
	if x == y || x == z {
		t.Error("parts share their random numbers")
	}
}

func TestShapes(t *testing.T) {
	for text, want := range map[string]string{
		"4x4x8T": "4x4x8T", "8x4x4": "4x4x8", "2x2x1": "1x2x2", "16x16x16": "16x16x16", "4x8x8T": "4x8x8T",
		"3x4x4": "", "4x4x12T": "", "4x4": "", "4x4x260": "", "16x16x20": "", "2x4x8": "", "0x4x4": "", "1x2x2T": "", "-4x4x4": "",
	} {
		s, err := ParseShape(text, torus.TPUv4Pod())
		if got := s.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("ParseShape(%q) = %v, %v; want %q", text, got, err, want)
		}
	}
	m := Mixes()["tpuv4-2022"]
	for chips, want := range map[int]string{1: "1x1x1", 3: "1x2x2", 100: "4x4x8T", 300: "4x8x12", 3000: "12x16x16"} {
		if s, ok := m.SmallestFit(chips); !ok || s.String() != want {
			t.Errorf("SmallestFit(%d) = %v, %v; want %s", chips, s, ok, want)
		}
	}
	if _, ok := m.SmallestFit(4000); ok {
		t.Error("there is no slice of 4000 chips in the mix")
	}
}
