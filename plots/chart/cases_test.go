package chart

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// The sweeps that charts are tried on: shapes and sizes as in DELTA's figures.

var (
	chartPolicies = []string{"prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint"}
	chartModels   = []string{"megatron177b", "mixtral8x22b", "megatron462b", "deepseek671b"}
)

// bandwidthNCT is by model, bandwidth and policy: the table of docs/reproduction.md for Fig. 6.
var bandwidthNCT = [4][4][6]float64{
	{{1.3453, 1.2173, 1.2173, 1.2173, 1.2173, 1.1661}, {1.3282, 1.2002, 1.2002, 1.1951, 1.1951, 1.0927}, {1.2941, 1.1661, 1.1661, 1.1594, 1.1594, 1.0362}, {1.2259, 1.0978, 1.0978, 1.0268, 1.0268, 1.0192}},
	{{1.7272, 1.7709, 1.8077, 1.6428, 1.6428, 1.6337}, {1.7153, 1.5985, 1.6216, 1.4885, 1.4885, 1.4566}, {1.6976, 1.5139, 1.3883, 1.3806, 1.3806, 1.2974}, {1.6621, 1.4311, 1.3055, 1.2536, 1.2536, 1.1184}},
	{{1.8482, 1.1958, 1.1696, 1.1625, 1.1625, 1.0360}, {1.8266, 1.1495, 1.0948, 1.0798, 1.0798, 1.0000}, {1.8109, 1.1158, 1.0404, 1.0006, 1.0006, 1.0000}, {1.8109, 1.1158, 1.0404, 1.0006, 1.0006, 1.0000}},
	{{1.6370, 1.4288, 1.9142, 1.3580, 1.3580, 1.3375}, {1.6331, 1.3262, 1.7933, 1.2750, 1.2750, 1.2338}, {1.6255, 1.2454, 1.5513, 1.1898, 1.1898, 1.1035}, {1.6102, 1.1924, 1.1480, 1.1174, 1.1174, 1.0000}},
}

func axis(key string, labels []string, numbers ...float64) result.Axis {
	return result.Axis{Name: key, Keys: []string{key}, Labels: labels, Numbers: numbers}
}

// count returns an axis of integers.
func countAxis(key string, values ...float64) result.Axis {
	a := axis(key, nil, values...)
	for _, v := range values {
		a.Labels = append(a.Labels, fmt.Sprint(v))
	}
	return a
}

var bandwidths = axis("fabric.port_bandwidth", []string{"200Gbps", "400Gbps", "800Gbps", "1600Gbps"}, 2e11, 4e11, 8e11, 1.6e12)

// sweepOf returns a sweep with one cell for each combination of axis values and policies.
func sweepOf(name, title string, axes []result.Axis, policies []string, metrics func(at []int, policy int) map[string]float64) *result.Sweep {
	s := &result.Sweep{Schema: result.SweepSchema, Name: name, Title: title, Axes: axes}
	at := make([]int, len(axes))
	for {
		for p, policy := range policies {
			c := result.Cell{At: append([]int{}, at...), Policy: policy, Key: fmt.Sprint(at, policy), Scenario: name, Metrics: metrics(at, p)}
			if c.Metrics == nil {
				c.Failed = "nothing can proceed: pp 3 of stage 2 waits for link pod 0 - pod 1\nand more"
			}
			s.Cells = append(s.Cells, c)
		}
		a := len(axes) - 1
		for ; a >= 0; a-- {
			if at[a]++; at[a] < len(axes[a].Labels) {
				break
			}
			at[a] = 0
		}
		if a < 0 {
			return s
		}
	}
}

// bandwidthSweep is Fig. 6 of the DELTA paper.
func bandwidthSweep() *result.Sweep {
	return sweepOf("delta-fig6", "DELTA's workloads on optically switched pods", []result.Axis{axis("base", chartModels), bandwidths}, chartPolicies,
		func(at []int, p int) map[string]float64 {
			return map[string]float64{"nct": bandwidthNCT[at[0]][at[1]][p], "makespan_s": 3.2 + 0.4*bandwidthNCT[at[0]][at[1]][p]}
		})
}

// portSweep is Fig. 9 of the DELTA paper.
func portSweep() *result.Sweep {
	ratio := [4][2]float64{{0.833, 0.833}, {0.875, 0.891}, {0.703, 0.703}, {0.906, 0.922}}
	return sweepOf("delta-fig9", "", []result.Axis{axis("base", chartModels)}, chartPolicies[4:], func(at []int, p int) map[string]float64 {
		return map[string]float64{"port_ratio": ratio[at[0]][p], "nct": 1.2}
	})
}

// timeSweep is Fig. 11 of the DELTA paper.
func timeSweep() (*result.Sweep, *result.SweepTimings) {
	s := sweepOf("delta-fig11", "Time to decide", []result.Axis{axis("base", chartModels[2:]), countAxis("workload.microbatches", 64, 128, 256, 512)}, chartPolicies[3:],
		func(at []int, p int) map[string]float64 { return map[string]float64{"nct": 1.1} })
	t := &result.SweepTimings{Cells: map[string]result.PolicyTimings{}}
	for i, c := range s.Cells {
		m := math.Pow(2, float64(c.At[1]))
		solve := []float64{0.1 * math.Sqrt(m), 0.3 * m * m, 0.02 * m}[i%3] * (1 + 0.4*float64(c.At[0]))
		t.Cells[c.Key] = result.PolicyTimings{SolveS: solve, SimulateS: 0.01 * m}
	}
	return s, t
}

// gridSweep has two numeric axes with n values each.
func gridSweep(n int) *result.Sweep {
	var ports, delays []float64
	var names []string
	for i := range n {
		ports = append(ports, float64(4*(i+1)))
		delays = append(delays, math.Pow(10, float64(i)*8/float64(n)-6))
		names = append(names, sheet.Duration(sheet.RoundTo(delays[i], 2), 4))
	}
	return sweepOf("grid", "Two axes", []result.Axis{countAxis("fabric.ports_per_pod", ports...), axis("fabric.reconfiguration_delay", names, delays...)}, chartPolicies[3:5],
		func(at []int, p int) map[string]float64 {
			x, y := float64(at[0])/float64(n), float64(at[1])/float64(n)
			return map[string]float64{"nct": 1 + math.Exp(-3*x)*(0.4+y)*(1+0.3*float64(p)), "ports": float64(at[0])}
		})
}

// seedSweep has n seeds and two models.
func seedSweep(n int) *result.Sweep {
	var seeds []float64
	for i := range n {
		seeds = append(seeds, float64(i+1))
	}
	r := rand.New(rand.NewPCG(1, 2))
	return sweepOf("robust", "Compute times off by 5 %", []result.Axis{axis("base", chartModels[:2]), countAxis("seed", seeds...)}, chartPolicies,
		func(at []int, p int) map[string]float64 {
			return map[string]float64{"nct": bandwidthNCT[at[0]][1][p] * (1 + 0.02*r.ExpFloat64()), "makespan_s": 3.2}
		})
}

func from(v float64) *float64 { return &v }

// chartCase is a plot of a sweep for the tests.
type chartCase struct {
	spec result.Plot
	data func() (*result.Sweep, *result.SweepTimings)
}

func untimed(s *result.Sweep) func() (*result.Sweep, *result.SweepTimings) {
	return func() (*result.Sweep, *result.SweepTimings) { return s, nil }
}

// chartCases are the charts that are looked at.
func chartCases() []chartCase {
	paper := []result.Mark{{Label: "DELTA, Sec. V-B", X: "400Gbps", Series: "delta-joint", Panel: "megatron177b", Y: 1.11}, {Label: "DELTA, Sec. V-B", X: "1600Gbps", Series: "delta-joint", Panel: "megatron177b", Y: 1.012},
		{Label: "DELTA, Sec. V-B", X: "400Gbps", Series: "delta-joint", Panel: "mixtral8x22b", Y: 1.465}, {Label: "DELTA, Sec. V-B", X: "1600Gbps", Series: "delta-joint", Panel: "mixtral8x22b", Y: 1.127},
		{Label: "DELTA, Sec. V-B", X: "400Gbps", Series: "delta-joint", Panel: "deepseek671b", Y: 1.243}, {Label: "DELTA, Sec. V-B", X: "1600Gbps", Series: "delta-joint", Panel: "deepseek671b", Y: 1}}
	holes := bandwidthSweep()
	holes.Cells[8].Metrics, holes.Cells[8].Failed = nil, "nothing can proceed: pp 3 of stage 2 waits for link pod 0 - pod 1"
	delete(holes.Cells[40].Metrics, "nct")
	holes.Cells[40].Labels = map[string]string{"nct": "undefined: the ideal fabric exposes no communication"}
	sampled := seedSweep(1)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range sampled.Cells {
		c := &sampled.Cells[i]
		for range 200 {
			c.Samples = map[string][]float64{"nct": append(c.Samples["nct"], c.Metrics["nct"]*(1+0.03*r.NormFloat64()))}
		}
		if i == 2 {
			c.Metrics["trial_count"] = 240
		}
	}
	long := sweepOf("long", "", []result.Axis{axis("fabric.wiring", []string{"a ring of eight pods", "a mesh", "a torus with a twist in its middle", "an expander graph of degree four", "x", "everything to everything else"})},
		chartPolicies, func(at []int, p int) map[string]float64 {
			return map[string]float64{"completion_s": 0.002 * float64(1+at[0]) / float64(1+p)}
		})
	return append(slotCases(), []chartCase{
		{result.Plot{Name: "fig6", Title: "NCT over port bandwidth (DELTA, Fig. 6)", Kind: "bars", X: "fabric.port_bandwidth", Y: "nct", Series: "policy", Panels: "base", YMin: from(1), Marks: paper}, untimed(bandwidthSweep())},
		{result.Plot{Name: "holes", Kind: "bars", X: "port_bandwidth", Y: "nct", Panels: "base"}, untimed(holes)},
		{result.Plot{Name: "fig6-lines", Kind: "lines", X: "port_bandwidth", Y: "nct", Series: "policy", Panels: "base", LogX: true, Marks: paper}, untimed(bandwidthSweep())},
		{result.Plot{Name: "whole-labels", Kind: "lines", X: "port_bandwidth", XLabel: "bandwidth of a port", Y: "nct", Panels: "base", LogX: true}, untimed(bandwidthSweep())},
		{result.Plot{Name: "one-model", Kind: "lines", X: "port_bandwidth", Y: "nct", Where: map[string][]string{"base": {"deepseek671b"}}, LogX: true, Scale: 100, Offset: -100, Marks: []result.Mark{{Label: "DELTA, Sec. V-B", X: "400Gbps", Series: "delta-joint", Y: 24.3}}}, untimed(bandwidthSweep())},
		{result.Plot{Name: "one-model-bars", Kind: "bars", X: "port_bandwidth", Y: "nct", Where: map[string][]string{"base": {"deepseek671b"}}}, untimed(bandwidthSweep())},
		{result.Plot{Name: "by-bandwidth", Kind: "bars", X: "base", Series: "port_bandwidth", Y: "makespan_s", Where: map[string][]string{"policy": {"delta-joint"}}}, untimed(bandwidthSweep())},
		{result.Plot{Name: "policies", Kind: "bars", X: "policy", Y: "nct", Panels: "base", Where: map[string][]string{"port_bandwidth": {"400Gbps"}}}, untimed(bandwidthSweep())},
		{result.Plot{Name: "fig9", Kind: "bars", X: "base", Y: "port_ratio", Series: "policy", Marks: []result.Mark{{Label: "DELTA, Fig. 9", X: "megatron462b", Series: "delta-topo", Y: 0.688}, {Label: "DELTA, Fig. 9", X: "megatron462b", Series: "delta-joint", Y: 0.609}, {Label: "DELTA, Fig. 9", X: "deepseek671b", Series: "delta-joint", Y: 0.813}, {Label: "bound of the others", Y: 0.8}}}, untimed(portSweep())},
		{result.Plot{Name: "fig11", Kind: "lines", X: "microbatches", Y: "solve_s", Series: "policy", Panels: "base", LogX: true, LogY: true}, timeSweep},
		{result.Plot{Name: "heat", Kind: "heatmap", X: "ports_per_pod", Y: "reconfiguration_delay", Z: "nct"}, untimed(gridSweep(8))},
		{result.Plot{Name: "heat-one", Kind: "heatmap", X: "ports_per_pod", Y: "reconfiguration_delay", Z: "nct", Where: map[string][]string{"policy": {"delta-fast"}}}, untimed(gridSweep(8))},
		{result.Plot{Name: "heat-large", Kind: "heatmap", X: "ports_per_pod", Y: "reconfiguration_delay", Z: "nct"}, untimed(gridSweep(40))},
		{result.Plot{Name: "heat-models", Kind: "heatmap", X: "port_bandwidth", Y: "base", Z: "nct"}, untimed(holes)},
		{result.Plot{Name: "cdf", Kind: "cdf", Y: "nct", Panels: "base", Series: "policy"}, untimed(seedSweep(100))},
		{result.Plot{Name: "cdf-samples", Kind: "cdf", Y: "nct", Where: map[string][]string{"base": {"megatron177b"}}, Marks: []result.Mark{{Label: "planned", Series: "delta-joint", Y: 1.0927}}}, untimed(sampled)},
		{result.Plot{Name: "whiskers", Kind: "bars", X: "base", Y: "nct", Series: "policy"}, untimed(seedSweep(100))},
		{result.Plot{Name: "whisker-lines", Kind: "lines", X: "port_bandwidth", Y: "nct", Series: "policy"}, untimed(bandwidthSweep())},
		{result.Plot{Name: "tradeoff", Kind: "lines", X: "ports", Y: "nct", Where: map[string][]string{"reconfiguration_delay": {"1 µs"}}}, untimed(gridSweep(8))},
		{result.Plot{Name: "scatter", Kind: "lines", X: "makespan_s", Y: "nct"}, untimed(bandwidthSweep())},
		{result.Plot{Name: "twists", Kind: "twists", Z: "mean_delay_s", Where: map[string][]string{"dims": {"[4, 4, 8]"}, "policy": {"shortest"}}}, untimed(twistSweep("[4, 4, 4]", "[4, 4, 8]"))},
		{result.Plot{Name: "twists-panels", Kind: "twists", Z: "mean_delay_s", Panels: "fabric.dims", Where: map[string][]string{"policy": {"shortest"}}}, untimed(twistSweep("[2, 2, 4]", "[4, 4, 4]", "[4, 4, 8]", "[4, 8, 8]"))},
		{result.Plot{Name: "twists-holes", Kind: "twists", Z: "average_hops", Where: map[string][]string{"dims": {"[4, 4, 8]"}, "policy": {"shortest"}, "fabric.twist": {"000000", "100000", "010000", "001010"}}}, untimed(twistSweep("[4, 4, 4]", "[4, 4, 8]"))},
		{result.Plot{Name: "correlation", Kind: "scatter", X: "average_hops", Y: "mean_delay_s", Series: "policy", Panels: "fabric.dims"}, untimed(twistSweep("[4, 4, 4]", "[4, 4, 8]"))},
		{result.Plot{Name: "correlation-one", Kind: "scatter", X: "average_hops", Y: "mean_delay_s", Where: map[string][]string{"dims": {"[4, 4, 8]"}, "policy": {"shortest"}}}, untimed(twistSweep("[4, 4, 4]", "[4, 4, 8]"))},
		{result.Plot{Name: "correlation-series", Kind: "scatter", X: "average_hops", Y: "mean_delay_s", Series: "policy", Where: map[string][]string{"dims": {"[4, 4, 8]"}}}, untimed(twistSweep("[4, 4, 4]", "[4, 4, 8]"))},
		{result.Plot{Name: "long", Kind: "bars", X: "wiring", Y: "completion_s"}, untimed(long)},
		{result.Plot{Name: "long-log", Kind: "bars", X: "policy", Y: "completion_s", LogY: true, Panels: "wiring"}, untimed(long)},
		{result.Plot{Name: "many", Kind: "lines", X: "ports_per_pod", Y: "nct", Series: "reconfiguration_delay", Panels: "policy"}, untimed(gridSweep(20))},
	}...)
}
