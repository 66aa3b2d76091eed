package plots

import (
	"math"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
)

// portRate infers the rate of a port in bits per second, 0 when the data do
// not tell. A bundle of n circuits carries at most n times that rate, so the
// greatest rate a circuit carries anywhere is the port's if any bundle was
// ever full. It counts only when every peak of the reference is a multiple
// of it that the pods have ports for, which no lower figure would be by chance.
func portRate(d *result.Detail) float64 {
	rate, ports := 0.0, 0
	for i := range d.Policies {
		p := &d.Policies[i]
		if p.Topology == nil {
			continue
		}
		for _, pod := range p.Topology.Pods {
			ports = max(ports, pod.Total)
		}
		for k := range p.Circuits {
			s := &p.Circuits[k]
			_, v := peak(s)
			if n := circuits(p.Topology, s.Name); n > 0 {
				rate = max(rate, v/float64(n))
			}
		}
	}
	if rate <= 0 {
		return 0
	}
	const slack = 1e-6 // serialisation rounds to picoseconds
	for i := range d.Reference.Demand {
		_, v := peak(&d.Reference.Demand[i])
		if n := v / rate; math.Abs(n-math.Round(n)) > slack*max(1, n) || n > float64(ports)+slack {
			return 0
		}
	}
	return rate
}

// circuits is how many circuits the bundle of a series has, 0 when its name
// fits no pair. A direction of pods "a" and "b" is named "a -> b", "a - b" or
// "a to b"; one of twins has the pod's name and the word twin.
func circuits(t *result.Topology, name string) int {
	most := 0
	for _, p := range t.Pairs {
		a, b := t.Pods[p.A].Name, t.Pods[p.B].Name
		fits := joins(name, a, b) || joins(name, b, a)
		if p.Twin {
			fits = strings.HasPrefix(name, a+" ") && strings.Contains(name, "twin")
		}
		if fits {
			most = max(most, p.Circuits)
		}
	}
	return most
}

func joins(name, a, b string) bool {
	for _, sep := range []string{" -> ", " - ", " to ", "->"} {
		if name == a+sep+b {
			return true
		}
	}
	return false
}

// rateTicker marks an axis of bits per second in Gb/s, at round multiples of a
// port's rate where that is known.
type rateTicker struct{ top, rate float64 }

// Ticks implements plot.Ticker.
func (t rateTicker) Ticks(lo, hi float64) []plot.Tick {
	const few = 4
	if t.rate <= 0 || t.top/t.rate > 1e6 {
		return sheet.Ticker{Unit: sheet.Gigabits, Count: few, Whole: false}.Ticks(lo, hi)
	}
	n := 1.0 // ports a tick, a power of two as fabrics are
	for t.top/(t.rate*n) > few {
		n *= 2
	}
	var out []plot.Tick
	for i := 0.0; i*n*t.rate <= hi; i++ {
		v := i * n * t.rate
		label := sheet.Digits(v*sheet.Gigabits.Per, 5)
		if i > 0 {
			label += " (" + sheet.Digits(i*n, 4) + ")"
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	return out
}
