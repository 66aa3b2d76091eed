package chart

import (
	"fmt"
	"math"
	"strconv"

	"sim/scenarios/result"
)

var scalePolicies = []string{"reconfigure-during", "reconfigure-during+", "fast", "mixnet", "topoopt", "directconnect-kautz", "directconnect-circulant"}

// delays returns an axis of n reconfiguration delays from 1 µs, with the given number per
// decade.
func delays(n, each int) result.Axis {
	a := axis("fabric.reconfiguration_delay", nil)
	for i := range n {
		ns := math.Round(1000 * math.Pow(10, float64(i)/float64(each)))
		if i%each > 0 {
			p := math.Pow(10, math.Floor(math.Log10(ns))-2)
			ns = math.Round(ns/p) * p
		}
		label := strconv.FormatFloat(ns, 'f', -1, 64) + "ns"
		switch {
		case math.Mod(ns, 1e6) == 0:
			label = fmt.Sprint(ns/1e6) + "ms"
		case math.Mod(ns, 1e3) == 0:
			label = fmt.Sprint(ns/1e3) + "us"
		}
		a.Labels, a.Numbers = append(a.Labels, label), append(a.Numbers, ns/1e9)
	}
	return a
}

// roundBound is Theorem 1 for any degree.
func roundBound(n, k, d int) float64 {
	sum, reach := 0, 0
	for power := 1; reach*d*k < n-1; power *= k {
		sum += (n - 1 - d*k*reach + k - 1) / k
		reach += power
	}
	return float64(sum)
}

// scaleMetrics returns typical metrics of an all-to-all of 8 chunks per pair: the bound times
// a factor per policy.
func scaleMetrics(n, k int, delay, chunks float64, sizes, policy int) map[string]float64 {
	const slot = 40.5e-6
	skew := 1 + 0.35*float64(sizes)
	best := func(loss float64) (t, d float64) {
		t = math.Inf(1)
		for i := 1; i < n; i++ {
			if v := float64(i)*delay + slot*chunks*skew*roundBound(n, k, i)*(1+loss*math.Sin(math.Pi*float64(i)/float64(n))); v < t {
				t, d = v, float64(i)
			}
		}
		return t, d
	}
	t, d := 0.0, 1.0
	switch scalePolicies[policy] {
	case "reconfigure-during":
		t, d = best(0.9)
	case "reconfigure-during+":
		t, d = best(0.3)
	case "fast":
		d = float64((n - 1 + k - 1) / k)
		t = d * (delay + slot*chunks*(1+float64(sizes)))
	case "mixnet":
		if sizes == 0 {
			return nil
		}
		t = delay + slot*chunks*roundBound(n, k, 1)*(1.6-0.2*float64(sizes))
	default:
		t = delay + slot*chunks*roundBound(n, k, 1)*(1+0.1*float64(policy-4)*float64(k-1))*skew
	}
	return map[string]float64{"completion_s": t, "reconfigurations": d}
}

// delaySweep is Fig. 14 of the paper.
func delaySweep() *result.Sweep {
	over := delays(51, 10)
	domain := result.Axis{Name: "domain", Keys: []string{"fabric.gpus", "workload.message"}, Labels: []string{"64", "64", "16"}, Numbers: []float64{64, 64, 16}}
	return sweepOf("fig14", "Completion of all to all by reconfiguration delay (Fig. 14)", []result.Axis{domain, over}, scalePolicies, func(at []int, p int) map[string]float64 {
		return scaleMetrics(int(domain.Numbers[at[0]]), 1, over.Numbers[at[1]], []float64{32, 16, 32}[at[0]], 1, p)
	})
}

// slotSweep is Fig. 13 of the paper: all numbers of topologies of n GPUs.
func slotSweep(sizes ...float64) *result.Sweep {
	var ds []float64
	for d := 1.0; d < sizes[len(sizes)-1]; d++ {
		ds = append(ds, d)
	}
	gpus := countAxis("fabric.gpus", sizes...)
	return sweepOf("fig13", "Slots by number of topologies (Fig. 13)", []result.Axis{gpus, countAxis("policy.reconfigurations", ds...)}, scalePolicies[:2], func(at []int, p int) map[string]float64 {
		n, d := int(sizes[at[0]]), at[1]+1
		if d >= n {
			return map[string]float64{}
		}
		bound := roundBound(n, 1, d)
		return map[string]float64{"bound_slots_round": bound, "slots": math.Round(bound * (1 + []float64{0.8, 0.3}[p]*math.Sin(math.Pi*float64(d)/float64(n)))), "reconfigurations": float64(d)}
	})
}

// sweepCase delays the construction of a sweep until it is drawn.
func sweepCase(data func() *result.Sweep) func() (*result.Sweep, *result.SweepTimings) {
	return func() (*result.Sweep, *result.SweepTimings) { return data(), nil }
}

func slotCases() []chartCase {
	slots := func(sizes ...float64) func() (*result.Sweep, *result.SweepTimings) {
		return sweepCase(func() *result.Sweep { return slotSweep(sizes...) })
	}
	delays := result.Plot{Name: "delays", Kind: "lines", X: "fabric.reconfiguration_delay", Y: "completion_s", Panels: "domain", LogX: true, LogY: true, LowerY: "reconfigurations", LowerSeries: scalePolicies[:2]}
	one := delays
	one.Name, one.Panels, one.LowerSeries, one.Where = "delays-one", "", scalePolicies[:1], map[string][]string{"domain": {"16"}}
	return []chartCase{
		{delays, sweepCase(delaySweep)}, {one, sweepCase(delaySweep)},
		{result.Plot{Name: "slots", Kind: "lines", X: "policy.reconfigurations", Y: "slots", Panels: "fabric.gpus", LogX: true, LogY: true, ExtraY: []string{"bound_slots_round"}}, slots(32, 128)},
		{result.Plot{Name: "ratio", Kind: "lines", X: "fabric.gpus", Y: "slots/bound_slots_round", LogX: true, Aggregation: "max"}, slots(8, 16, 32, 64)},
	}
}
